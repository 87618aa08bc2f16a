//! Commands that a user types, over the real binary.

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script};
use serde_json::{Value, json};

use crate::support::Workspace;

async fn ended(client: &mut Client) -> Value {
    let ended = client
        .find("the turn ends", |message| {
            let method = message["method"].as_str().unwrap_or_default();
            ["turn/completed", "turn/failed", "turn/cancelled"].contains(&method)
        })
        .await;
    ended["params"]["turn"].clone()
}

#[tokio::test]
async fn a_typed_command_runs_without_a_question_and_the_model_reads_it() {
    let said = Reply::of([Part::Text("I see tea.".into())]);
    let model = ModelServer::start(Script::of([said])).await.unwrap();
    let workspace = Workspace::new();
    workspace.configure(&json!({
        "Permissions": {
            "DefaultApprovalPolicy": "askWrites",
            "Rules": [{ "Action": "deny", "Command": "rm **" }],
        },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": model.base_url() } },
        "Model": "script/scripted", "Titles": { "Enabled": false }, "Sandbox": { "Profile": "full" },
    }));
    let server = workspace.web_socket();
    let mut client = server
        .client_with(
            "me",
            json!({ "commandExecutionStreaming": true, "approvalSupport": true }),
        )
        .await;
    let thread = client.start_thread().await;
    let typed = |command: &str| json!({ "threadId": thread, "command": command });
    client
        .call(
            "thread/shellCommand",
            typed("echo green > tea.txt; cat tea.txt; exit 3"),
        )
        .await;
    let turn = ended(&mut client).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    let items = turn["items"].as_array().unwrap();
    assert_eq!(
        items[0]["payload"]["text"],
        "!echo green > tea.txt; cat tea.txt; exit 3"
    );
    let ran = items
        .iter()
        .find(|item| item["type"] == "commandExecution")
        .unwrap();
    assert_eq!(
        (&ran["payload"]["exitCode"], &ran["payload"]["aggregatedOutput"]),
        (&json!(3), &json!("green\n")),
        "{turn}"
    );
    assert!(workspace.path().join("tea.txt").exists());
    assert!(items.iter().all(|item| item["type"] != "error"), "{turn}");

    // A rule that refuses it counts.
    std::fs::write(workspace.path().join("pot"), "").unwrap();
    client.call("thread/shellCommand", typed("rm pot")).await;
    let refused = ended(&mut client).await;
    assert!(refused.to_string().contains("refused"), "{refused}");
    assert!(workspace.path().join("pot").exists());

    // The model reads the command and its output.
    client.start_turn(&thread, "What do you see?").await;
    ended(&mut client).await;
    let asked = model.asked().pop().unwrap().body.to_string();
    assert!(
        asked.contains("cat tea.txt") && asked.contains("green"),
        "{asked}"
    );

    // The files that it made can be taken back.
    let revert = json!({ "threadId": thread, "turnId": turn["id"] });
    client.call("turn/revert", revert).await;
    assert!(!workspace.path().join("tea.txt").exists());
    let empty = client.error("thread/shellCommand", typed("  ")).await;
    assert_eq!(empty["code"], -32602);
}
