//! Subagents as clients see them: announced, listed, asked for, closed, resumed, archived.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

/// Runs a Turn that has a subagent. Returns the two Threads and the messages.
async fn with_subagent(client: &mut Client, task: &str) -> (String, String, Vec<Value>) {
    let thread = client.start_thread().await;
    client
        .start_turn(&thread, &format!("spawn scout {task}\njoin"))
        .await;
    let mut seen = Vec::new();
    let mut child = None;
    loop {
        let message = client.next().await.expect("the connection stays");
        let params = &message["params"];
        if message["method"] == "thread/started" && params["thread"]["source"]["kind"] == "subagent" {
            child = params["thread"]["id"].as_str().map(str::to_owned);
        }
        let done = message["method"] == "turn/completed" && params["threadId"] == thread.as_str();
        seen.push(message);
        if done {
            return (thread, child.expect("a subagent was told of"), seen);
        }
    }
}

fn told<'a>(seen: &'a [Value], method: &str) -> Vec<&'a Value> {
    seen.iter()
        .filter(|message| message["method"] == method)
        .collect()
}

#[tokio::test]
async fn subagents_are_listed_closed_and_opened_again() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let initialized = client
        .error(
            "initialize",
            json!({ "clientInfo": { "name": "test", "version": "1" } }),
        )
        .await;
    assert_eq!(initialized["code"], -32003);
    let (parent, child, seen) = with_subagent(&mut client, "usage 80 6; say I looked").await;
    let changed = told(&seen, "subagent/graphChanged");
    let edge = json!({ "parentThreadId": parent, "childThreadId": child });
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0]["params"], edge);
    let progress = told(&seen, "subagent/progress");
    assert_eq!(
        progress.last().unwrap()["params"],
        json!({
            "threadId": parent,
            "turnId": "turn_001",
            "entries": [{
                "label": "scout",
                "currentTool": null,
                "inputTokens": 80,
                "outputTokens": 6,
                "isCompleted": true,
            }],
        })
    );
    let ended = &seen.last().unwrap()["params"]["turn"];
    assert_eq!(ended["tokenUsage"]["totalTokens"], 86, "{ended}");
    // Its own Items go to its subscribers.
    let foreign = |message: &&Value| {
        let method = message["method"].as_str().unwrap_or_default();
        (method.starts_with("item/") || method.starts_with("turn/"))
            && message["params"]["threadId"] == child.as_str()
    };
    assert_eq!(seen.iter().filter(foreign).count(), 0);

    let mut answers = Vec::new();
    let of = json!({ "parentThreadId": parent });
    answers.push(client.call("subagent/children/list", of.clone()).await);
    answers.push(client.call("subagent/close", edge.clone()).await);
    let again = client.wait_for("subagent/graphChanged").await;
    assert_eq!(again["params"], edge);
    answers.push(client.call("subagent/children/list", of.clone()).await);
    let all = json!({ "parentThreadId": parent, "includeClosed": true, "includeThreads": true });
    answers.push(client.call("subagent/children/list", all).await);
    answers.push(client.call("subagent/close", edge.clone()).await);
    answers.push(client.call("subagent/resume", edge).await);
    answers.push(
        client
            .error(
                "subagent/close",
                json!({ "parentThreadId": child, "childThreadId": child }),
            )
            .await,
    );
    answers.push(
        client
            .error("subagent/children/list", json!({ "parentThreadId": "nobody" }))
            .await,
    );
    insta::assert_snapshot!(server.redact(&answers));
}

#[tokio::test]
async fn the_capability_follows_the_settings() {
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let server = Server::start().await;
    let mut client = Client::new(server.link());
    let answer = client.call("initialize", info.clone()).await;
    assert_eq!(answer["capabilities"]["subAgentSessions"], true);
    let server = Server::with(|settings| settings.sub_agents.depth = 0).await;
    let mut client = Client::new(server.link());
    let answer = client.call("initialize", info).await;
    assert_eq!(answer["capabilities"]["subAgentSessions"], Value::Null);
}

#[tokio::test]
async fn lists_show_subagents_to_those_who_want_them() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let (parent, child, _) = with_subagent(&mut client, "say I looked").await;
    let ids = |listed: &Value| -> Vec<String> {
        let data = listed["data"].as_array().unwrap().iter();
        let mut ids: Vec<_> = data
            .map(|thread| thread["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let identity = json!({ "channelName": "test" });
    let plain = client.call("thread/list", json!({ "identity": identity })).await;
    assert_eq!(ids(&plain), std::slice::from_ref(&parent));
    let all = json!({ "identity": identity, "includeSubAgents": true });
    let listed = client.call("thread/list", all.clone()).await;
    let mut both = vec![parent.clone(), child.clone()];
    both.sort();
    assert_eq!(ids(&listed), both);

    // It is archived or deleted only with its parent.
    for method in ["thread/archive", "thread/unarchive", "thread/delete"] {
        let refused = client.error(method, json!({ "threadId": child })).await;
        assert_eq!(refused["code"], -32602, "{method}: {refused}");
    }
    client.call("thread/archive", json!({ "threadId": parent })).await;
    assert_eq!(
        ids(&client.call("thread/list", all.clone()).await),
        Vec::<String>::new()
    );
    client
        .call("thread/unarchive", json!({ "threadId": parent }))
        .await;
    assert_eq!(ids(&client.call("thread/list", all).await), both);
    let id = client
        .request("thread/delete", json!({ "threadId": parent }))
        .await;
    let mut deleted = Vec::new();
    let mut answered = false;
    while deleted.len() < 2 || !answered {
        let message = client.next().await.unwrap();
        answered |= message.get("method").is_none() && message["id"] == id;
        if message["method"] == "thread/deleted" {
            deleted.push(message["params"]["threadId"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(deleted, [child, parent]);
}

#[tokio::test]
async fn what_a_subagent_asks_is_answered_by_whoever_follows_the_root() {
    let server = Server::start().await;
    let capabilities = json!({ "approvalSupport": true });
    let mut starter = server.client_with(capabilities.clone()).await;
    let mut other = server.client_with(capabilities.clone()).await;
    let mut stranger = server.client_with(capabilities).await;
    let root = starter.start_thread().await;
    other.call("thread/subscribe", json!({ "threadId": root })).await;
    starter
        .start_turn(&root, "spawn scout ask boil; say boiled\njoin")
        .await;
    let asked = starter.wait_for("item/approval/request").await;
    let child = asked["params"]["threadId"].as_str().unwrap().to_owned();
    assert_ne!(child, root);
    assert_eq!(asked["params"]["operation"], "boil");
    let also = other.wait_for("item/approval/request").await;
    assert_eq!(also["params"]["requestId"], asked["params"]["requestId"]);
    // A client that comes later is asked the open questions.
    let mut late = server.client_with(json!({ "approvalSupport": true })).await;
    late.call("thread/subscribe", json!({ "threadId": root })).await;
    late.wait_for("item/approval/request").await;

    other.reply(&also, json!({ "decision": "accept" })).await;
    for client in [&mut starter, &mut other, &mut late] {
        let told = client.wait_for("item/approval/resolved").await;
        assert_eq!(told["params"]["threadId"], child.as_str());
        assert_eq!(told["params"]["item"]["payload"]["decision"], "accept");
    }
    let ended = starter.wait_for("turn/completed").await;
    let text = ended["params"]["turn"]["items"].to_string();
    assert!(text.contains("boiled"), "{text}");
    assert_eq!(server.engine.effects(), ["boil"]);
    // A client that follows neither is notified that it waits, and is not asked.
    stranger
        .find("it waited", |message| {
            message["method"] == "thread/runtimeChanged"
                && message["params"]["threadId"] == child.as_str()
                && message["params"]["runtime"]["waitingOnApproval"] == true
        })
        .await;
    while stranger.unread() > 0 {
        let message = stranger.next().await.unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        assert!(!method.starts_with("item/"), "{message}");
    }
}

#[tokio::test]
async fn a_repeated_close_leaves_alone_what_began_since() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let (parent, child, _) = with_subagent(&mut client, "say I looked").await;
    let edge = json!({ "parentThreadId": parent, "childThreadId": child });
    let mut named = edge.clone();
    named["clientRequestId"] = json!("close");
    let closed = client.call("subagent/close", named.clone()).await;
    client.call("subagent/resume", edge).await;
    client.start_turn(&child, "hang").await;
    let again = client.call("subagent/close", named).await;
    assert_eq!(again, closed);
    let all = json!({ "parentThreadId": parent, "includeThreads": true });
    let listed = client.call("subagent/children/list", all).await;
    let found = &listed["data"][0];
    assert_eq!(
        found["thread"]["runtime"]["running"], true,
        "open, and at work: {listed}"
    );
    client
        .call("turn/interrupt", json!({ "threadId": child, "turnId": "" }))
        .await;
}

#[tokio::test]
async fn a_refused_deletion_stops_and_deletes_nothing() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let (parent, child, _) = with_subagent(&mut client, "say I looked").await;
    let rename = json!({ "threadId": parent, "displayName": "tea", "clientRequestId": "name" });
    client.call("thread/rename", rename).await;
    let turn = client.start_turn(&parent, "hang").await;
    for method in ["thread/delete", "thread/archive"] {
        // The name belongs to another request.
        let request = json!({ "threadId": parent, "clientRequestId": "name" });
        client.error(method, request).await;
    }
    let of = json!({ "parentThreadId": parent });
    let listed = client.call("subagent/children/list", of).await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    let read = client.call("thread/read", json!({ "threadId": child })).await;
    assert_eq!(read["thread"]["status"], "active");
    // It runs, or this would be refused.
    let stop = json!({ "threadId": parent, "turnId": turn });
    client.call("turn/interrupt", stop).await;
    client.wait_for("turn/cancelled").await;
}

#[tokio::test]
async fn a_subagent_is_given_messages_and_tasks_by_its_path() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({ "appBindingVersion": 1 })).await;
    let (parent, child, _) = with_subagent(&mut client, "say I looked").await;
    client
        .call("thread/subscribe", json!({ "threadId": child }))
        .await;
    let all = json!({ "parentThreadId": parent, "includeClosed": true });
    let edge = client.call("subagent/children/list", all).await["data"][0]["edge"].clone();
    assert_eq!(
        (
            &edge["agentPath"],
            &edge["taskName"],
            &edge["supportsSendMessage"]
        ),
        (&json!("/root/scout"), &json!("scout"), &json!(true))
    );
    let give = |target: &str, message: &str| json!({ "parentThreadId": parent, "target": target, "message": message });
    // A message starts nothing.
    let sent = client
        .call("subagent/sendMessage", give("scout", "say and the jar"))
        .await;
    assert_eq!(
        (&sent["status"], &sent["agentPath"], &sent["childThreadId"]),
        (&json!("sent"), &json!("/root/scout"), &json!(child))
    );
    let news = client.wait_for("thread/queue/updated").await;
    assert_eq!(news["params"]["queuedInputs"][0]["status"], "guidancePending");
    let read = client.call("thread/read", json!({ "threadId": child })).await;
    assert_eq!(read["thread"]["runtime"]["running"], false);
    // The next Turn gets it.
    let given = client
        .call("subagent/followupTask", give("/root/scout", "wait\nlisten"))
        .await;
    assert_eq!(
        (&given["status"], &given["taskName"]),
        (&json!("running"), &json!("scout"))
    );
    let started = client.wait_for("turn/started").await;
    let said = client
        .find("the task", |message| {
            message["method"] == "item/completed" && message["params"]["item"]["type"] == "userMessage"
        })
        .await;
    assert_eq!(
        said["params"]["item"]["payload"]["triggerKind"],
        "subagentFollowupTask"
    );
    let mut later = give(&child, "say later");
    assert_eq!(
        client.call("subagent/followupTask", later.clone()).await["status"],
        "queued"
    );
    later["deliveryMode"] = json!("steer");
    later["message"] = json!("say now");
    let steered = client.call("subagent/followupTask", later).await;
    assert_eq!(steered["status"], "guidancePending");
    server.engine.release();
    let seen = client.until("turn/completed").await;
    let turn = &started["params"]["turn"]["id"];
    let guided: Vec<_> = seen
        .iter()
        .filter(|message| message["method"] == "item/completed")
        .map(|message| &message["params"])
        .filter(|params| params["item"]["payload"]["deliveryMode"] == "guidance")
        .map(|params| (&params["turnId"], &params["item"]["payload"]["text"]))
        .collect();
    assert_eq!(
        guided,
        [(turn, &json!("say and the jar")), (turn, &json!("say now"))]
    );
    client.wait_for("turn/completed").await;
    for (method, target, message, code) in [
        ("subagent/sendMessage", "/root", "x", -32602),
        ("subagent/sendMessage", " ", "x", -32602),
        ("subagent/sendMessage", "scout", " ", -32602),
        ("subagent/followupTask", "/root/nobody", "x", -32010),
        ("subagent/followupTask", "/elsewhere/scout", "x", -32010),
    ] {
        let error = client.error(method, give(target, message)).await;
        assert_eq!(error["code"], code, "{method} {target}");
    }
    let close = json!({ "parentThreadId": parent, "target": "scout" });
    let closed = client.call("subagent/close", close.clone()).await;
    assert_eq!(
        (
            &closed["status"],
            &closed["supportsSendMessage"],
            &closed["agentPath"]
        ),
        (&json!("closed"), &json!(false), &json!("/root/scout"))
    );
    client.wait_for("subagent/graph/changed").await;
    let error = client.error("subagent/sendMessage", give("scout", "x")).await;
    assert_eq!(error["code"], -32602, "it is closed");
    let mut both = close;
    both["childThreadId"] = json!(child);
    assert_eq!(client.error("subagent/close", both).await["code"], -32602);
}
