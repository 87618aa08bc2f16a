//! Tools that a client declares and runs (02 §5.1.1, 03 §5.9, 04 §7), with the real engine.

use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_offline::Offline;
use bobbin_testkit::Client;
use bobbin_tools::ToolSet;
use serde_json::{Value, json};

use crate::support::Server;

async fn server() -> Server {
    Server::over(AgentEngine::new(std::sync::Arc::new(Offline), ToolSet::default())).await
}

fn timer() -> Value {
    json!({
        "name": "set_timer",
        "namespace": "kitchen",
        "description": "Sets a timer.",
        "inputSchema": {
            "type": "object",
            "properties": { "minutes": { "type": "integer" }, "where": { "type": "string" } },
            "required": ["minutes"],
        },
    })
}

fn asking(kind: &str, operation: &str) -> Value {
    let mut tool = timer();
    tool["approval"] = json!({ "kind": kind, "targetArgument": "where", "operation": operation });
    tool
}

async fn start(client: &mut Client, tools: Value) -> String {
    let params = json!({ "identity": { "channelName": "test" }, "dynamicTools": tools });
    let started = client.call("thread/start", params).await;
    client.wait_for("thread/started").await;
    started["thread"]["id"].as_str().unwrap().to_owned()
}

const FOUR: &str = r#"call `set_timer` with {"minutes": 4}"#;
const THERE: &str = r#"call `set_timer` with {"minutes": 4, "where": "pigeon:7"}"#;

/// Returns the payloads of a Turn's Items of a type.
fn payloads<'a>(ended: &'a Value, kind: &str) -> Vec<&'a Value> {
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let items = items.iter().filter(|item| item["type"] == kind);
    items.map(|item| &item["payload"]).collect()
}

fn call_of(ended: &Value) -> &Value {
    let calls = payloads(ended, "dynamicToolCall");
    assert_eq!(calls.len(), 1, "{ended}");
    assert!(payloads(ended, "toolCall").is_empty() && payloads(ended, "toolResult").is_empty());
    calls[0]
}

fn is_idle(message: &Value) -> bool {
    message["params"]["runtime"]["running"] == false
}

/// 04 §7, "Order in the turn".
#[tokio::test]
async fn a_call_is_started_sent_and_completed_as_one_item() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([timer()])).await;
    client.start_turn(&id, FOUR).await;
    let mut seen = client.until("item/tool/call").await;
    let answer = json!({
        "success": true,
        "contentItems": [{ "type": "text", "text": "Timer set." }],
        "structuredResult": { "timer": 17 },
    });
    client.reply(seen.last().unwrap(), answer).await;
    seen.extend(client.until("turn/completed").await);
    seen.retain(|message| message["method"] != "thread/renamed");
    insta::assert_snapshot!(server.redact(&seen));
}

/// 02 §5.1.1: "Any violation → -32602 naming the index".
#[tokio::test]
async fn declarations_that_break_a_rule_are_refused_by_their_index() {
    let server = server().await;
    let mut client = server.client().await;
    let with = |member: &str, value: Value| {
        let mut tool = timer();
        tool[member] = value;
        tool
    };
    let both =
        json!({ "kind": "shell", "targetArgument": "where", "operation": "o", "operationArgument": "where" });
    let neither = json!({ "kind": "shell", "targetArgument": "where" });
    let unknown = json!({ "kind": "magic", "targetArgument": "where", "operation": "o" });
    for bad in [
        with("name", json!("no spaces")),
        with("name", json!("a".repeat(65))),
        with("namespace", json!("")),
        with("description", json!(" ")),
        with("inputSchema", json!({ "type": "string" })),
        with("inputSchema", json!({ "type": "object", "required": 1 })),
        with("approval", both),
        with("approval", neither),
        with("approval", unknown),
        with(
            "approval",
            json!({ "kind": "file", "targetArgument": "minutes", "operation": "read" }),
        ),
        timer(),
    ] {
        let params = json!({ "identity": { "channelName": "test" }, "dynamicTools": [timer(), bad] });
        let error = client.error("thread/start", params).await;
        assert_eq!(error["code"], -32602, "{bad}");
        let detail = error["data"]["detail"].as_str().unwrap();
        assert!(detail.contains("dynamicTools[1]"), "{bad}: {detail}");
    }
    let listed = client
        .call("thread/list", json!({ "identity": { "channelName": "test" } }))
        .await;
    assert_eq!(listed["data"], json!([]));
}

/// 04 §7, the table of failure codes; the last two are not sent.
#[tokio::test]
async fn every_failure_has_its_code_and_the_turn_goes_on() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([timer()])).await;
    let text = "x".repeat(3 << 20);
    let answers = [
        (
            json!({ "error": { "code": -32601, "message": "no such method" } }),
            "DynamicToolClientError",
        ),
        (
            json!({ "result": { "success": "yes" } }),
            "DynamicToolInvalidResponse",
        ),
        (json!({ "result": [] }), "DynamicToolInvalidResponse"),
        (
            json!({ "result": { "success": true, "contentItems": [{ "type": "smell" }] } }),
            "DynamicToolInvalidResponse",
        ),
        (
            json!({ "result": { "success": true, "structuredResult": text } }),
            "DynamicToolInvalidResponse",
        ),
        (json!({ "result": { "success": false } }), "DynamicToolFailed"),
        (
            json!({ "result": { "success": false, "errorCode": "NoKettle", "errorMessage": "none" } }),
            "NoKettle",
        ),
    ];
    for (answer, code) in answers {
        client.start_turn(&id, FOUR).await;
        let asked = client.wait_for("item/tool/call").await;
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = asked["id"].clone();
        client.send_text(answer.to_string()).await;
        let ended = client.wait_for("turn/completed").await;
        let call = call_of(&ended);
        assert_eq!(
            (&call["errorCode"], &call["success"]),
            (&json!(code), &json!(false)),
            "{call}"
        );
        client.find("idle", is_idle).await;
    }
    for arguments in [r#"{"minutes": "four"}"#, r#"{"where": "there"}"#] {
        client
            .start_turn(&id, &format!("call `set_timer` with {arguments}"))
            .await;
        let seen = client.until("turn/completed").await;
        assert!(seen.iter().all(|message| message["method"] != "item/tool/call"));
        assert_eq!(call_of(seen.last().unwrap())["errorCode"], "InvalidArguments");
        client.find("idle", is_idle).await;
    }
}

/// 04: `item/tool/call` has 120 s.
#[tokio::test]
async fn a_call_without_an_answer_times_out_after_120_seconds() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([timer()])).await;
    client.start_turn(&id, FOUR).await;
    let asked = client.wait_for("item/tool/call").await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(119)).await;
    assert_eq!(server.threads.stats().live_threads, 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::time::resume();
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["errorCode"], "DynamicToolTimeout");
    // A late answer is ignored.
    client.reply(&asked, json!({ "success": true })).await;
    assert_eq!(client.error("no/such", json!({})).await["code"], -32601);
}

/// 01 §12, 02 §5.1.1: the tools end with the connection; the Turn goes on.
#[tokio::test]
async fn a_call_fails_when_its_client_leaves_and_the_tools_are_gone_for_the_next() {
    let server = server().await;
    let mut owner = server.client().await;
    let mut watcher = server.client().await;
    let id = start(&mut owner, json!([timer()])).await;
    watcher.call("thread/subscribe", json!({ "threadId": id })).await;
    owner.start_turn(&id, FOUR).await;
    owner.wait_for("item/tool/call").await;
    drop(owner);
    let ended = watcher.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["errorCode"], "DynamicToolUnavailable");
    watcher.find("idle", is_idle).await;
    watcher.start_turn(&id, FOUR).await;
    let seen = watcher.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != "item/tool/call"));
    assert_eq!(
        call_of(seen.last().unwrap())["errorCode"],
        "DynamicToolUnavailable"
    );
}

/// 02 §5.2: a resume binds the tools to its connection.
#[tokio::test]
async fn a_client_that_comes_back_and_resumes_serves_its_tools_again() {
    let server = server().await;
    let mut first = server.client().await;
    let id = start(&mut first, json!([timer()])).await;
    drop(first);
    let mut again = server.client().await;
    again.call("thread/resume", json!({ "threadId": id })).await;
    again.start_turn(&id, FOUR).await;
    let asked = again.wait_for("item/tool/call").await;
    again.reply(&asked, json!({ "success": true })).await;
    let ended = again.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["success"], true);
    // With other tools (a later addition of the protocol).
    let mut kettle = timer();
    kettle["name"] = json!("boil");
    again
        .call(
            "thread/resume",
            json!({ "threadId": id, "dynamicTools": [kettle] }),
        )
        .await;
    again.find("idle", is_idle).await;
    again.start_turn(&id, r#"call `boil` with {"minutes": 1}"#).await;
    let asked = again.wait_for("item/tool/call").await;
    assert_eq!(asked["params"]["tool"], "boil");
    again.reply(&asked, json!({ "success": true })).await;
    again.wait_for("turn/completed").await;
}

/// 04 §7: "the tools given in `thread/start.dynamicTools`": a client that only resumes the Thread did not give them.
#[tokio::test]
async fn a_client_that_resumes_without_tools_does_not_take_them_from_the_one_that_serves_them() {
    let server = server().await;
    let mut owner = server.client().await;
    let id = start(&mut owner, json!([timer()])).await;
    let mut viewer = server.client().await;
    viewer.call("thread/resume", json!({ "threadId": id })).await;
    viewer.start_turn(&id, FOUR).await;
    let asked = owner.wait_for("item/tool/call").await;
    owner.reply(&asked, json!({ "success": true })).await;
    let seen = viewer.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != "item/tool/call"));
    assert_eq!(call_of(seen.last().unwrap())["success"], true);
    viewer.find("idle", is_idle).await;
    // A client that declares its own tools replaces them.
    let tools = json!([timer()]);
    viewer
        .call("thread/resume", json!({ "threadId": id, "dynamicTools": tools }))
        .await;
    viewer.start_turn(&id, FOUR).await;
    let asked = viewer.wait_for("item/tool/call").await;
    viewer.reply(&asked, json!({ "success": true })).await;
    viewer.wait_for("turn/completed").await;
}

#[tokio::test]
async fn declarations_outlive_the_server() {
    let server = server().await;
    let mut first = server.client().await;
    let id = start(&mut first, json!([timer()])).await;
    drop(first);
    server.threads.stop().await;
    let threads = server
        .reopen_with(AgentEngine::new(std::sync::Arc::new(Offline), ToolSet::default()))
        .await;
    let mut again = Client::ready(Server::link_to(threads), "test", json!({})).await;
    again.call("thread/resume", json!({ "threadId": id })).await;
    again.start_turn(&id, FOUR).await;
    let asked = again.wait_for("item/tool/call").await;
    assert_eq!(asked["params"]["arguments"], json!({ "minutes": 4 }));
    again.reply(&asked, json!({ "success": true })).await;
    again.wait_for("turn/completed").await;
}

#[tokio::test]
async fn only_the_client_that_brought_a_tool_is_asked_to_run_it() {
    let server = server().await;
    let mut owner = server.client().await;
    let mut other = server.client().await;
    let id = start(&mut owner, json!([timer()])).await;
    other.call("thread/subscribe", json!({ "threadId": id })).await;
    other.start_turn(&id, FOUR).await;
    let asked = owner.wait_for("item/tool/call").await;
    owner.reply(&asked, json!({ "success": true })).await;
    let seen = other.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != "item/tool/call"));
    assert_eq!(call_of(seen.last().unwrap())["success"], true);
}

/// 04 §1: `remoteResource` needs an Approval; §7: a refused call is not sent.
#[tokio::test]
async fn a_declared_question_comes_before_the_call_and_a_no_keeps_it_back() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([asking("remoteResource", "set")])).await;
    client.start_turn(&id, THERE).await;
    let seen = client.until("item/approval/request").await;
    let started = seen.iter().any(|message| {
        message["method"] == "item/started" && message["params"]["item"]["type"] == "dynamicToolCall"
    });
    assert!(started, "the call's item comes first");
    let asked = seen.last().unwrap();
    let params = &asked["params"];
    assert_eq!(
        (&params["approvalType"], &params["operation"], &params["target"]),
        (&json!("remoteResource"), &json!("set"), &json!("pigeon:7"))
    );
    assert_eq!(params["scopeKey"], "remoteResource:set:pigeon:7");
    client.reply(asked, json!({ "decision": "decline" })).await;
    let seen = client.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != "item/tool/call"));
    assert_eq!(call_of(seen.last().unwrap())["errorCode"], "AccessDenied");
    client.find("idle", is_idle).await;
    client.start_turn(&id, THERE).await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let asked = client.wait_for("item/tool/call").await;
    client.reply(&asked, json!({ "success": true })).await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["success"], true);
}

/// 04 §1: the switch for paths outside the workspace applies to every tool.
#[tokio::test]
async fn a_file_outside_the_workspace_is_asked_about_or_refused_as_for_any_tool() {
    let server = server().await;
    let mut client = server.client().await;
    let write = |place: &str| format!("call `set_timer` with {{\"minutes\": 4, \"where\": \"{place}\"}}");
    let id = start(&mut client, json!([asking("file", "write")])).await;
    client.start_turn(&id, &write("inside.txt")).await;
    let seen = client.until("item/tool/call").await;
    assert!(
        seen.iter()
            .all(|message| message["method"] != "item/approval/request")
    );
    client
        .reply(seen.last().unwrap(), json!({ "success": true }))
        .await;
    client.find("idle", is_idle).await;
    client.start_turn(&id, &write("/etc/kettle.conf")).await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(
        (&asked["params"]["scopeKey"], &asked["params"]["target"]),
        (&json!("file:write:/etc/kettle.conf"), &json!("/etc/kettle.conf"))
    );
    client.reply(&asked, json!({ "decision": "decline" })).await;
    client.wait_for("turn/completed").await;
    client.find("idle", is_idle).await;
    for place in [".git/hooks/x", "/etc/kettle.conf"] {
        let config = json!({ "requireApprovalOutsideWorkspace": false });
        client
            .call(
                "thread/config/update",
                json!({ "threadId": id, "config": config }),
            )
            .await;
        client.start_turn(&id, &write(place)).await;
        let seen = client.until("turn/completed").await;
        let refused = |message: &Value| {
            message["method"] == "item/tool/call" || message["method"] == "item/approval/request"
        };
        assert!(!seen.iter().any(refused), "{place}");
        assert_eq!(
            call_of(seen.last().unwrap())["errorCode"],
            "AccessDenied",
            "{place}"
        );
        client.find("idle", is_idle).await;
    }
}

/// 03 §2.2: running calls are completed as cancelled before the Turn's end.
#[tokio::test]
async fn interrupting_ends_a_call_that_waits_for_its_client() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([timer()])).await;
    client.start_turn(&id, FOUR).await;
    let asked = client.wait_for("item/tool/call").await;
    client
        .call("turn/interrupt", json!({ "threadId": id, "turnId": "" }))
        .await;
    let ended = client.wait_for("turn/cancelled").await;
    assert_eq!(call_of(&ended)["errorCode"], "Cancelled");
    client.reply(&asked, json!({ "success": true })).await;
    assert_eq!(client.error("no/such", json!({})).await["code"], -32601);
}

/// ID-6: namespaces distinguish tools of the same name.
#[tokio::test]
async fn two_tools_of_one_name_are_called_by_their_namespaces() {
    let server = server().await;
    let mut client = server.client().await;
    let mut garden = timer();
    garden["namespace"] = json!("garden");
    let id = start(&mut client, json!([timer(), garden])).await;
    client
        .start_turn(&id, r#"call `garden_set_timer` with {"minutes": 4}"#)
        .await;
    let asked = client.wait_for("item/tool/call").await;
    assert_eq!(
        (&asked["params"]["namespace"], &asked["params"]["tool"]),
        (&json!("garden"), &json!("set_timer"))
    );
    client.reply(&asked, json!({ "success": true })).await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(call_of(&ended)["toolName"], "set_timer");
}

/// 02 §5.10: the effects of such a tool are unknown, so plan mode withholds it.
#[tokio::test]
async fn plan_mode_withholds_the_tools_of_clients() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([timer()])).await;
    client
        .call("thread/mode/set", json!({ "threadId": id, "mode": "plan" }))
        .await;
    client.start_turn(&id, FOUR).await;
    let seen = client.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != "item/tool/call"));
    assert_eq!(call_of(seen.last().unwrap())["errorCode"], "AccessDenied");
}

/// 04 §7, "Order in the turn", however many calls there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_never_comes_before_its_item() {
    let server = server().await;
    let mut client = server.client().await;
    let id = start(&mut client, json!([timer()])).await;
    let prompt = vec![FOUR; 20].join("\n");
    client.start_turn(&id, &prompt).await;
    let mut started = std::collections::HashSet::new();
    let mut called = 0;
    while called < 20 {
        let message = client.next().await.unwrap();
        let payload = &message["params"]["item"]["payload"];
        if message["method"] == "item/started" && message["params"]["item"]["type"] == "dynamicToolCall" {
            started.insert(payload["callId"].clone());
        } else if message["method"] == "item/tool/call" {
            assert!(started.contains(&message["params"]["callId"]), "{message}");
            client.reply(&message, json!({ "success": true })).await;
            called += 1;
        }
    }
    client.wait_for("turn/completed").await;
}
