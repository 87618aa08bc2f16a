//! Approvals across clients, decisions and restarts.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Workspace, methods};

async fn command(client: &mut Client, thread: &str, line: &str) {
    client.start_turn(thread, &format!("run `{line}`")).await;
}

async fn decide(client: &mut Client, decision: &str) -> Value {
    let request = client.wait_for("item/approval/request").await;
    client.reply(&request, json!({ "decision": decision })).await;
    request
}

#[tokio::test]
async fn the_second_client_answers_and_the_first_is_told() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut first = server.client("first").await;
    let mut second = server.client("second").await;
    let thread = first.start_thread().await;
    second
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    command(&mut first, &thread, "echo x >> ran").await;
    let asked = first.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["approvalType"], "shell");
    assert_eq!(asked["params"]["operation"], "echo x >> ran");
    decide(&mut second, "accept").await;
    let told = first.wait_for("item/approval/resolved").await;
    assert_eq!(told["params"]["item"]["payload"]["decision"], "accept");
    // Too late: taken without a word.
    first.reply(&asked, json!({ "decision": "accept" })).await;
    first.wait_for("turn/completed").await;
    second.wait_for("turn/completed").await;
    let ran = std::fs::read_to_string(workspace.path().join("ran")).unwrap();
    assert_eq!(ran, "x\n", "the command ran once");
}

#[tokio::test]
async fn accept_for_session_does_not_ask_again_in_that_thread() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    command(&mut client, &thread, "touch one").await;
    decide(&mut client, "acceptForSession").await;
    client.wait_for("turn/completed").await;
    command(&mut client, &thread, "touch two").await;
    let seen = client.until("turn/completed").await;
    assert!(
        !methods(&seen).contains(&"item/approval/request"),
        "{:?}",
        methods(&seen)
    );
    assert!(workspace.path().join("two").exists());
    let other = client.start_thread().await;
    command(&mut client, &other, "touch three").await;
    decide(&mut client, "decline").await;
    client.wait_for("turn/completed").await;
    assert!(!workspace.path().join("three").exists());
}

#[tokio::test]
async fn accept_always_does_not_ask_again_after_a_restart() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    command(&mut client, &thread, "touch one").await;
    decide(&mut client, "acceptAlways").await;
    client.wait_for("turn/completed").await;
    assert_eq!(server.terminate().await.code(), Some(0));
    std::fs::remove_file(workspace.path().join("one")).unwrap();

    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    command(&mut client, &thread, "touch one").await;
    let seen = client.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    assert!(workspace.path().join("one").exists());
    // Another command is asked about.
    command(&mut client, &thread, "touch two").await;
    decide(&mut client, "decline").await;
    client.wait_for("turn/completed").await;
}

#[tokio::test]
async fn cancel_ends_the_turn() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    command(&mut client, &thread, "touch one").await;
    decide(&mut client, "cancel").await;
    let ended = client.wait_for("turn/cancelled").await;
    assert_eq!(ended["params"]["turn"]["status"], "cancelled");
    assert!(!workspace.path().join("one").exists());
}

#[tokio::test]
async fn nobody_to_ask_means_no() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server
        .client_with("mute", json!({ "approvalSupport": false }))
        .await;
    let thread = client.start_thread().await;
    command(&mut client, &thread, "touch one").await;
    let seen = client.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    assert!(!workspace.path().join("one").exists());
}
