//! `bobbin app-server` as somebody's child.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Workspace, rich};

/// The protocol's smallest client: initialize, start a thread, start a turn, print what comes.
#[tokio::test]
async fn the_smallest_client_gets_its_turn_and_end_of_input_ends_the_server_with_0() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("README.md"), "# Tea\n\nBoils water.\n").unwrap();
    let (mut server, link) = workspace.stdio();
    let mut client = Client::new(link);
    let info = json!({ "name": "custom-client", "title": "Custom Client", "version": "0.1.0" });
    let capabilities = json!({
        "approvalSupport": true, "streamingSupport": true, "commandExecutionStreaming": true,
        "toolExecutionLifecycle": true, "configChange": true,
    });
    let hello = client
        .call(
            "initialize",
            json!({ "clientInfo": info, "capabilities": capabilities }),
        )
        .await;
    assert_eq!(hello["serverInfo"]["name"], "bobbin");
    assert_eq!(hello["serverInfo"]["protocolVersion"], "1");
    client.notify("initialized", json!({})).await;
    let path = workspace.path().to_str().unwrap();
    let identity = json!({
        "channelName": "custom", "userId": "local-user",
        "channelContext": format!("workspace:{path}"), "workspacePath": path,
    });
    let started = client
        .call(
            "thread/start",
            json!({ "identity": identity, "historyMode": "server" }),
        )
        .await;
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    let input = json!([{ "type": "text", "text": "Summarize this repository." }]);
    client
        .call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    let done = client.wait_for("turn/completed").await;
    assert_eq!(done["params"]["turn"]["status"], "completed");
    client.finish().await;
    assert_eq!(server.exit().await.code(), Some(0));
}

#[tokio::test]
async fn requests_read_before_end_of_input_are_answered() {
    let workspace = Workspace::new();
    let (mut server, link) = workspace.stdio();
    let mut client = Client::ready(link, "pipe", rich()).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(
            client
                .request("thread/start", json!({ "identity": { "channelName": "pipe" } }))
                .await,
        );
    }
    let rest = client.finish().await;
    for id in ids {
        let answered = |message: &&Value| message.get("method").is_none() && message["id"] == id;
        assert!(rest.iter().any(|message| answered(&message)), "{id} in {rest:#?}");
    }
    assert_eq!(server.exit().await.code(), Some(0));
}

#[tokio::test]
async fn garbage_on_a_line_is_answered_and_the_next_line_is_served() {
    let workspace = Workspace::new();
    let (_server, link) = workspace.stdio();
    let mut client = Client::ready(link, "noise", rich()).await;
    client.send_text("{\"jsonrpc\":\"2.0\",").await;
    let error = client
        .find("a parse error", |message| message.get("error").is_some())
        .await;
    assert_eq!(
        (&error["error"]["code"], &error["id"]),
        (&json!(-32700), &Value::Null)
    );
    client.send_text("[1, 2]").await;
    let error = client
        .find("an invalid request", |message| message.get("error").is_some())
        .await;
    assert_eq!(error["error"]["code"], -32600);
    assert_eq!(client.error("no/such", json!({})).await["code"], -32601);
}

#[tokio::test]
async fn a_second_server_in_the_workspace_says_who_holds_it() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let address = server.address().await;
    let second = workspace
        .run(&["app-server", "--listen", "ws://127.0.0.1:0"])
        .await;
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success());
    assert!(
        said.contains(&server.pid().to_string()) && said.contains(address.split('?').next().unwrap()),
        "{said}"
    );
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

#[tokio::test]
async fn an_interrupted_turn_keeps_what_was_shown() {
    let workspace = Workspace::new();
    let (_server, link) = workspace.stdio();
    let mut client = Client::ready(link, "me", rich()).await;
    let thread = client.start_thread().await;
    let turn = client.start_turn(&thread, "run `echo one; sleep 600`").await;
    let request = client.wait_for("item/approval/request").await;
    client.reply(&request, json!({ "decision": "accept" })).await;
    client.wait_for("item/commandExecution/outputDelta").await;
    client
        .call("turn/interrupt", json!({ "threadId": thread, "turnId": turn }))
        .await;
    let ended = client.wait_for("turn/cancelled").await;
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let run = items
        .iter()
        .find(|item| item["type"] == "commandExecution")
        .unwrap();
    assert_eq!(run["payload"]["status"], "cancelled");
    assert_eq!(run["payload"]["aggregatedOutput"], "one\n");
    assert!(items.iter().all(|item| item["status"] == "completed"));
}

#[tokio::test]
async fn a_log_that_nobody_reads_stops_nothing() {
    let workspace = Workspace::new();
    let (mut server, link) = workspace.with_deaf_stderr();
    let mut client = Client::ready(link, "deaf", rich()).await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "say all is well").await;
    let done = client.wait_for("turn/completed").await;
    assert_eq!(done["params"]["turn"]["status"], "completed");
    drop(client);
    assert_eq!(server.exit().await.code(), Some(0));
}
