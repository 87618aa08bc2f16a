//! Clients of today against the binary: one written from the page of the protocol alone, and many beside those of May.

use std::collections::HashMap;

use bobbin_testkit::{Client, Link, ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};

use crate::support::{Workspace, rich};

/// What the desktop of today declares.
fn desktop() -> Value {
    json!({
        "appBindingVersion": 1, "requestUserInputSupport": true, "approvalSupport": true, "configChange": true,
        "mcpElicitation": true, "toolExecutionLifecycle": true,
    })
}

fn said(text: &str) -> Reply {
    Reply::of([Part::Text(text.into())])
}

fn calls(tool: &str, arguments: Value) -> Reply {
    Reply::of([Part::Call(ScriptedCall {
        id: format!("call_{tool}"),
        tool: tool.to_owned(),
        arguments,
    })])
}

fn is_idle(message: &Value) -> bool {
    message["method"] == "thread/status/changed" && message["params"]["runtime"]["running"] == false
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one conversation from recognition to compaction"
)]
async fn a_client_of_today_lives_from_the_page_alone() {
    let long = "tea ".repeat(9_000);
    let script = Script {
        replies: vec![
            calls(
                "AskUser",
                json!({ "question": "Which leaf?", "options": [{ "label": "Green" }, { "label": "Black" }] }),
            ),
            calls("Exec", json!({ "command": "make tea" })),
            said(&long),
            Reply {
                pace_ms: 40,
                ..Reply::of([
                    Part::Text("one two three four five six seven eight nine ten".into()),
                    Part::Call(ScriptedCall {
                        id: "call_look".into(),
                        tool: "ReadFile".into(),
                        arguments: json!({ "path": "tea.txt" }),
                    }),
                ])
            },
            said("Less sugar it is."),
            said("Milk."),
            said("They spoke of tea."),
        ],
        counts: true,
        aside: None,
        ..Script::default()
    };
    let model = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    let config = json!({
        "Model": "script/m", "Titles": { "Enabled": false },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": model.base_url(), "ContextWindow": 20_000 } },
    });
    std::fs::create_dir_all(workspace.path().join(".craft")).unwrap();
    std::fs::write(workspace.path().join(".craft/config.json"), config.to_string()).unwrap();
    std::fs::write(workspace.path().join("tea.txt"), "Green\n").unwrap();
    let server = workspace.web_socket();

    // Recognition.
    let mut client = Client::new(Link::web_socket(&server.address().await).await);
    let hello =
        json!({ "clientInfo": { "name": "kettle-desk", "version": "0.8.2" }, "capabilities": desktop() });
    let initialized = client.call("initialize", hello).await;
    let capabilities = &initialized["capabilities"];
    for flag in [
        "threadManagement",
        "threadSubscriptions",
        "threadFork",
        "requestUserInput",
        "manualCompaction",
        "threadMaintenanceInterrupt",
        "workspaceConfigManagement",
        "usageTelemetry",
        "hooksManagement",
        "automations",
        "toolCatalog",
        "pluginManagement",
        "mcpManagement",
        "mcpRuntime",
        "mcpElicitation",
        "externalChannelManagement",
        "subAgentSessions",
    ] {
        assert_eq!(capabilities[flag], true, "{flag}");
    }
    assert!(capabilities.get("appBindingVersion").is_none());
    client.notify("initialized", json!({})).await;

    // A Thread, a question and an approval.
    let identity = json!({ "channelName": "desk", "userId": "ada" });
    let started = client.call("thread/start", json!({ "identity": identity })).await;
    assert!(started["instructionSources"].is_array());
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    let here = json!({ "threadId": thread });
    client.call("thread/subscribe", here.clone()).await;
    client.start_turn(&thread, "Make tea.").await;
    let asked = client.wait_for("item/tool/requestUserInput").await;
    let question = &asked["params"]["questions"][0];
    assert_eq!(
        (&question["question"], &question["isOther"]),
        (&json!("Which leaf?"), &json!(true))
    );
    let answer = json!({ "answers": { question["id"].as_str().unwrap(): { "answers": ["Green"] } } });
    client.reply(&asked, answer).await;
    let asked = client.wait_for("item/approval/request").await;
    assert!(asked["params"]["expiresAt"].is_string());
    assert!(!asked["params"]["scopeKey"].as_str().unwrap().ends_with(":*"));
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.find("the end of the Turn", is_idle).await;
    assert!(
        model.asked()[1].body.to_string().contains("Green"),
        "the model reads the answer"
    );

    // Steering the running Turn, with two inputs behind it in another order.
    let turn = client.start_turn(&thread, "Count.").await;
    client.wait_for("item/agentMessage/delta").await;
    let input = |text: &str| json!([{ "type": "text", "text": text }]);
    let steer = json!({
        "threadId": thread, "expectedTurnId": turn, "input": input("less sugar"), "clientUserMessageId": "u-7",
    });
    assert_eq!(client.call("turn/steer", steer).await["turnId"], json!(turn));
    let mut queued = Vec::new();
    for text in ["milk", "cream"] {
        let entry = client
            .call(
                "turn/enqueue",
                json!({ "threadId": thread, "input": input(text) }),
            )
            .await;
        queued.push(entry["queuedInput"]["id"].clone());
    }
    let whole = client.call("thread/read", here.clone()).await;
    let ids: Vec<Value> = whole["thread"]["queuedInputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].clone())
        .collect();
    let order: Vec<&Value> = ids.iter().rev().collect();
    let reorder = json!({ "threadId": thread, "orderedQueuedInputIds": order });
    let reordered = client.call("turn/queue/reorder", reorder).await;
    assert_eq!(reordered["queuedInputs"][0]["id"], queued[1]);
    client
        .call(
            "turn/queue/remove",
            json!({ "threadId": thread, "queuedInputId": queued[1] }),
        )
        .await;
    let guided = client
        .find("the guidance", |message| {
            message["method"] == "item/completed"
                && message["params"]["item"]["payload"]["deliveryMode"] == "guidance"
        })
        .await;
    assert_eq!(guided["params"]["item"]["payload"]["clientUserMessageId"], "u-7");
    client
        .find("the queued Turn", |message| {
            message["method"] == "turn/completed" && message["params"]["turn"]["id"] == "turn_003"
        })
        .await;
    client.find("the end of the Turn", is_idle).await;

    // The history, page by page back to the first Turn, and a copy of its beginning.
    let mut turns = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = json!({ "threadId": thread, "cursor": cursor, "limit": 2, "sortDirection": "descending" });
        let page = client.call("thread/turns/list", page).await;
        turns.extend(
            page["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| turn["id"].clone()),
        );
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(turns, ["turn_003", "turn_002", "turn_001"]);
    let items =
        json!({ "threadId": thread, "turnId": "turn_001", "limit": 500, "sortDirection": "ascending" });
    let items = client.call("thread/items/list", items).await;
    let kinds: Vec<&str> = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["item"]["type"].as_str().unwrap())
        .collect();
    for kind in [
        "userMessage",
        "userInputRequest",
        "userInputResponse",
        "approvalRequest",
        "approvalResponse",
    ] {
        assert!(kinds.contains(&kind), "{kind} of {kinds:?}");
    }
    let fork =
        json!({ "threadId": thread, "forkPoint": { "turnId": "turn_001" }, "displayName": "Second pot" });
    let forked = client.call("thread/fork", fork).await;
    assert_eq!(forked["thread"]["forkedFromId"], json!(thread));
    let found = client
        .call(
            "thread/list",
            json!({ "identity": {}, "scope": "workspace", "includeSubAgents": true }),
        )
        .await;
    assert_eq!(found["totalMatched"], 2);

    // Settings, servers and compaction.
    let write = json!({ "keyPath": "Sandbox.Network", "value": false, "mergeStrategy": "replace" });
    assert_eq!(client.call("config/value/write", write).await["status"], "ok");
    let read = client.call("config/read", json!({ "includeLayers": true })).await;
    assert_eq!(read["config"]["Model"], "script/m");
    assert_eq!(
        client.call("mcp/status/list", json!({})).await,
        json!({ "servers": [] })
    );
    let compacted = client.call("thread/compact/start", here.clone()).await;
    assert_eq!(compacted["outcome"], "partial", "{compacted}");
    let usage = client.call("usage/summary", json!({})).await;
    assert_eq!(
        (&usage["totalToolCalls"], &usage["totalContextCompactions"]),
        (&json!(3), &json!(1))
    );
    let lost = client
        .error("thread/read", json!({ "threadId": "nowhere" }))
        .await;
    assert_eq!(lost["data"]["code"], "ThreadNotFound");
    server.kill().await;
    drop(client.finish().await);
}

/// Threads, and clients of them.
const THREADS: usize = 20;
const CLIENTS: usize = 50;
/// Turns of each Thread.
const TURNS: usize = 3;

/// What a client has seen of its Thread.
#[derive(Default)]
struct Seen {
    completed: HashMap<String, usize>,
    items: HashMap<String, usize>,
    old: usize,
    new: usize,
}

impl Seen {
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("turn/completed") => {
                let id = params["turn"]["id"].as_str().unwrap();
                *self.completed.entry(id.to_owned()).or_default() += 1;
            }
            Some("item/completed") => {
                let item = format!("{} {}", params["turnId"], params["item"]["id"]);
                *self.items.entry(item).or_default() += 1;
            }
            Some("thread/runtimeChanged") => self.old += 1,
            Some("thread/status/changed") => self.new += 1,
            _ => {}
        }
    }
}

/// Follows a Thread to the end of its last Turn and says yes to what is asked.
async fn follow(mut client: Client, last: String) -> Seen {
    let mut seen = Seen::default();
    while !seen.completed.contains_key(&last) {
        let message = client.next().await.expect("the connection stays");
        seen.note(&message);
        if message["method"] == "item/approval/request" {
            client.reply(&message, json!({ "decision": "accept" })).await;
        }
    }
    // Both names of the end come together.
    for message in client.finish().await {
        seen.note(&message);
    }
    seen
}

#[tokio::test]
async fn fifty_clients_of_both_generations_lose_and_double_nothing() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let generation = |index: usize| {
        if index.is_multiple_of(2) {
            desktop()
        } else {
            rich()
        }
    };
    let mut threads = Vec::new();
    let mut starters = Vec::new();
    for index in 0..THREADS {
        let mut client = server
            .client_with(&format!("starter{index}"), generation(index))
            .await;
        let thread = client.start_thread().await;
        client
            .call("thread/subscribe", json!({ "threadId": thread }))
            .await;
        threads.push(thread);
        starters.push(client);
    }
    let mut followers = Vec::new();
    for index in THREADS..CLIENTS {
        let mut client = server
            .client_with(&format!("follower{index}"), generation(index))
            .await;
        let thread = &threads[index % THREADS];
        client
            .call("thread/subscribe", json!({ "threadId": thread }))
            .await;
        followers.push(client);
    }
    let last = format!("turn_{TURNS:03}");
    let mut tasks = Vec::new();
    for (index, client) in followers.into_iter().enumerate() {
        // Every fifth loses its connection in the middle.
        if index % 5 == 0 {
            tokio::spawn(async move {
                let mut client = client;
                client.wait_for("item/approval/request").await;
                drop(client);
            });
        } else {
            tasks.push((index, tokio::spawn(follow(client, last.clone()))));
        }
    }
    let runs = starters.into_iter().zip(&threads).map(|(mut client, thread)| {
        let thread = thread.clone();
        tokio::spawn(async move {
            for _ in 0..TURNS {
                client.start_turn(&thread, "run `make tea`").await;
                loop {
                    let message = client.next().await.expect("the connection stays");
                    if message["method"] == "item/approval/request" {
                        client.reply(&message, json!({ "decision": "accept" })).await;
                    }
                    let is_idle = message["method"] == "thread/runtimeChanged"
                        && message["params"]["runtime"]["running"] == false
                        && message["params"]["threadId"] == thread.as_str();
                    if is_idle {
                        break;
                    }
                }
            }
            client
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    for (index, task) in tasks {
        let seen = task.await.unwrap();
        assert_eq!(seen.completed.len(), TURNS, "client {index}");
        let doubled = seen
            .completed
            .values()
            .chain(seen.items.values())
            .any(|count| *count > 1);
        assert!(!doubled, "client {index} got something twice");
        let is_today = (index + THREADS).is_multiple_of(2);
        assert_eq!(seen.new, if is_today { seen.old } else { 0 }, "client {index}");
    }
    let mut reader = server.client_with("reader", desktop()).await;
    for thread in &threads {
        let list = reader
            .call("thread/turns/list", json!({ "threadId": thread }))
            .await;
        let turns = list["data"].as_array().unwrap();
        assert!(
            turns.len() == TURNS && turns.iter().all(|turn| turn["status"] == "completed"),
            "{list}"
        );
    }
    server.kill().await;
}
