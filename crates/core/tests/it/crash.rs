//! SIGKILL at every durable step of a turn, then the same workspace again.
//!
//! The test runs itself as a child, which plays one Turn and kills itself at its n-th step; for every n until a child
//! finishes. The child writes each answer to a file before it continues, as a client would.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bobbin_core::{FrameBody, ThreadHandle, Threads};
use bobbin_model::{Decision, ItemStatus, ThreadId, TurnStatus};
use bobbin_store::step::Step;
use bobbin_testkit::{ScriptEngine, TestWorkspace};

use crate::support::{LogReader, decide, kind_of, new_thread, opened, read, start};

const STEP: &str = "BOBBIN_TEST_CRASH_STEP";
const PLACE: &str = "BOBBIN_TEST_CRASH_PLACE";
const SCRIPT: &str = "say one two\ncall boil\nstream 60\nask cool\nusage 5 5\nsay done";

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test's own two settings for its child"
)]
async fn child() {
    let (Ok(step), Ok(place)) = (std::env::var(STEP), std::env::var(PLACE)) else {
        return;
    };
    let deadly: u32 = step.parse().unwrap();
    let place = Path::new(&place).to_owned();
    let count = AtomicU32::new(0);
    let deadly_at = move |step| {
        let of_the_writer = matches!(
            step,
            Step::BatchTaken | Step::BeforeCommit | Step::AfterCommit | Step::Acknowledged
        );
        if of_the_writer && count.fetch_add(1, Ordering::SeqCst) + 1 == deadly {
            let own = nix::unistd::getpid();
            nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGKILL).unwrap();
            // Waits for the signal.
            std::thread::sleep(std::time::Duration::from_mins(1));
        }
    };
    bobbin_store::step::observe(deadly_at);
    let workspace = TestWorkspace::at(&place);
    let engine = ScriptEngine::with_ledger(&place.join("effects"));
    // A small limit, so that streamed text is checkpointed within the Turn.
    let threads = workspace
        .open_with(Arc::new(engine), |settings| settings.checkpoint_bytes = 40)
        .await;
    let mut told = std::fs::File::create(place.join("told")).unwrap();
    let thread = new_thread(&threads).await;
    writeln!(told, "thread {}", thread.id()).unwrap();
    let begun = start(&thread, SCRIPT).await;
    writeln!(told, "turn {}", begun.turn.id).unwrap();
    let mut reader = LogReader::at(&thread, begun.seq);
    loop {
        let frames = reader.until(|_| true).await;
        for frame in &frames {
            if let FrameBody::Recorded(_) = frame.body {
                writeln!(told, "event {} {}", frame.seq, kind_of(frame)).unwrap();
            }
            if kind_of(frame) == "approvalOpened" {
                decide(&thread, &opened(&frames), Decision::Accept).await;
                writeln!(told, "answered").unwrap();
            }
            if kind_of(frame) == "turnEnded" {
                threads.stop().await;
                return;
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn run_child(place: &Path, step: u32) -> bool {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(STEP, step.to_string())
        .env(PLACE, place)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(
        status.success() || status.signal() == Some(9),
        "step {step}: {status}"
    );
    status.success()
}

#[tokio::test]
async fn a_kill_at_any_durable_step_loses_nothing_and_repeats_nothing() {
    for step in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let through = run_child(dir.path(), step);
        check(dir.path(), step).await;
        if through {
            assert!(step > 40, "a turn has more durable steps than {step}");
            return;
        }
    }
}

async fn check(place: &Path, step: u32) {
    let told = std::fs::read_to_string(place.join("told")).unwrap_or_default();
    let lines: Vec<&str> = told.lines().collect();
    let workspace = TestWorkspace::at(place);
    let engine = ScriptEngine::with_ledger(&place.join("effects"));
    let threads = workspace.open(Arc::new(engine)).await;
    if let Some(id) = lines.first().and_then(|line| line.strip_prefix("thread ")) {
        let thread = threads.thread(&ThreadId::new(id)).await.unwrap();
        finish(&threads, &thread, &lines, step).await;
        let at = read(&thread).await.at;
        let stored = threads
            .backlog(&thread, bobbin_model::Seq(1), |_, _| Some(0))
            .await
            .unwrap();
        let bobbin_core::Backlog::Frames { frames, .. } = stored else {
            panic!("too far")
        };
        for line in lines.iter().filter_map(|line| line.strip_prefix("event ")) {
            let known = frames
                .iter()
                .any(|frame| format!("{} {}", frame.seq, kind_of(frame)) == line);
            assert!(known, "step {step}: {line} was shown and is not stored");
        }
        assert!(frames.iter().all(|frame| frame.seq <= at));
    }
    threads.stop().await;
    let effects = std::fs::read_to_string(place.join("effects")).unwrap_or_default();
    for command in ["boil", "cool"] {
        let times = effects.lines().filter(|line| *line == command).count();
        assert!(times <= 1, "step {step}: {command} ran {times} times");
    }
}

/// Waits until no Turn runs, and answers repeated questions.
async fn finish(threads: &Arc<Threads>, thread: &Arc<ThreadHandle>, lines: &[&str], step: u32) {
    loop {
        let now = read(thread).await;
        if let Some(open) = now.state.approvals().first() {
            decide(thread, open, Decision::Accept).await;
        }
        if now.state.live.is_none() {
            let turns = threads
                .turns_of(&now, None, usize::MAX, usize::MAX)
                .await
                .unwrap()
                .0;
            let promised = lines.iter().any(|line| line.starts_with("turn "));
            assert!(
                !promised || turns.len() == 1,
                "step {step}: an acknowledged turn is gone"
            );
            for turn in turns {
                assert_eq!(turn.status, TurnStatus::Completed, "step {step}");
                assert!(turn.items.iter().all(|item| item.status == ItemStatus::Completed));
            }
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}
