//! What a command leaves behind, and how much of the machine it takes.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::files::written;
use crate::lab::{Bubblewrap, Lab, PATIENCE};

/// Returns the processes that have a word among their arguments.
fn with_word(word: &str) -> usize {
    let has = |entry: &std::fs::DirEntry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        arguments
            .split(|byte| *byte == 0)
            .any(|argument| argument == word.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(has).count()
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns a line that starts, in a session of its own, a process that nobody is the parent of; and the word that is among its
/// arguments only.
fn double_fork(number: u32) -> (String, String) {
    let word = format!("{}.{number}", std::process::id());
    (
        format!("(setsid sh -c 'sleep 6{word} & sleep 6{word}' &) "),
        format!("6{word}"),
    )
}

#[tokio::test]
async fn nothing_that_a_command_started_outlives_it() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let (line, word) = double_fork(1);
        let output = lab
            .run(&[
                "exec",
                "--approve",
                &format!("run `{line}; sleep 0.3; echo over`"),
            ])
            .await;
        assert!(
            written(&output).contains("over"),
            "{bubblewrap:?}: {}",
            written(&output)
        );
        until("it outlives its command", || with_word(&word) == 0).await;
    }
}

#[tokio::test]
async fn nothing_that_a_command_started_outlives_a_killed_server() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let (line, word) = double_fork(2);
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        client
            .start_turn(&thread, &format!("run `{line}; sleep 600`"))
            .await;
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": "accept" })).await;
        until("it does not run", || with_word(&word) >= 2).await;
        server.kill().await;
        until("it outlives the server", || with_word(&word) == 0).await;
    }
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_in_bubblewrap() {
    if !Path::new("/usr/bin/bwrap").exists() {
        return;
    }
    let lab = Lab::new(Bubblewrap::Required);
    lab.configure(&json!({ "Sandbox": { "Bubblewrap": "require", "Limits": { "Processes": 40 } } }));
    let word = format!("7{}.3", std::process::id());
    let line = format!("for i in $(seq 200); do sleep {word} & done; echo started");
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, &format!("run `{line}`")).await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let mut most = 0;
    let ended = async {
        client.wait_for("turn/completed").await;
    };
    let counted = async {
        loop {
            most = most.max(with_word(&word));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = ended => {}
        () = counted => {}
    }
    assert!((1..=40).contains(&most), "{most}");
    until("some are left", || with_word(&word) == 0).await;
    server.kill().await;
}

#[tokio::test]
async fn a_command_that_takes_all_memory_is_ended_and_says_so() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        lab.configure(&json!({ "Sandbox": {
            "Bubblewrap": if bubblewrap == Bubblewrap::Required { "require" } else { "off" },
            "Limits": { "MemoryMiB": 64 },
        } }));
        let line = "run `head -c 400m /dev/zero | tail -c 400m | sleep 600`";
        let text = written(&lab.run(&["exec", "--approve", line]).await);
        assert!(text.contains("64 MiB of memory"), "{bubblewrap:?}: {text}");
    }
}
