//! Commands in the background of the real server: the way there, and what is left of them when it is killed.

use std::time::Duration;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Workspace, rich};

fn capabilities() -> Value {
    let mut capabilities = rich();
    capabilities["backgroundTerminals"] = json!(true);
    capabilities
}

/// Has a command run in the background; returns its terminal's id and the Turn that started it.
pub(crate) async fn start(client: &mut Client, thread: &str, command: &str) -> (String, Value) {
    client
        .start_turn(thread, &format!("run `{command}` in the background"))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let started = client.wait_for("terminal/started").await;
    let done = client.wait_for("turn/completed").await;
    let id = started["params"]["terminal"]["sessionId"].as_str().unwrap();
    (id.to_owned(), done["params"]["turn"].clone())
}

/// Waits until a process group is empty.
async fn assert_gone(group: i32) {
    let group = nix::unistd::Pid::from_raw(group);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while nix::sys::signal::killpg(group, None).is_ok() {
        assert!(tokio::time::Instant::now() < deadline, "the group lives on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_command_goes_on_after_its_turn_and_dies_with_a_killed_server_which_then_says_so() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let mut client = server.client_with("before", capabilities()).await;
    let thread = client.start_thread().await;
    let (id, turn) = start(&mut client, &thread, "echo $$; sleep 600 & cat").await;
    let items = turn["items"].as_array().unwrap();
    let find = |kind: &str| &items.iter().find(|item| item["type"] == kind).unwrap()["payload"];
    let view = find("commandExecution");
    assert_eq!(view["status"], "backgrounded");
    assert_eq!(
        (&view["sessionId"], &view["backgroundReason"]),
        (&json!(id), &json!("requested"))
    );
    let output = view["aggregatedOutput"].as_str().unwrap().to_owned();
    let group: i32 = output.trim().parse().unwrap();
    assert!(find("toolResult")["result"].as_str().unwrap().contains(&id));
    let typed = json!({ "sessionId": id, "input": "still here\n", "yieldTimeMs": 0 });
    client.call("terminal/write", typed).await;
    client
        .find("what was typed", |message| {
            message["params"]["delta"]
                .as_str()
                .is_some_and(|delta| delta.contains("still here"))
        })
        .await;
    server.kill().await;
    assert_gone(group).await;

    let server = workspace.web_socket();
    let mut client = server.client_with("after", capabilities()).await;
    let list = client.call("terminal/list", json!({ "threadId": thread })).await;
    let lost = &list["terminals"][0];
    assert_eq!(
        (&lost["sessionId"], &lost["status"]),
        (&json!(id), &json!("lost"))
    );
    assert_eq!(lost["output"], format!("{output}still here\n"));
    let path = lost["outputPath"].as_str().unwrap();
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        format!("{output}still here\n")
    );
    let cleaned = client.call("terminal/clean", json!({ "threadId": thread })).await;
    assert_eq!(cleaned["terminals"].as_array().unwrap().len(), 1);
    assert!(!std::fs::exists(path).unwrap());
}

#[tokio::test]
async fn a_server_that_ends_in_order_ends_its_terminals_and_writes_that_down() {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let mut client = server.client_with("before", capabilities()).await;
    let thread = client.start_thread().await;
    let (id, turn) = start(&mut client, &thread, "echo $$; sleep 600 & sleep 600").await;
    let items = turn["items"].as_array().unwrap();
    let view = items
        .iter()
        .find(|item| item["type"] == "commandExecution")
        .unwrap();
    let group: i32 = view["payload"]["aggregatedOutput"]
        .as_str()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(server.terminate().await.success());
    assert_gone(group).await;
    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    let read = client.call("terminal/read", json!({ "sessionId": id })).await;
    assert_eq!(read["terminal"]["status"], "killed");
}
