//! A child that never exits: it ignores every request to end, forks twice, keeps its pipes open or leaves its group. The
//! Turn ends all the same, in time, and so does the server.

use std::time::{Duration, Instant};

use bobbin_testkit::Client;
use serde_json::json;

use crate::support::{Process, Workspace};

/// What an interrupt and an end may take: the grace a command is given, and some for a busy machine.
const IN_TIME: Duration = Duration::from_secs(8);

/// Ignores SIGTERM, and so do its children, one of which is nobody's child any more.
const STUBBORN: &str = "trap '' TERM INT HUP; (sh -c 'while :; do sleep 0.1; done' &); echo $$ > pid; \
                        while :; do sleep 0.1; done";
/// Leaves its group and keeps the pipes.
const ESCAPED: &str = "trap '' TERM; setsid sh -c 'echo $$ > escaped; sleep 600' & echo $$ > pid; \
                       while :; do sleep 0.1; done";

async fn started(
    workspace: &Workspace,
    server: &Process,
    command: &str,
) -> (Client, String, nix::unistd::Pid) {
    let mut client = server.client("child").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, &format!("run `{command}`")).await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let group = number(workspace, "pid").await;
    (client, thread, group)
}

async fn number(workspace: &Workspace, file: &str) -> nix::unistd::Pid {
    let path = workspace.path().join(file);
    loop {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(number) = text.strip_suffix('\n') {
            return nix::unistd::Pid::from_raw(number.parse().unwrap());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn is_gone(group: nix::unistd::Pid) {
    let deadline = Instant::now() + IN_TIME;
    while nix::sys::signal::killpg(group, None).is_ok() {
        assert!(Instant::now() < deadline, "the command's group lives on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_of_a_command_that_ignores_it() {
    for command in [STUBBORN, ESCAPED] {
        let workspace = Workspace::new();
        workspace.without_bubblewrap();
        let server = workspace.web_socket();
        let (mut client, thread, group) = started(&workspace, &server, command).await;
        let begun = Instant::now();
        client
            .call("turn/interrupt", json!({ "threadId": thread, "turnId": "" }))
            .await;
        client.wait_for("turn/cancelled").await;
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
        is_gone(group).await;
        // The next Turn is not held up by what is left of the last.
        client.start_turn(&thread, "say next").await;
        client.wait_for("turn/completed").await;
        assert!(server.terminate().await.success());
        escaped_is_gone(&workspace).await;
    }
}

#[tokio::test]
async fn the_server_ends_in_time_while_such_a_command_runs() {
    for command in [STUBBORN, ESCAPED] {
        let workspace = Workspace::new();
        workspace.without_bubblewrap();
        let server = workspace.web_socket();
        let (_client, _, group) = started(&workspace, &server, command).await;
        let begun = Instant::now();
        assert!(server.terminate().await.success());
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
        is_gone(group).await;
        escaped_is_gone(&workspace).await;
    }
}

#[tokio::test]
async fn after_a_kill_such_a_command_is_ended_all_the_same() {
    for command in [STUBBORN, ESCAPED] {
        let workspace = Workspace::new();
        workspace.without_bubblewrap();
        let server = workspace.web_socket();
        let (client, _, group) = started(&workspace, &server, command).await;
        server.kill().await;
        drop(client);
        is_gone(group).await;
        escaped_is_gone(&workspace).await;
    }
}

/// What leaves its group ends with its command all the same.
async fn escaped_is_gone(workspace: &Workspace) {
    if workspace.path().join("escaped").exists() {
        is_gone(number(workspace, "escaped").await).await;
    }
}
