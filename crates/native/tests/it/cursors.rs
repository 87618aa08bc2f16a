//! Clients that say where they stopped (`eventCursors`, `afterSeq`) miss nothing and get nothing twice.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

const CURSORS: &str = "say one two three\ncall brew\nthink a moment\nask tea\nsay done";

fn capabilities() -> Value {
    json!({ "toolExecutionLifecycle": true, "eventCursors": true })
}

async fn subscribe(client: &mut Client, thread: &str, after: u64) -> Value {
    client
        .call(
            "thread/subscribe",
            json!({ "threadId": thread, "afterSeq": after }),
        )
        .await
}

/// Returns all numbered messages up to the replay's end, without that one.
async fn until_synced(client: &mut Client) -> Vec<Value> {
    let mut seen = client.until("thread/synced").await;
    let synced = seen.pop().expect("the end");
    let last = seen.iter().filter_map(seq).max();
    assert!(last <= seq(&synced), "{synced}");
    seen.retain(|message| seq(message).is_some());
    seen
}

fn seq(message: &Value) -> Option<u64> {
    message["params"]["seq"].as_u64()
}

/// Runs one Turn with events of many kinds; returns all messages of a subscriber.
async fn watched_turn(server: &Server) -> (String, Vec<Value>) {
    let mut client = server.client_with(capabilities()).await;
    let thread = client.start_thread().await;
    let begun = subscribe(&mut client, &thread, 0).await;
    assert_eq!(begun["mode"], "replay");
    let mut seen = until_synced(&mut client).await;
    client.start_turn(&thread, CURSORS).await;
    loop {
        let message = client.next().await.expect("it goes on");
        if message["method"] == "item/approval/request" {
            client.reply(&message, json!({ "decision": "accept" })).await;
        }
        let over =
            message["method"] == "thread/runtimeChanged" && message["params"]["runtime"]["running"] == false;
        if seq(&message).is_some() {
            seen.push(message);
        }
        if over {
            return (thread, seen);
        }
    }
}

#[tokio::test]
async fn numbers_rise_from_message_to_message() {
    let server = Server::start().await;
    let (_, seen) = watched_turn(&server).await;
    let numbers: Vec<_> = seen.iter().filter_map(seq).collect();
    assert!(numbers.len() > 20, "{numbers:?}");
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[tokio::test]
async fn a_client_that_stopped_after_any_message_is_given_exactly_the_rest() {
    let server = Server::start().await;
    let (thread, seen) = watched_turn(&server).await;
    for stopped in 0..seen.len() {
        let mut client = server.client_with(capabilities()).await;
        let after = seq(&seen[stopped]).unwrap();
        let answer = subscribe(&mut client, &thread, after).await;
        assert_eq!(answer["mode"], "replay");
        let rest = until_synced(&mut client).await;
        assert_eq!(rest, seen[stopped + 1..], "after {}", seen[stopped]);
        client.finish().await;
    }
}

#[tokio::test]
async fn what_was_stored_is_given_exactly_after_a_restart_too() {
    let server = Server::start().await;
    let (thread, seen) = watched_turn(&server).await;
    server.threads.stop().await;
    let threads = server.reopen().await;
    // Deltas of a completed Item, and ephemeral news, are not stored.
    let stored = |message: &&Value| {
        let method = message["method"].as_str().unwrap();
        !method.ends_with("elta") && method != "thread/runtimeChanged" || method == "item/usage/delta"
    };
    for stopped in 0..seen.len() {
        let mut client = Client::ready(Server::link_to(threads.clone()), "again", capabilities()).await;
        let answer = subscribe(&mut client, &thread, seq(&seen[stopped]).unwrap()).await;
        assert_eq!(answer["mode"], "replay", "after {}", seen[stopped]);
        let rest = until_synced(&mut client).await;
        let rest: Vec<_> = rest.iter().filter(stored).collect();
        let want: Vec<_> = seen[stopped + 1..].iter().filter(stored).collect();
        assert_eq!(rest, want, "after {}", seen[stopped]);
        client.finish().await;
    }
    threads.stop().await;
}

#[tokio::test]
async fn a_number_that_cannot_be_followed_is_answered_with_a_snapshot_to_read() {
    let server = Server::start().await;
    let (thread, seen) = watched_turn(&server).await;
    let last = seq(seen.last().unwrap()).unwrap();
    let mut client = server.client_with(capabilities()).await;
    let answer = subscribe(&mut client, &thread, last + 8000).await;
    assert_eq!(answer["mode"], "snapshot");
    let read = client
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    assert!(read["seq"].as_u64().unwrap() >= last);
    assert!(answer["seq"].as_u64().unwrap() <= read["seq"].as_u64().unwrap());
    // Later messages have greater numbers.
    client.start_turn(&thread, "say more").await;
    let started = client.wait_for("turn/started").await;
    assert!(seq(&started) > read["seq"].as_u64());
}

#[tokio::test]
async fn clients_that_did_not_ask_for_numbers_see_none() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let answer = subscribe(&mut client, &thread, 0).await;
    assert_eq!(answer, json!({}));
    client.start_turn(&thread, "say hi").await;
    for message in client.until("turn/completed").await {
        assert_eq!(seq(&message), None, "{message}");
        assert_ne!(message["method"], "thread/synced");
    }
}

#[tokio::test]
async fn the_beginning_and_the_end_of_a_thread_are_numbered_where_it_is_followed() {
    let server = Server::start().await;
    let mut client = server.client_with(capabilities()).await;
    let thread = client.start_thread().await;
    // Broadcasts have no number.
    assert_eq!(seq(&client.wait_for("thread/started").await), None);
    let begun = subscribe(&mut client, &thread, 0).await;
    let started = client.wait_for("thread/started").await;
    assert!(seq(&started) <= begun["seq"].as_u64() && seq(&started).is_some());
    client.call("thread/delete", json!({ "threadId": thread })).await;
    let deleted = client.wait_for("thread/deleted").await;
    assert!(seq(&deleted) > begun["seq"].as_u64());
}

#[tokio::test]
async fn a_new_configuration_is_news_to_clients_that_read_by_number() {
    let server = Server::start().await;
    let mut watcher = server.client_with(capabilities()).await;
    let mut plain = server.client().await;
    let thread = plain.start_thread().await;
    plain
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let subscribed = subscribe(&mut watcher, &thread, 0).await;
    watcher.wait_for("thread/synced").await;

    let mode = json!({ "threadId": thread, "mode": "plan" });
    plain.call("thread/mode/set", mode).await;
    let news = watcher.wait_for("thread/configured").await;
    assert_eq!(news["params"]["threadId"], json!(thread));
    assert!(seq(&news) > subscribed["seq"].as_u64(), "{news}");
    let name = json!({ "threadId": thread, "displayName": "Cups" });
    plain.call("thread/rename", name).await;
    let seen = plain.until("thread/renamed").await;
    assert!(
        seen.iter()
            .all(|message| message["method"] != "thread/configured"),
        "{seen:?}"
    );
}
