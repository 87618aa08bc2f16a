//! Threads whose engine is another agent, over the real binary. The agent is a shell script that speaks the protocol.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Workspace, agent_text};

/// An agent. Its prompts and how its sessions were opened are in files beside it. A prompt chooses what it does.
const AGENT: &str = r#"#!/bin/sh
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
update() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":$1}}"; }
text() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
say 'a banner that is no JSON'
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
  *'"method":"initialize"'*) answer "$id" '{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"key","name":"A key"}]}' ;;
  *'"method":"session/new"'*)
    echo new >> opened
    if [ -e login ]; then say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"login\"}}"
    else answer "$id" '{"sessionId":"s-1"}'; fi ;;
  *'"method":"session/load"'*)
    echo load >> opened
    if [ -e forgets ]; then say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32603,\"message\":\"gone\"}}"
    else text replayed; answer "$id" '{}'; fi ;;
  *'"method":"session/prompt"'*)
    printf '%s\n' "$line" >> prompts
    prompt=$id
    case "$line" in
    *die*) text 'before the end'; echo 'out of tea' >&2; exit 3 ;;
    *wait*) text brewing ;;
    *)
      update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
      text 'I '; text edit.
      update '{"sessionUpdate":"plan","entries":[{"content":"boil","priority":"high","status":"in_progress"}]}'
      update '{"sessionUpdate":"usage_update","used":70,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}'
      say '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c-1","kind":"edit","title":"Edit tea.txt","content":[{"type":"diff","path":"tea.txt","oldText":null,"newText":"hot\n"}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}' ;;
    esac ;;
  *'"method":"session/cancel"'*) answer "$prompt" '{"stopReason":"cancelled"}' ;;
  *'"optionId":"y"'*)
    echo hot > tea.txt
    update '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"completed"}'
    text Done.
    answer "$prompt" '{"stopReason":"end_turn"}' ;;
  *'"outcome"'*)
    text 'Not done.'
    answer "$prompt" '{"stopReason":"end_turn"}' ;;
  esac
done
"#;

/// Returns a workspace with the engine `tea`.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let path = workspace.path().join("agent.sh");
    std::fs::write(&path, AGENT).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    workspace.configure(&json!({
        "Permissions": { "DefaultApprovalPolicy": "default" }, "Titles": { "Enabled": false },
        "Engines": {
            "tea": { "acp": ["./agent.sh"] },
            "none": { "acp": ["./no-such-agent"] },
            "mute": { "acp": ["/bin/sh", "-c", "echo no tea here >&2; exit 4"] },
        },
        "Sandbox": { "Profile": "full" },
    }));
    workspace
}

async fn thread(client: &mut Client, engine: &str) -> String {
    let identity = json!({ "channelName": "test" });
    let params = json!({ "identity": identity, "config": { "engine": engine } });
    let started = client.call("thread/start", params).await;
    started["thread"]["id"].as_str().unwrap().to_owned()
}

/// Starts a Turn, answers its question if there is one, and returns the ended Turn.
async fn turn(client: &mut Client, thread: &str, text: &str, decision: Option<&str>) -> Value {
    client.start_turn(thread, text).await;
    if let Some(decision) = decision {
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": decision })).await;
    }
    ended(client).await
}

async fn ended(client: &mut Client) -> Value {
    let ended = client
        .find("the turn ends", |message| {
            let method = message["method"].as_str().unwrap_or_default();
            ["turn/completed", "turn/failed", "turn/cancelled"].contains(&method)
        })
        .await;
    ended["params"]["turn"].clone()
}

/// Reads the first Turn of a Thread.
async fn first_turn(client: &mut Client, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "includeTurns": true });
    client.call("thread/read", params).await["thread"]["turns"][0].clone()
}

fn error(turn: &Value) -> String {
    turn["error"].to_string()
}

fn read(workspace: &Workspace, name: &str) -> String {
    std::fs::read_to_string(workspace.path().join(name)).unwrap_or_default()
}

fn items<'a>(turn: &'a Value, kind: &str) -> Vec<&'a Value> {
    let items = turn["items"].as_array().unwrap().iter();
    items
        .filter(|item| item["type"] == kind)
        .map(|item| &item["payload"])
        .collect()
}

#[tokio::test]
async fn updates_become_items_and_a_permission_becomes_an_approval() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    client.start_turn(&thread, "Boil.").await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["operation"], "Edit tea.txt", "{asked}");
    assert_eq!(
        read(&workspace, "tea.txt"),
        "",
        "nothing happens before the answer"
    );
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let turn = ended(&mut client).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(agent_text(&turn), "I edit.Done.");
    assert_eq!(items(&turn, "reasoningContent")[0]["text"], "hm", "{turn}");
    let call = items(&turn, "toolCall")[0];
    assert_eq!(
        (&call["toolName"], &call["arguments"]["title"]),
        (&json!("edit"), &json!("Edit tea.txt"))
    );
    let result = items(&turn, "toolResult")[0];
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(read(&workspace, "tea.txt"), "hot\n");

    // The next Turn loads the session: nothing of its replay is shown, and no prompt comes twice.
    let again = self::turn(&mut client, &thread, "Again.", Some("decline")).await;
    assert_eq!(agent_text(&again), "I edit.Not done.");
    let result = items(&again, "toolResult")[0];
    assert_eq!(
        result["success"], false,
        "a call without an end gets one: {result}"
    );
    assert_eq!(read(&workspace, "opened"), "new\nload\n");
    assert_eq!(read(&workspace, "prompts").lines().count(), 2);
}

#[tokio::test]
async fn a_session_that_is_gone_is_replaced_and_gets_the_conversation() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    turn(&mut client, &thread, "The pot is blue.", Some("accept")).await;
    std::fs::write(workspace.path().join("forgets"), "").unwrap();
    let second = turn(&mut client, &thread, "Which pot?", Some("accept")).await;
    assert_eq!(read(&workspace, "opened"), "new\nload\nnew\n");
    let prompts = read(&workspace, "prompts");
    let last = prompts.lines().last().unwrap();
    assert!(
        last.contains("The pot is blue.") && last.contains("Which pot?"),
        "{last}"
    );
    let note = &items(&second, "error")[0]["message"];
    assert!(note.as_str().unwrap().contains("does not remember"), "{note}");
}

#[tokio::test]
async fn a_turn_that_is_stopped_ends_with_what_was_shown() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let started = client.start_turn(&thread, "Please wait.").await;
    client
        .find("the agent speaks", |message| {
            message.to_string().contains("brewing")
        })
        .await;
    client
        .call("turn/interrupt", json!({ "threadId": thread, "turnId": started }))
        .await;
    ended(&mut client).await;
    let turn = first_turn(&mut client, &thread).await;
    assert_eq!(turn["status"], "cancelled");
    assert!(turn.to_string().contains("brewing"), "{turn}");
}

#[tokio::test]
async fn a_server_that_is_killed_ends_the_turn_and_sends_nothing_again() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    client.start_turn(&thread, "Please wait.").await;
    client
        .find("the agent speaks", |message| {
            message.to_string().contains("brewing")
        })
        .await;
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let mut first = first_turn(&mut client, &thread).await;
    while first["completedAt"].is_null() {
        first = first_turn(&mut client, &thread).await;
    }
    assert_eq!(first["status"], "failed", "{first}");
    assert!(first.to_string().contains("not sent again"), "{first}");
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let next = turn(&mut client, &thread, "Go on.", Some("accept")).await;
    assert_eq!(next["status"], "completed", "{next}");
    let prompts = read(&workspace, "prompts");
    assert_eq!(prompts.matches("Please wait.").count(), 1, "{prompts}");
    assert_eq!(read(&workspace, "opened"), "new\nload\n");
}

#[tokio::test]
async fn an_agent_that_dies_or_cannot_be_used_says_why() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let tea = thread(&mut client, "tea").await;
    let died = turn(&mut client, &tea, "Please die.", None).await;
    assert_eq!(agent_text(&died), "before the end");
    assert!(error(&died).contains("out of tea"), "{died}");
    for (engine, words) in [
        ("none", "does not start"),
        ("mute", "no tea here"),
        ("nobody", "known are"),
    ] {
        let thread = thread(&mut client, engine).await;
        let failed = turn(&mut client, &thread, "Boil.", None).await;
        assert_eq!(failed["status"], "failed", "{engine}");
        assert!(error(&failed).contains(words), "{engine}: {failed}");
    }
    std::fs::write(workspace.path().join("login"), "").unwrap();
    let thread = thread(&mut client, "tea").await;
    let failed = turn(&mut client, &thread, "Boil.", None).await;
    assert!(
        error(&failed).contains("A key") && error(&failed).contains("agent.sh"),
        "{failed}"
    );
}

#[tokio::test]
async fn exec_runs_a_prompt_with_an_agent() {
    let workspace = workspace();
    let ran = workspace
        .run(&["exec", "--agent", "tea", "--approve", "Boil."])
        .await;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        said.contains("Done."),
        "{said} {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
