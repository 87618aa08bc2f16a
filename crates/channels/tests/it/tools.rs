//! Tools of adapters (AppServer protocol 06 §B5), with the real engine.

use std::time::Duration;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Server, by_itself, chat, pass, say};

fn recall() -> Value {
    json!({
        "name": "PigeonRecall",
        "description": "Calls the pigeon back.",
        "requiresChatContext": true,
        "inputSchema": {
            "type": "object",
            "properties": { "ring": { "type": "string" } },
            "required": ["ring"],
        },
    })
}

const CALL: &str = r#"call `PigeonRecall` with {"ring": "NO-11"}"#;

fn call_of(ended: &Value) -> &Value {
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let mut calls = items.iter().filter(|item| item["type"] == "pluginFunctionCall");
    let call = calls.next().unwrap_or_else(|| panic!("{ended}"));
    assert!(calls.next().is_none());
    assert!(
        items
            .iter()
            .all(|item| item["type"] != "toolCall" && item["type"] != "dynamicToolCall")
    );
    &call["payload"]
}

async fn pigeon(server: &Server) -> (Client, String) {
    let mut adapter = server
        .adapter("pigeon", json!({ "channelTools": [recall()] }))
        .await;
    let thread = chat(&mut adapter, "pigeon", "roof:7").await;
    (adapter, thread)
}

#[tokio::test]
async fn a_tool_runs_at_its_adapter_as_one_item() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let (mut adapter, thread) = pigeon(&server).await;
    say(&mut adapter, &thread, CALL).await;
    let asked = adapter.wait_for("ext/channel/toolCall").await;
    let params = &asked["params"];
    assert!(
        params["callId"].as_str().unwrap().starts_with("exttool_"),
        "{params}"
    );
    assert_eq!(params["threadId"], *thread);
    assert_eq!(params["tool"], "PigeonRecall");
    assert_eq!(params["arguments"], json!({ "ring": "NO-11" }));
    let context = json!({ "channelName": "pigeon", "channelContext": "roof:7", "senderId": "u-3", "groupId": "roof:7" });
    assert_eq!(params["context"], context);
    let content = json!([{ "type": "text", "text": "Recalled." }]);
    adapter
        .reply(&asked, json!({ "success": true, "contentItems": content }))
        .await;
    let ended = adapter.wait_for("turn/completed").await;
    let call = call_of(&ended);
    assert_eq!(
        *call,
        json!({
            "pluginId": "external-channel:pigeon", "namespace": "external_channel", "functionName": "PigeonRecall",
            "callId": params["callId"], "arguments": { "ring": "NO-11" }, "contentItems": content, "success": true,
        })
    );
}

#[tokio::test]
async fn a_tool_is_offered_in_threads_of_its_channel_only() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("owl")]).await;
    let (_pigeon, _) = pigeon(&server).await;
    let mut owl = server.adapter("owl", json!({})).await;
    let thread = chat(&mut owl, "owl", "roof:7").await;
    say(&mut owl, &thread, CALL).await;
    let ended = owl.wait_for("turn/completed").await;
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    assert!(
        items.iter().all(|item| item["type"] != "pluginFunctionCall"),
        "{ended}"
    );
}

#[tokio::test]
async fn a_call_that_fails_has_the_protocols_code() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let (mut adapter, thread) = pigeon(&server).await;
    for (answer, code) in [
        (
            json!({ "success": false, "errorCode": "Lost", "errorMessage": "m" }),
            "Lost",
        ),
        (json!({ "success": false }), "AdapterToolCallFailed"),
        (json!({ "success": 7 }), "AdapterProtocolViolation"),
    ] {
        say(&mut adapter, &thread, CALL).await;
        let asked = adapter.wait_for("ext/channel/toolCall").await;
        adapter.reply(&asked, answer).await;
        let ended = adapter.wait_for("turn/completed").await;
        assert_eq!(call_of(&ended)["errorCode"], code, "{ended}");
    }
    say(&mut adapter, &thread, r#"call `PigeonRecall` with {"ring": 7}"#).await;
    let ended = adapter.wait_for("turn/completed").await;
    assert_eq!(
        call_of(&ended)["errorCode"],
        "InvalidArguments",
        "it was not sent"
    );
}

#[tokio::test]
async fn an_adapter_has_twenty_seconds_for_a_call() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let (mut adapter, thread) = pigeon(&server).await;
    say(&mut adapter, &thread, CALL).await;
    adapter.wait_for("ext/channel/toolCall").await;
    pass(Duration::from_secs(20)).await;
    let ended = adapter.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["errorCode"], "ExternalChannelToolTimeout");
}

/// 06 §B9: a call is never sent to a later adapter, and never repeated.
#[tokio::test]
async fn a_turn_keeps_the_connection_that_it_started_with() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut viewer = server.client().await;
    let (mut adapter, thread) = pigeon(&server).await;
    viewer
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    say(&mut adapter, &thread, CALL).await;
    adapter.wait_for("ext/channel/toolCall").await;
    let mut newer = server
        .adapter("pigeon", json!({ "channelTools": [recall()] }))
        .await;
    let ended = viewer.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["errorCode"], "AdapterDisconnected");
    newer.call("channel/status", json!({})).await;
    newer
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    say(&mut newer, &thread, CALL).await;
    let asked = newer.wait_for("ext/channel/toolCall").await;
    assert_eq!(
        asked["params"]["turnId"], "turn_002",
        "the next Turn has the newer one"
    );
}

#[tokio::test]
async fn a_declared_approval_is_asked_of_the_adapter_before_the_call() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut tool = recall();
    tool["approval"] = json!({ "kind": "remoteResource", "targetArgument": "ring", "operation": "recall" });
    let mut adapter = server.adapter("pigeon", json!({ "channelTools": [tool] })).await;
    let thread = chat(&mut adapter, "pigeon", "roof:7").await;
    for (decision, sent) in [("decline", false), ("accept", true)] {
        say(&mut adapter, &thread, CALL).await;
        let asked = adapter.wait_for("item/approval/request").await;
        assert_eq!(asked["params"]["target"], "NO-11");
        adapter.reply(&asked, json!({ "decision": decision })).await;
        if sent {
            let asked = adapter.wait_for("ext/channel/toolCall").await;
            adapter.reply(&asked, json!({ "success": true })).await;
        }
        let ended = adapter.wait_for("turn/completed").await;
        assert_eq!(call_of(&ended)["success"], sent, "{ended}");
    }
}

#[tokio::test]
async fn the_approval_of_a_file_names_it_in_the_reason_that_a_chat_shows() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut tool = recall();
    tool["approval"] = json!({ "kind": "file", "targetArgument": "ring", "operation": "write" });
    let mut adapter = server.adapter("pigeon", json!({ "channelTools": [tool] })).await;
    let thread = chat(&mut adapter, "pigeon", "roof:7").await;
    let mut other = server.client().await;
    other
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    say(&mut adapter, &thread, &CALL.replace("NO-11", "/outside/ring")).await;
    for (client, is_named) in [(&mut adapter, true), (&mut other, false)] {
        let asked = client.wait_for("item/approval/request").await;
        let target = asked["params"]["target"].as_str().unwrap();
        let reason = asked["params"]["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.starts_with(target), is_named, "{asked}");
    }
}

#[tokio::test]
async fn an_adapter_that_comes_back_is_asked_once_what_its_chat_waits_for() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("owl")]).await;
    let mut tool = recall();
    tool["approval"] = json!({ "kind": "remoteResource", "targetArgument": "ring", "operation": "recall" });
    let tools = json!({ "channelTools": [tool] });
    let mut adapter = server.adapter("pigeon", tools.clone()).await;
    let thread = chat(&mut adapter, "pigeon", "roof:7").await;
    say(&mut adapter, &thread, CALL).await;
    adapter.wait_for("item/approval/request").await;
    drop(adapter);

    let mut adapter = server.adapter("pigeon", tools).await;
    let mut owl = server.adapter("owl", json!({})).await;
    let yes = json!({ "threadId": thread, "input": [{ "type": "text", "text": "yes" }] });
    // Adapters repeat a message like this until the Turn has ended.
    for adapter in [&mut adapter, &mut owl] {
        for _ in 0..3 {
            let refused = adapter.answer_to("turn/start", yes.clone()).await;
            assert_eq!(refused["error"]["code"], -32012, "{refused}");
        }
    }
    let asked = adapter.wait_for("item/approval/request").await;
    adapter.reply(&asked, json!({ "decision": "decline" })).await;
    adapter.wait_for("turn/completed").await;
    for client in [adapter, owl] {
        let rest = client.finish().await;
        let asked = |message: &Value| message["method"] == "item/approval/request";
        assert!(!rest.iter().any(asked), "{rest:?}");
    }
}

#[tokio::test]
async fn a_tool_for_chats_is_not_sent_without_one_and_a_bad_tool_is_said() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let bare = json!({ "name": "Bare" });
    let mut adapter = server
        .adapter("pigeon", json!({ "channelTools": [recall(), bare] }))
        .await;
    let status = adapter.call("channel/status", json!({})).await;
    let code = &status["channels"][0]["diagnostics"][0]["code"];
    assert_eq!(code, "InvalidChannelToolDescriptor", "{status}");
    let identity = json!({ "channelName": "pigeon" });
    let started = adapter
        .call("thread/start", json!({ "identity": identity }))
        .await;
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    adapter.start_turn(&thread, CALL).await;
    let ended = adapter.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["errorCode"], "MissingChatContext");
}
