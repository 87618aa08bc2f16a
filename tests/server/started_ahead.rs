//! What holds a command is started while people are asked about it: nothing of the command happens before its word,
//! whatever holds it, and what was looked up for it is looked up again.

use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Environment, Exit, Limits, ProcessSpec, Shell};
use bobbin_core::tool::{CallContext, PreparedCall, ToolOutput};
use bobbin_engine::{BubblewrapUse, Sandbox};
use bobbin_model::Json;
use rstest::rstest;
use serde_json::json;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::held_place::{CARRIED, Ears, Place, STRICT};
use crate::support::{PATIENCE, not_tested};

/// Returns what holds commands, or says why there is nothing to test.
async fn holding(place: &Place, bubblewrap: BubblewrapUse) -> Option<Sandbox> {
    let sandbox = place.sandbox(STRICT, place.bubblewrap(bubblewrap));
    sandbox.settle().await;
    let missing = sandbox.missing();
    if let Some(why) = &missing {
        not_tested(why);
    }
    missing.is_none().then_some(sandbox)
}

#[rstest]
#[tokio::test]
async fn a_command_begins_with_its_word_and_never_without(
    #[values(BubblewrapUse::Off, BubblewrapUse::Require)] bubblewrap: BubblewrapUse,
) {
    let place = Place::new();
    let Some(sandbox) = holding(&place, bubblewrap).await else {
        return;
    };
    let plan = sandbox.plan(vec![place.work.clone()]);
    for given in [false, true] {
        let spec = ProcessSpec::shell(&Shell::Posix, "echo x > begun", &place.work, Environment::empty());
        let wrapped = sandbox.wrap_ahead(&plan, spec).unwrap();
        let started = place.children.start_ahead(wrapped.spec).await.unwrap();
        let mut word = wrapped.word;
        if given {
            word.give().unwrap();
        }
        drop(word);
        let never = CancellationToken::new();
        let outcome = place
            .children
            .run(started, &Limits::default(), None, &never)
            .await;
        let outcome = outcome.unwrap();
        assert_eq!(outcome.exit == Exit::Exited(0), given, "{outcome:?}");
        assert_eq!(place.work.join("begun").exists(), given);
        assert!(wrapped.begun.is_none_or(|begun| begun.has() == given));
        assert_eq!(outcome.output.text.contains("has no end"), !given, "{outcome:?}");
    }
}

#[tokio::test]
async fn the_helper_that_the_server_carries_holds_commands_and_its_own_binary_where_that_cannot_run() {
    assert!(!CARRIED.is_empty(), "the build could not make it, and said why");
    let place = Place::new();
    for (carried, program) in [(CARRIED, "/memfd:bobbin-hold"), (b"no program", "/bobbin")] {
        let bubblewrap = place.bubblewrap(BubblewrapUse::Auto).carrying(carried);
        let sandbox = place.sandbox(STRICT, bubblewrap);
        sandbox.settle().await;
        let not_carried = sandbox.bubblewrap.not_carried();
        let is_carried = carried == CARRIED;
        let missing = match sandbox.bubblewrap.found() {
            Some(Err(why)) => Some(why),
            // As where nothing may be executed in memory.
            _ => not_carried.clone().filter(|_| is_carried),
        };
        if let Some(why) = missing {
            not_tested(&why);
            assert!(is_carried, "it works with the other one");
            return;
        }
        assert_eq!(not_carried.is_none(), is_carried, "{not_carried:?}");
        let plan = sandbox.plan(vec![place.work.clone()]);
        let spec = ProcessSpec::shell(&Shell::Posix, "echo x > begun", &place.work, Environment::empty());
        let wrapped = sandbox.wrap_ahead(&plan, spec).unwrap();
        let started = place.children.start_ahead(wrapped.spec).await.unwrap();
        let runs = async {
            while !programs(&place).iter().any(|name| name.contains(program)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        assert!(timeout(PATIENCE, runs).await.is_ok(), "{:?}", programs(&place));
        let mut word = wrapped.word;
        word.give().unwrap();
        let never = CancellationToken::new();
        let outcome = place
            .children
            .run(started, &Limits::default(), None, &never)
            .await;
        assert_eq!(outcome.unwrap().exit, Exit::Exited(0));
        std::fs::remove_file(place.work.join("begun")).unwrap();
    }
}

/// Returns the programs of the processes that were told of a place.
fn programs(place: &Place) -> Vec<String> {
    let here = place.work.as_os_str().as_bytes();
    let is_told = |pid: &String| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.windows(here.len()).any(|part| part == here)
    };
    let all = std::fs::read_dir("/proc").unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let told = names.filter(is_told);
    let program = |pid: String| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    told.filter_map(program)
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// Returns the processes that work in a place and were started by this one.
fn waiting(place: &Place) -> Vec<String> {
    let (this, here) = (std::process::id().to_string(), place.work.canonicalize().unwrap());
    let is_ours = |name: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        let behind_name = stat.rsplit(") ").next().unwrap_or_default();
        behind_name.split(' ').nth(1) == Some(this.as_str())
    };
    let is_here =
        |name: &String| std::fs::read_link(format!("/proc/{name}/cwd")).is_ok_and(|cwd| cwd == here);
    let all = std::fs::read_dir("/proc").unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| is_ours(name) && is_here(name)).collect()
}

/// Waits until this many do.
async fn until_waiting(place: &Place, count: usize) {
    let counted = async {
        while waiting(place).len() != count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let counted = timeout(PATIENCE, counted).await;
    assert!(counted.is_ok(), "{:?}", waiting(place));
}

/// Lets the time pass for which nothing is looked up again.
async fn wait() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
}

async fn run(prepared: Box<dyn PreparedCall>) -> ToolOutput {
    let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
    prepared.run(context).await
}

#[tokio::test]
async fn what_waits_becomes_the_command_when_nothing_has_changed_and_else_another_does() {
    let place = Place::new();
    let Some(sandbox) = holding(&place, BubblewrapUse::Off).await else {
        return;
    };
    for changed in [false, true] {
        let mut prepared = place.prepared(&sandbox, "echo pid $$").await.unwrap();
        prepared.get_ready().await;
        let waiting = waiting(&place);
        assert_eq!(waiting.len(), 1);
        wait().await;
        if changed {
            std::fs::rename(&place.work, place.top.join("old")).unwrap();
            std::fs::create_dir(&place.work).unwrap();
        }
        // As when people have allowed it.
        prepared.get_ready().await;
        let text = run(prepared).await.text;
        assert!(text.starts_with("exit code 0\npid "), "{text}");
        let same = text == format!("exit code 0\npid {}\n", waiting[0]);
        assert_eq!(same, !changed, "{text}: {waiting:?}");
    }
}

#[tokio::test]
async fn what_is_hidden_since_is_seen_when_the_command_begins() {
    let place = Place::new();
    let Some(mut sandbox) = holding(&place, BubblewrapUse::Require).await else {
        return;
    };
    let keys = place.work.join("keys");
    sandbox.hide = vec![keys.clone()];
    let mut prepared = place.prepared(&sandbox, "cat keys").await.unwrap();
    prepared.get_ready().await;
    std::fs::write(&keys, "secret").unwrap();
    wait().await;
    let text = run(prepared).await.text;
    assert!(text.starts_with("exit code 1\n"), "{text}");
    assert!(text.contains("Permission denied"), "{text}");
}

#[tokio::test]
async fn one_that_has_died_while_it_waited_is_not_used() {
    let place = Place::new();
    let Some(sandbox) = holding(&place, BubblewrapUse::Off).await else {
        return;
    };
    let mut prepared = place.prepared(&sandbox, "echo ran").await.unwrap();
    prepared.get_ready().await;
    let waiting = waiting(&place);
    let [pid] = waiting.as_slice() else {
        panic!("{waiting:?}")
    };
    let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    let look = nix::sys::wait::WaitPidFlag::WEXITED | nix::sys::wait::WaitPidFlag::WNOWAIT;
    nix::sys::wait::waitid(nix::sys::wait::Id::Pid(pid), look).unwrap();
    wait().await;
    assert_eq!(run(prepared).await.text, "exit code 0\nran\n");
}

#[tokio::test]
async fn four_wait_at_a_time_and_the_others_begin_all_the_same() {
    let place = Place::new();
    let Some(sandbox) = holding(&place, BubblewrapUse::Off).await else {
        return;
    };
    let shell = place.shell(&sandbox).await;
    let arguments = Json::of(&json!({ "command": "sleep 0; echo ran" })).unwrap();
    let mut all = Vec::new();
    for _ in 0..6 {
        let mut prepared = shell.prepare(&arguments, &place.environment()).unwrap();
        prepared.get_ready().await;
        all.push(prepared);
    }
    until_waiting(&place, 4).await;
    // Room that is given back is taken.
    for prepared in &mut all[..3] {
        prepared.let_go();
    }
    until_waiting(&place, 1).await;
    all[5].get_ready().await;
    until_waiting(&place, 2).await;
    for prepared in all {
        assert_eq!(run(prepared).await.text, "exit code 0\nran\n");
    }
    assert_eq!(waiting(&place), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_is_interrupted_when_it_is_ready_does_not_begin() {
    let place = Place::new();
    let Some(sandbox) = holding(&place, BubblewrapUse::Off).await else {
        return;
    };
    let mut prepared = place.prepared(&sandbox, "echo x > begun").await.unwrap();
    prepared.get_ready().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = prepared
        .run(CallContext::alone(cancel, Arc::new(Ears::default())))
        .await;
    assert_eq!(output.text, "did not run: cancelled");
    assert!(!place.work.join("begun").exists());
}
