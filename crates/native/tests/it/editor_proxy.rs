//! An editor's files and terminals, through the client that declared them (04 §8), with the real engine and tools.

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_children::{Children, Environment, Shell};
use bobbin_offline::Offline;
use bobbin_testkit::Client;
use bobbin_tools::ToolSet;
use serde_json::{Value, json};

use crate::support::Server;

async fn server() -> Server {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    let tools = ToolSet::built_in(Children::new(None), environment, Shell::Posix);
    Server::over(AgentEngine::new(Arc::new(Offline), tools)).await
}

fn path(server: &Server, name: &str) -> String {
    let path = server.threads.settings().workspace.join(name);
    path.to_string_lossy().into_owned()
}

fn write(server: &Server, name: &str, content: &str) {
    std::fs::write(path(server, name), content).unwrap();
}

fn read(server: &Server, name: &str) -> String {
    std::fs::read_to_string(path(server, name)).unwrap_or_default()
}

async fn editor(server: &Server, can: Value) -> (Client, String) {
    let mut client = server.client_with(json!({ "acpExtensions": can })).await;
    let id = client.start_thread().await;
    (client, id)
}

fn asks_editor(seen: &[Value]) -> bool {
    let methods = seen.iter().filter_map(|message| message["method"].as_str());
    methods.into_iter().any(|method| method.starts_with("ext/acp/"))
}

fn result_of(ended: &Value) -> (&str, bool) {
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let result = items.iter().find(|item| item["type"] == "toolResult").unwrap();
    let payload = &result["payload"];
    (
        payload["result"].as_str().unwrap(),
        payload["success"].as_bool().unwrap(),
    )
}

async fn refuse(client: &Client, asked: &Value) {
    let error = json!({ "code": -32603, "message": "no" });
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    client.send_text(answer.to_string()).await;
}

#[tokio::test]
async fn a_file_is_read_as_the_editor_has_it() {
    let server = server().await;
    write(&server, "notes.md", "on disk\n");
    let (mut client, id) = editor(&server, json!({ "fsReadTextFile": true })).await;
    client.start_turn(&id, "read notes.md").await;
    let asked = client.wait_for("ext/acp/fs/readTextFile").await;
    assert_eq!(
        asked["params"],
        json!({ "threadId": id, "path": path(&server, "notes.md") })
    );
    client
        .reply(&asked, json!({ "content": "not saved yet\n" }))
        .await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("1\tnot saved yet\n", true));
}

#[tokio::test]
async fn a_file_is_written_by_the_editor_and_the_diff_follows_the_disk() {
    let server = server().await;
    let (mut client, id) = editor(&server, json!({ "fsWriteTextFile": true })).await;
    client.start_turn(&id, "write notes.md: # Notes").await;
    let asked = client.wait_for("ext/acp/fs/writeTextFile").await;
    assert_eq!(
        asked["params"],
        json!({ "threadId": id, "path": path(&server, "notes.md"), "content": "# Notes\n" })
    );
    // An editor does as the request says.
    write(&server, "notes.md", "# Notes\n");
    client.reply(&asked, json!({ "success": true })).await;
    let seen = client.until("turn/completed").await;
    assert!(result_of(seen.last().unwrap()).1);
    let diff = seen
        .iter()
        .find(|message| message["method"] == "turn/diff/updated");
    assert_eq!(diff.unwrap()["params"]["files"][0]["status"], "added");
}

#[tokio::test]
async fn an_edit_changes_what_the_editor_has() {
    let server = server().await;
    write(&server, "a.txt", "1\n");
    let (mut client, id) = editor(
        &server,
        json!({ "fsReadTextFile": true, "fsWriteTextFile": true }),
    )
    .await;
    client
        .start_turn(&id, "read a.txt then replace `2` with `3` in a.txt")
        .await;
    for _ in ["ReadFile", "EditFile"] {
        let asked = client.wait_for("ext/acp/fs/readTextFile").await;
        client.reply(&asked, json!({ "content": "1\n2\n" })).await;
    }
    let asked = client.wait_for("ext/acp/fs/writeTextFile").await;
    assert_eq!(asked["params"]["content"], "1\n3\n");
    write(&server, "a.txt", "1\n3\n");
    client.reply(&asked, json!({ "success": true })).await;
    assert!(result_of(&client.wait_for("turn/completed").await).1);
}

/// 04 §8: "Only advertised ones are sent."
#[tokio::test]
async fn what_was_not_declared_is_not_asked_of_an_editor() {
    let server = server().await;
    write(&server, "notes.md", "on disk\n");
    for can in [
        json!({}),
        json!({ "fsWriteTextFile": true, "extensions": ["_canvas"] }),
    ] {
        let (mut client, id) = editor(&server, can).await;
        client.start_turn(&id, "read notes.md").await;
        let seen = client.until("turn/completed").await;
        assert!(!asks_editor(&seen));
        assert_eq!(result_of(seen.last().unwrap()), ("1\ton disk\n", true));
    }
}

/// 04 §8: "Connection gone or error → the tool falls back to local access".
#[tokio::test]
async fn an_editor_that_fails_or_leaves_is_passed_over() {
    let server = server().await;
    write(&server, "notes.md", "on disk\n");
    let can = json!({ "fsReadTextFile": true, "fsWriteTextFile": true });
    let (mut client, id) = editor(&server, can).await;
    let mut watcher = server.client().await;
    watcher.call("thread/subscribe", json!({ "threadId": id })).await;
    client.start_turn(&id, "read notes.md").await;
    let asked = client.wait_for("ext/acp/fs/readTextFile").await;
    refuse(&client, &asked).await;
    let ended = watcher.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("1\ton disk\n", true));
    watcher
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    client.start_turn(&id, "write notes.md: here").await;
    client.wait_for("ext/acp/fs/writeTextFile").await;
    drop(client);
    let ended = watcher.wait_for("turn/completed").await;
    assert!(result_of(&ended).1);
    assert_eq!(read(&server, "notes.md"), "here\n");
    watcher
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    watcher.start_turn(&id, "read notes.md").await;
    assert_eq!(
        result_of(&watcher.wait_for("turn/completed").await),
        ("1\there\n", true)
    );
}

/// 04 §8: bound to the connection that started or last resumed the Thread and declared it.
#[tokio::test]
async fn the_editor_of_a_thread_is_the_one_that_started_or_last_resumed_it() {
    let server = server().await;
    write(&server, "notes.md", "on disk\n");
    let can = json!({ "fsReadTextFile": true });
    let (mut first, id) = editor(&server, can.clone()).await;
    let mut plain = server.client().await;
    // A client without an editor does not replace the first.
    plain.call("thread/resume", json!({ "threadId": id })).await;
    plain.start_turn(&id, "read notes.md").await;
    let asked = first.wait_for("ext/acp/fs/readTextFile").await;
    first.reply(&asked, json!({ "content": "first\n" })).await;
    assert_eq!(
        result_of(&plain.wait_for("turn/completed").await),
        ("1\tfirst\n", true)
    );
    plain
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    let mut second = server.client_with(json!({ "acpExtensions": can })).await;
    second.call("thread/resume", json!({ "threadId": id })).await;
    plain.start_turn(&id, "read notes.md").await;
    let asked = second.wait_for("ext/acp/fs/readTextFile").await;
    second.reply(&asked, json!({ "content": "second\n" })).await;
    assert_eq!(
        result_of(&plain.wait_for("turn/completed").await),
        ("1\tsecond\n", true)
    );
}

/// The workspace checks and Approvals are the same.
#[tokio::test]
async fn an_editor_is_not_asked_for_what_nobody_allowed() {
    let server = server().await;
    let (mut client, id) = editor(
        &server,
        json!({ "fsReadTextFile": true, "fsWriteTextFile": true }),
    )
    .await;
    client.start_turn(&id, "read /etc/hostname").await;
    let seen = client.until("item/approval/request").await;
    assert!(!asks_editor(&seen));
    client
        .reply(seen.last().unwrap(), json!({ "decision": "decline" }))
        .await;
    let seen = client.until("turn/completed").await;
    assert!(!asks_editor(&seen));
    client
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    client.start_turn(&id, "write .git/hooks/x: y").await;
    let seen = client.until("turn/completed").await;
    assert!(!asks_editor(&seen) && !result_of(seen.last().unwrap()).1);
}

#[tokio::test]
async fn a_command_runs_in_a_terminal_of_the_editor() {
    let server = server().await;
    let (mut client, id) = editor(&server, json!({ "terminalCreate": true })).await;
    client.start_turn(&id, "run `make tea`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let asked = client.wait_for("ext/acp/terminal/create").await;
    let root = server.threads.settings().workspace.to_string_lossy().into_owned();
    assert_eq!(
        asked["params"],
        json!({ "threadId": id, "command": "make tea", "cwd": root })
    );
    client.reply(&asked, json!({ "terminalId": "t-1" })).await;
    let asked = client.wait_for("ext/acp/terminal/waitForExit").await;
    assert_eq!(
        asked["params"],
        json!({ "threadId": id, "terminalId": "t-1", "timeout": 120 })
    );
    client.reply(&asked, json!({ "exitCode": 0 })).await;
    let asked = client.wait_for("ext/acp/terminal/getOutput").await;
    client
        .reply(&asked, json!({ "output": "done\n", "exitCode": 0 }))
        .await;
    let asked = client.wait_for("ext/acp/terminal/release").await;
    client.reply(&asked, json!({})).await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("exit code 0\ndone\n", true));
}

#[tokio::test]
async fn interrupting_kills_and_gives_back_the_terminal() {
    let server = server().await;
    let (mut client, id) = editor(&server, json!({ "terminalCreate": true })).await;
    client.start_turn(&id, "run `make tea`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let asked = client.wait_for("ext/acp/terminal/create").await;
    client.reply(&asked, json!({ "terminalId": "t-1" })).await;
    client.wait_for("ext/acp/terminal/waitForExit").await;
    client
        .call("turn/interrupt", json!({ "threadId": id, "turnId": "" }))
        .await;
    for method in ["kill", "getOutput", "release"] {
        let asked = client.wait_for(&format!("ext/acp/terminal/{method}")).await;
        assert_eq!(asked["params"]["terminalId"], "t-1");
        client.reply(&asked, json!({ "output": "half\n" })).await;
    }
    client.wait_for("turn/cancelled").await;
}

#[tokio::test]
async fn a_command_that_the_editor_does_not_begin_runs_here_and_one_that_it_lost_does_not() {
    let server = server().await;
    let (mut client, id) = editor(&server, json!({ "terminalCreate": true })).await;
    let mut watcher = server.client().await;
    watcher.call("thread/subscribe", json!({ "threadId": id })).await;
    watcher.start_turn(&id, "run `echo x >> ran`").await;
    let asked = watcher.wait_for("item/approval/request").await;
    watcher
        .reply(&asked, json!({ "decision": "acceptForSession" }))
        .await;
    let asked = client.wait_for("ext/acp/terminal/create").await;
    refuse(&client, &asked).await;
    assert!(result_of(&watcher.wait_for("turn/completed").await).1);
    assert_eq!(read(&server, "ran"), "x\n");
    watcher
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    watcher.start_turn(&id, "run `echo x >> ran`").await;
    let asked = client.wait_for("ext/acp/terminal/create").await;
    client.reply(&asked, json!({ "terminalId": "t-1" })).await;
    client.wait_for("ext/acp/terminal/waitForExit").await;
    drop(client);
    let ended = watcher.wait_for("turn/completed").await;
    let (text, success) = result_of(&ended);
    assert!(!success && text.contains("was not run again"), "{text}");
    assert_eq!(read(&server, "ran"), "x\n");
}
