//! Behaviour that clients in use depend on; each case was observed.

use std::collections::HashMap;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or("answer")
}

/// Terminal clients and desktops show Deltas of text and arguments, and ignore the text of a completed Item.
#[tokio::test]
async fn a_replay_from_the_store_gives_whole_texts_as_pieces_and_begins_with_a_turn() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    for text in ["say earlier", "think first\nsay Hi there\nbreak tea\nsay done"] {
        client.start_turn(&id, text).await;
        client.until("turn/completed").await;
    }
    server.threads.stop().await;
    let threads = server.reopen().await;
    let mut late = Client::ready(Server::link_to(threads), "late", json!({})).await;
    let again = json!({ "threadId": id, "replayRecent": true });
    late.call("thread/subscribe", again).await;
    let seen = late.until("turn/completed").await;
    assert_eq!(method(&seen[0]), "turn/started", "{seen:#?}");
    assert_eq!(seen[0]["params"]["turn"]["id"], "turn_002");
    let (mut pieces, mut texts) = (HashMap::<String, String>::new(), 0);
    for message in &seen[1..] {
        let (params, item) = (&message["params"], &message["params"]["item"]);
        let key = item["id"]
            .as_str()
            .or(params["itemId"].as_str())
            .unwrap_or_default();
        match method(message) {
            "item/started" => {
                pieces.insert(key.to_owned(), String::new());
                if item["type"] == "toolCall" {
                    assert_eq!(item["payload"]["arguments"]["command"], "tea", "{message}");
                }
            }
            "item/agentMessage/delta" | "item/reasoning/delta" => {
                let known = pieces.get_mut(key).expect("a piece of what was started");
                assert_eq!(known, "", "one piece: {message}");
                known.push_str(params["delta"].as_str().unwrap());
            }
            "item/completed" => {
                let known = &pieces[key];
                if ["agentMessage", "reasoningContent"].contains(&item["type"].as_str().unwrap()) {
                    assert_eq!(item["payload"]["text"], known.as_str());
                    texts += 1;
                }
            }
            _ => {}
        }
    }
    assert_eq!(texts, 3, "{seen:#?}");
}

/// A desktop accepts no answer to an Approval in a Thread without a Turn of status `running`.
#[tokio::test]
async fn a_turn_that_waits_for_an_answer_runs_for_clients_that_read_by_no_number() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut other = server.client_with(json!({ "eventCursors": true })).await;
    let id = client.start_thread().await;
    client.start_turn(&id, "ask make tea").await;
    let asked = client.wait_for("item/approval/request").await;
    let target = json!({ "threadId": id, "includeTurns": true });
    for (client, status) in [(&mut client, "running"), (&mut other, "waitingApproval")] {
        let read = client.call("thread/read", target.clone()).await;
        assert_eq!(read["thread"]["turns"][0]["status"], status);
        assert_eq!(read["thread"]["runtime"]["waitingOnApproval"], true);
    }
    client.reply(&asked, json!({ "decision": "decline" })).await;
    client.wait_for("turn/completed").await;
}

/// A desktop reads a Thread and subscribes to it at once, and drops questions that come before it has read.
#[tokio::test]
async fn an_open_question_is_asked_again_behind_the_answers_to_what_came_with_the_subscription() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let target = json!({ "threadId": id, "includeTurns": true });
    client.call("thread/subscribe", target.clone()).await;
    client.start_turn(&id, "ask make tea").await;
    client.wait_for("item/approval/request").await;
    client.call("thread/unsubscribe", target.clone()).await;
    let late = server.client().await;
    for mut client in [client, late] {
        let requests = [
            client.request("thread/subscribe", target.clone()).await,
            client.request("thread/read", target.clone()).await,
        ];
        let mut order = Vec::new();
        let asked = loop {
            let message = client.next().await.unwrap();
            match method(&message) {
                "item/approval/request" => break message,
                "answer" => order.push(message["id"].as_i64().unwrap()),
                _ => {}
            }
        };
        order.sort_unstable();
        assert_eq!(order, requests);
        assert_eq!(asked["params"]["operation"], "make tea");
    }
}

/// 01 §8.1.
#[tokio::test]
async fn the_answer_to_a_deletion_comes_before_what_it_causes() {
    for subagent in [false, true] {
        let server = Server::start().await;
        let mut client = server.client().await;
        let mut watcher = server.client().await;
        let id = client.start_thread().await;
        let mut threads = 1;
        if subagent {
            client.start_turn(&id, "spawn scout say I looked\njoin").await;
            client
                .find("the end of the parent's turn", |message| {
                    method(message) == "turn/completed" && message["params"]["threadId"] == id.as_str()
                })
                .await;
            threads = 2;
        }
        client.start_turn(&id, "hang").await;
        client
            .find("it runs", |message| {
                method(message) == "item/started" && message["params"]["turnId"] != "turn_000"
            })
            .await;
        while client.unread() > 0 {
            client.next().await;
        }
        let request = client.request("thread/delete", json!({ "threadId": id })).await;
        let mut caused = Vec::new();
        let mut deleted = 0;
        let mut answered = false;
        while deleted < threads {
            let message = client.next().await.unwrap();
            answered |= message["id"] == request;
            if let cause @ ("turn/cancelled" | "thread/deleted") = method(&message) {
                assert!(answered, "{message} came before the answer");
                deleted += usize::from(cause == "thread/deleted");
                caused.push(cause.to_owned());
            }
        }
        assert_eq!(caused[0], "turn/cancelled", "{caused:?}");
        // Other clients need not wait for the answer.
        watcher.wait_for("thread/deleted").await;
    }
}
