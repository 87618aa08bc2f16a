//! A bubblewrap that was started and told nothing holds the next command as one that is started for it does.

use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::tool::{CallContext, Tool};
use bobbin_engine::Sandbox;
use bobbin_model::Json;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::held_place::{Ears, Place, STRICT};
use crate::support::PATIENCE;

/// Returns the processes that wait for any command in a place: started by this one, nowhere, with the place's variables.
fn spares(place: &Place) -> Vec<i32> {
    let this = std::process::id().to_string();
    let of = |pid: i32, name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let is_ours = |&pid: &i32| {
        let stat = String::from_utf8_lossy(&of(pid, "stat")).into_owned();
        let behind_name = stat.rsplit(") ").next().unwrap_or_default();
        behind_name.split(' ').nth(1) == Some(this.as_str())
    };
    let is_nowhere =
        |&pid: &i32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.parent().is_none());
    let (here, variables) = (place.work.as_os_str().as_bytes(), |pid| of(pid, "environ"));
    let is_for_here = |&pid: &i32| variables(pid).windows(here.len()).any(|part| part == here);
    let all = std::fs::read_dir("/proc").unwrap();
    let pids = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let ours = pids.filter(is_ours).filter(is_nowhere).filter(is_for_here);
    ours.collect()
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(timeout(PATIENCE, met).await.is_ok(), "{what}");
}

/// Returns the one that waits, once there is one.
async fn spare(place: &Place) -> i32 {
    until("none waits", || spares(place).len() == 1).await;
    spares(place)[0]
}

fn is_there(pid: i32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Returns a place, what holds its commands, and what runs them; `None` where bubblewrap does not work.
async fn held() -> Option<(Place, Sandbox, Arc<dyn Tool>)> {
    let place = Place::new();
    let sandbox = place.held(STRICT).await?;
    let shell = place.shell(&sandbox).await;
    Some((place, sandbox, shell))
}

async fn run(shell: &Arc<dyn Tool>, place: &Place, arguments: serde_json::Value) -> String {
    let arguments = Json::of(&arguments).unwrap();
    let mut prepared = shell.prepare(&arguments, &place.environment()).unwrap();
    // As when people are asked.
    prepared.look();
    prepared.get_ready().await;
    let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
    prepared.run(context).await.text
}

#[tokio::test]
async fn it_holds_the_next_command_as_any_other_is_held() {
    let Some((place, _, shell)) = held().await else {
        return;
    };
    let keys = place.work.join(".craft/keys");
    let attempts = json!({
        "command": "pwd; echo $TMPDIR; echo x > inside; echo x > ../out/file; echo x > .craft/new; ls .craft",
    });
    let mut told = Vec::new();
    for waits in [false, true] {
        let waiting = if waits { Some(spare(&place).await) } else { None };
        // What is there when it is told counts, not what was there when it was started.
        std::fs::write(&keys, "").unwrap();
        told.push(run(&shell, &place, attempts.clone()).await);
        std::fs::remove_file(&keys).unwrap();
        assert_eq!(std::fs::read_to_string(place.work.join("inside")).unwrap(), "x\n");
        std::fs::remove_file(place.work.join("inside")).unwrap();
        assert_eq!(std::fs::read_to_string(&place.file).unwrap(), "mine");
        assert!(!place.work.join(".craft/new").exists());
        if let Some(pid) = waiting {
            until("it was not used", || !is_there(pid)).await;
        }
    }
    assert!(told[0].contains("keys"), "{}", told[0]);
    assert_eq!(told[0], told[1]);
}

#[tokio::test]
async fn it_goes_with_who_keeps_it() {
    let Some((place, _, shell)) = held().await else {
        return;
    };
    assert_eq!(
        run(&shell, &place, json!({ "command": "sleep 0" })).await,
        "exit code 0\n"
    );
    let waiting = spare(&place).await;
    drop(shell);
    until("it is there", || !is_there(waiting)).await;
}

#[tokio::test]
async fn a_command_is_held_by_another_when_it_has_died_or_cannot_hold_it() {
    let Some((place, _, shell)) = held().await else {
        return;
    };
    let echo = json!({ "command": "sleep 0; echo ran" });
    assert_eq!(run(&shell, &place, echo.clone()).await, "exit code 0\nran\n");
    let dead = nix::unistd::Pid::from_raw(spare(&place).await);
    nix::sys::signal::kill(dead, nix::sys::signal::Signal::SIGKILL).unwrap();
    let look = nix::sys::wait::WaitPidFlag::WEXITED | nix::sys::wait::WaitPidFlag::WNOWAIT;
    nix::sys::wait::waitid(nix::sys::wait::Id::Pid(dead), look).unwrap();
    assert_eq!(run(&shell, &place, echo.clone()).await, "exit code 0\nran\n");
    until("the dead one is there", || !is_there(dead.as_raw())).await;
    let waiting = spare(&place).await;
    // Too long to be told without waiting.
    let long = json!({ "command": format!("echo ran; : {}", "x".repeat(65_000)) });
    assert_eq!(run(&shell, &place, long).await, "exit code 0\nran\n");
    until("it was not given up", || !is_there(waiting)).await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_entered_is_not_held_against_it() {
    let Some((place, sandbox, shell)) = held().await else {
        return;
    };
    for _ in 0..3 {
        assert_eq!(
            run(&shell, &place, json!({ "command": "sleep 0" })).await,
            "exit code 0\n"
        );
        spare(&place).await;
        let arguments = Json::of(&json!({ "command": "sleep 0" })).unwrap();
        let mut prepared = shell.prepare(&arguments, &place.environment()).unwrap();
        let aside = place.top.join("aside");
        std::fs::rename(&place.work, &aside).unwrap();
        std::fs::write(&place.work, "a file").unwrap();
        prepared.get_ready().await;
        let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
        let text = prepared.run(context).await.text;
        assert!(text.starts_with("did not run: cannot run in directory"), "{text}");
        std::fs::remove_file(&place.work).unwrap();
        std::fs::rename(&aside, &place.work).unwrap();
        assert!(matches!(sandbox.bubblewrap.found(), Some(Ok(_))));
    }
}
