//! `command/*`, `skills/*` and the input parts that name them, over the files of a workspace.

use std::path::Path;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

/// Writes the files of a workspace.
fn write(server: &Server, files: &[(&str, &str)]) {
    let craft = server.threads.settings().workspace.join(".craft");
    for (name, text) in files {
        let path = craft.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

const AUDIT: (&str, &str) = (
    "commands/audit.md",
    "---\ndescription: Audit the recipe\n---\nAudit the recipe for $1.",
);
const DESCALE: (&str, &str) = (
    "skills/descale/SKILL.md",
    "---\ndescription: How to descale\n---\nUse vinegar.",
);

async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let mut answer = client.answer_to(method, params).await;
    answer["id"].take();
    answer
}

#[tokio::test]
async fn commands_are_listed_and_executed() {
    let server = Server::start().await;
    write(&server, &[AUDIT]);
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let run = |command: &str| json!({ "threadId": thread, "command": command });
    let by = |role: Value| {
        json!({
            "threadId": thread, "command": "/stop",
            "sender": { "senderId": "u-1", "senderName": "Ada", "senderRole": role },
        })
    };
    let mut seen = Vec::new();
    for (method, params) in [
        ("command/list", json!({})),
        (
            "command/list",
            json!({ "language": "zh", "includeBuiltins": false }),
        ),
        (
            "command/execute",
            json!({ "threadId": thread, "command": "/audit", "arguments": ["milk"] }),
        ),
        (
            "command/execute",
            json!({ "threadId": thread, "command": "/audit oat", "arguments": null }),
        ),
        ("command/execute", run("/help")),
        ("command/execute", run("/brew")),
        ("command/execute", run("/cron list")),
        ("command/execute", run("/stop")),
        ("command/execute", by(json!("member"))),
        ("command/execute", by(json!("admin"))),
        (
            "command/execute",
            json!({ "threadId": "thread_20270104_none00", "command": "/help" }),
        ),
    ] {
        seen.push(ask(&mut client, method, params).await);
    }
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn compact_starts_a_turn_of_its_own() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let compact = json!({ "threadId": thread, "command": "/compact" });
    let answer = client.call("command/execute", compact).await;
    assert_eq!(answer["handled"], true);
    assert_eq!(answer["expandedPrompt"], json!(null));
    let over = client.wait_for("turn/completed").await;
    let said = &over["params"]["turn"]["items"][0]["payload"];
    assert_eq!(said["text"], "/compact");
    assert_eq!(said["nativeInputParts"][0]["type"], "commandRef");
}

#[tokio::test]
async fn stop_ends_the_turn_that_runs() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let input = json!([{ "type": "text", "text": "hang" }]);
    client
        .call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    let stop = json!({ "threadId": thread, "command": "/stop" });
    let answer = client.call("command/execute", stop).await;
    assert_eq!(answer["message"], "Stopped.");
    let over = client.wait_for("turn/cancelled").await;
    assert_eq!(over["params"]["turn"]["status"], "cancelled");
}

#[tokio::test]
async fn commands_are_found_without_regard_to_case() {
    let server = Server::start().await;
    write(&server, &[AUDIT]);
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    for (command, has) in [
        ("/Help", "message"),
        ("/AUDIT oat", "expandedPrompt"),
        ("/Stop", "message"),
    ] {
        let params = json!({ "threadId": thread, "command": command });
        let answer = client.call("command/execute", params).await;
        assert!(answer[has].is_string(), "{command}: {answer}");
    }
}

#[tokio::test]
async fn new_goes_on_in_another_thread_and_once_for_a_name() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let identity = json!({ "channelName": "test", "userId": "u-1", "channelContext": "pots" });
    let started = client.call("thread/start", json!({ "identity": identity })).await;
    let old = started["thread"]["id"].clone();
    let new = json!({ "threadId": old, "command": "/new", "clientRequestId": "c-1" });
    let first = client.call("command/execute", new.clone()).await;
    assert_eq!(first["sessionReset"], true);
    assert_eq!(first["archivedThreadIds"], json!([old]));
    let thread = &first["thread"];
    assert_ne!(thread["id"], old);
    for (member, value) in [
        ("originChannel", "test"),
        ("userId", "u-1"),
        ("channelContext", "pots"),
    ] {
        assert_eq!(thread[member], value, "{thread}");
    }
    let again = client.call("command/execute", new).await;
    assert_eq!(again["thread"]["id"], thread["id"]);
    assert_eq!(again["archivedThreadIds"], json!([old]));
    let listed = client.call("thread/list", json!({ "identity": identity })).await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[tokio::test]
async fn skills_are_listed_read_switched_and_removed() {
    let server = Server::start().await;
    write(
        &server,
        &[
            DESCALE,
            ("skills/pour/SKILL.md", "---\nbins: no-such-pot\n---\nPour."),
        ],
    );
    let mut client = server.client().await;
    let mut other = server.client().await;
    let name = |name: &str| json!({ "name": name });
    let mut seen = Vec::new();
    for (method, params) in [
        ("skills/list", json!({})),
        ("skills/list", json!({ "includeUnavailable": false })),
        ("skills/read", name("descale")),
        ("skills/view", name("descale")),
        ("skills/restoreOriginal", name("descale")),
        (
            "skills/setEnabled",
            json!({ "name": "descale", "enabled": false }),
        ),
        ("skills/list", json!({ "includeUnavailable": false })),
        ("skills/uninstall", name("descale")),
        ("skills/uninstall", name("descale")),
        ("skills/view", name("brew")),
        ("skills/view", name("../commands")),
    ] {
        seen.push(ask(&mut client, method, params).await);
    }
    for source in ["skills/setEnabled", "skills/uninstall"] {
        let told = other.wait_for("workspace/configChanged").await;
        assert_eq!(told["params"]["source"], source);
        assert_eq!(told["params"]["regions"], json!(["skills"]));
    }
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn an_input_keeps_what_its_commands_and_skills_said() {
    let server = Server::start().await;
    write(&server, &[AUDIT, DESCALE]);
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let input = json!([
        { "type": "skillRef", "name": "$descale" },
        { "type": "commandRef", "name": "/audit", "argsText": "milk", "rawText": "/audit milk" },
    ]);
    let request = json!({ "threadId": thread, "input": input });
    client.call("turn/start", request.clone()).await;
    client.wait_for("turn/completed").await;
    // A later change of the file does not change the input.
    write(&server, &[(AUDIT.0, "Audit nothing."), (DESCALE.0, "Use acid.")]);
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    let payload = read["thread"]["turns"][0]["items"][0]["payload"].clone();
    insta::assert_snapshot!(server.redact(&[payload]));
}
