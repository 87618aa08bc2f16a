//! Requests with a `clientRequestId`: a repeated one is answered, but not executed again.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

fn input(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

#[tokio::test]
async fn a_thread_is_started_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let request = json!({ "identity": { "channelName": "test" }, "clientRequestId": "one" });
    let first = client.call("thread/start", request.clone()).await;
    let mut other = server.client().await;
    assert_eq!(other.call("thread/start", request).await, first);
    let list = client
        .call("thread/list", json!({ "identity": { "channelName": "test" } }))
        .await;
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_turn_is_started_once_even_across_a_restart() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let request = json!({ "threadId": thread, "input": input("call brew"), "clientRequestId": "brew" });
    let first = client.call("turn/start", request.clone()).await;
    client.wait_for("turn/completed").await;
    let again = client.call("turn/start", request.clone()).await;
    assert_eq!(again, first);
    // A connection that does not follow the Thread gets the Turn of its request.
    let mut other = server.client().await;
    assert_eq!(other.call("turn/start", request.clone()).await, first);
    let shown = other.until("turn/completed").await;
    assert!(shown.iter().any(|message| message["method"] == "turn/started"));
    server.threads.stop().await;
    let threads = server.reopen().await;
    let mut late = Client::ready(Server::link_to(threads.clone()), "late", json!({})).await;
    assert_eq!(late.call("turn/start", request).await, first);
    let read = late
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    assert_eq!(server.engine.effects(), ["brew"]);
    threads.stop().await;
}

#[tokio::test]
async fn asking_again_for_a_turn_that_ended_does_not_follow_later_ones() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let request = json!({ "threadId": thread, "input": input("say one"), "clientRequestId": "one" });
    let first = client.call("turn/start", request.clone()).await;
    client.wait_for("turn/completed").await;
    assert_eq!(client.call("turn/start", request).await, first);
    client
        .call("thread/unsubscribe", json!({ "threadId": thread }))
        .await;
    let mut other = server.client().await;
    other.start_turn(&thread, "say two").await;
    other.wait_for("turn/completed").await;
    client
        .find("idle again", |m| m["params"]["runtime"]["running"] == false)
        .await;
    while client.unread() > 0 {
        let message = client.next().await.unwrap();
        assert_ne!(message["params"]["turnId"], "turn_002", "{message}");
        assert_ne!(message["params"]["turn"]["id"], "turn_002", "{message}");
    }
}

#[tokio::test]
async fn an_input_is_queued_and_taken_back_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "hang").await;
    let request = json!({ "threadId": thread, "input": input("later"), "clientRequestId": "q" });
    let first = client.call("turn/enqueue", request.clone()).await;
    assert_eq!(client.call("turn/enqueue", request).await, first);
    assert_eq!(first["queuedInputs"].as_array().unwrap().len(), 1);
    let id = &first["queuedInput"]["id"];
    let request = json!({ "threadId": thread, "queuedInputId": id, "clientRequestId": "r" });
    let first = client.call("turn/queue/remove", request.clone()).await;
    assert_eq!(client.call("turn/queue/remove", request).await, first);
}

#[tokio::test]
async fn turns_are_rolled_back_once_and_an_input_steers_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    for text in ["say one", "say two", "say three"] {
        client.start_turn(&thread, text).await;
        client.wait_for("turn/completed").await;
    }
    let request = json!({ "threadId": thread, "numTurns": 1, "clientRequestId": "b" });
    let first = client.call("thread/rollback", request.clone()).await;
    assert_eq!(first["thread"]["turns"].as_array().unwrap().len(), 2);
    assert_eq!(client.call("thread/rollback", request).await, first);

    let turn = client.start_turn(&thread, "hang").await;
    let request = json!({ "threadId": thread, "input": input("later") });
    let entry = client.call("turn/enqueue", request).await["queuedInput"]["id"].clone();
    let request = json!({
        "threadId": thread, "expectedTurnId": turn, "queuedInputId": entry, "clientRequestId": "s",
    });
    let first = client.call("turn/steer", request.clone()).await;
    assert_eq!(first["queuedInputs"][0]["status"], "guidancePending");
    assert_eq!(client.call("turn/steer", request).await, first);
}

#[tokio::test]
async fn changes_of_a_thread_are_made_once_and_not_again_after_others() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let rename =
        |name: &str, id: &str| json!({ "threadId": thread, "displayName": name, "clientRequestId": id });
    for (name, id) in [("Tea", "1"), ("Coffee", "2"), ("Tea", "1")] {
        client.call("thread/rename", rename(name, id)).await;
    }
    let read = client.call("thread/read", json!({ "threadId": thread })).await;
    assert_eq!(read["thread"]["displayName"], "Coffee");
    // A request that changed nothing counts as executed too.
    for (name, id) in [("Coffee", "3"), ("Cocoa", "4"), ("Coffee", "3")] {
        client.call("thread/rename", rename(name, id)).await;
    }
    let read = client.call("thread/read", json!({ "threadId": thread })).await;
    assert_eq!(read["thread"]["displayName"], "Cocoa");
    for method in [
        "thread/archive",
        "thread/unarchive",
        "thread/pause",
        "thread/resume",
        "thread/delete",
    ] {
        let request = json!({ "threadId": thread, "clientRequestId": method });
        let first = client.call(method, request.clone()).await;
        let again = client.call(method, request).await;
        if method != "thread/resume" {
            assert_eq!(again, first, "{method}");
        }
    }
}

#[tokio::test]
async fn a_stop_is_asked_for_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let turn = client.start_turn(&thread, "hang").await;
    let request = json!({ "threadId": thread, "turnId": turn, "clientRequestId": "stop" });
    client.call("turn/interrupt", request.clone()).await;
    client.wait_for("turn/cancelled").await;
    // Without the name the answer would be that nothing runs.
    client.call("turn/interrupt", request).await;
}

#[tokio::test]
async fn a_name_used_for_something_else_is_refused_and_nothing_is_done() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let rename = |name: &str| json!({ "threadId": thread, "displayName": name, "clientRequestId": "n" });
    client.call("thread/rename", rename("Tea")).await;
    let error = client.error("thread/rename", rename("Coffee")).await;
    assert_eq!(
        (&error["code"], &error["data"]["reason"]),
        (&json!(-32602), &json!("clientRequestIdReused"))
    );
    let start = |channel: &str| json!({ "identity": { "channelName": channel }, "clientRequestId": "s" });
    client.call("thread/start", start("a")).await;
    let error = client.error("thread/start", start("b")).await;
    assert_eq!(error["data"]["reason"], "clientRequestIdReused");
}

#[tokio::test]
async fn what_was_refused_is_decided_anew() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "hang").await;
    let request = json!({ "threadId": thread, "input": input("say hi"), "clientRequestId": "hi" });
    let error = client.error("turn/start", request.clone()).await;
    assert_eq!(error["code"], -32012);
    let stop = json!({ "threadId": thread, "turnId": "" });
    client.call("turn/interrupt", stop).await;
    client.wait_for("turn/cancelled").await;
    let started = client.call("turn/start", request).await;
    assert_eq!(started["turn"]["id"], "turn_002");
}

/// More than a client that is behind reads back.
fn much() -> String {
    "flood 1\n".repeat(10)
}

#[tokio::test]
async fn repeating_the_start_of_a_long_turn_goes_on_with_what_comes() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let text = format!("{}say filled\nwait\nsay done", much());
    let request = json!({ "threadId": thread, "input": input(&text), "clientRequestId": "long" });
    let first = client.call("turn/start", request.clone()).await;
    client
        .find("the text", |m| m["params"]["item"]["payload"]["text"] == "filled")
        .await;
    let mut again = server.client().await;
    assert_eq!(again.call("turn/start", request.clone()).await, first);
    // A connection that was closed would not answer this.
    again.call("channel/list", json!({})).await;
    server.engine.release();
    let ended = again.wait_for("turn/completed").await;
    assert_eq!(ended["params"]["turn"]["id"], first["turn"]["id"]);
    client.wait_for("turn/completed").await;
    // After the end there is no Turn to follow.
    let mut late = server.client().await;
    assert_eq!(late.call("turn/start", request).await, first);
    late.call("channel/list", json!({})).await;
    client.start_turn(&thread, "say another").await;
    client.wait_for("turn/completed").await;
    late.find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    late.call("channel/list", json!({})).await;
    while late.unread() > 0 {
        let message = late.next().await.unwrap();
        assert_eq!(message["params"]["turnId"], Value::Null, "{message}");
    }
}

#[tokio::test]
async fn a_replay_that_is_too_much_begins_with_what_comes() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, &much()).await;
    client.wait_for("turn/completed").await;
    let mut late = server.client().await;
    let target = json!({ "threadId": thread, "replayRecent": true });
    late.call("thread/subscribe", target).await;
    late.call("channel/list", json!({})).await;
    client.start_turn(&thread, "say more").await;
    let ended = late.wait_for("turn/completed").await;
    assert_eq!(ended["params"]["turn"]["id"], "turn_002");
}

#[tokio::test]
async fn repeating_a_resume_tells_of_it_once_and_of_nothing_since() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let request = json!({ "threadId": thread, "clientRequestId": "r" });
    client.call("thread/resume", request.clone()).await;
    client.wait_for("thread/resumed").await;
    client.start_turn(&thread, "say one").await;
    client.wait_for("turn/completed").await;
    let mut other = server.client().await;
    other.call("thread/resume", request).await;
    other.wait_for("thread/resumed").await;
    other.call("channel/list", json!({})).await;
    while other.unread() > 0 {
        let message = other.next().await.unwrap();
        assert_eq!(message["params"]["threadId"], Value::Null, "{message}");
    }
}

#[tokio::test]
async fn repeating_what_changed_a_queue_does_not_tell_the_old_queue_as_news() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let turn = client.start_turn(&thread, "wait").await;
    let queued = json!({ "threadId": thread, "input": input("later"), "clientRequestId": "q" });
    let first = client.call("turn/enqueue", queued.clone()).await;
    let entry = &first["queuedInput"]["id"];
    let steered = json!({
        "threadId": thread, "expectedTurnId": turn, "queuedInputId": entry, "clientRequestId": "s",
    });
    client.call("turn/steer", steered.clone()).await;
    let removed = json!({ "threadId": thread, "queuedInputId": entry, "clientRequestId": "r" });
    client.call("turn/queue/remove", removed.clone()).await;
    let more = json!({ "threadId": thread, "input": input("say tea") });
    client.call("turn/enqueue", more).await;
    let mut other = server.client().await;
    other.call("turn/enqueue", queued).await;
    other.call("turn/queue/remove", removed).await;
    server.engine.release();
    client.wait_for("turn/completed").await;
    client.wait_for("turn/completed").await;
    other.call("turn/steer", steered).await;
    other.call("channel/list", json!({})).await;
    while other.unread() > 0 {
        let message = other.next().await.unwrap();
        assert_ne!(message["method"], "thread/queue/updated", "{message}");
    }
}

/// 01 §1.1: names of members match without case, this one too.
#[tokio::test]
async fn a_name_counts_however_its_member_is_written() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let request = |member: &str| json!({ "identity": { "channelName": "test" }, member: "one" });
    let first = client.call("thread/start", request("ClientRequestId")).await;
    assert_eq!(
        client.call("thread/start", request("ClientRequestId")).await,
        first
    );
}
