//! Versions, shapes and batches, over every framing. Checklist 30 to 47.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_peer::{Batches, Handlers, NoParams, NullId, PeerOptions, VersionCheck};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Framing, Wire, World};

/// A handler for `hit`, request or notification, that counts.
fn counted() -> (Arc<AtomicUsize>, Handlers) {
    let hits = Arc::new(AtomicUsize::new(0));
    let (calls, notes) = (Arc::clone(&hits), Arc::clone(&hits));
    let handlers = Handlers::new()
        .on_call("hit", move |_, _: NoParams| {
            calls.fetch_add(1, Ordering::Relaxed);
            async { Ok("hit") }
        })
        .on_notification("hit", move |_, _: NoParams| {
            notes.fetch_add(1, Ordering::Relaxed);
            async { Ok(()) }
        });
    (hits, handlers)
}

/// Checklist 30, 31 and 33.
#[rstest]
#[tokio::test]
async fn a_request_of_a_bad_version_is_answered_and_not_served(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values(
        "",
        r#""jsonrpc":"1.0","#,
        r#""jsonrpc":"2","#,
        r#""jsonrpc":2.0,"#,
        r#""jsonrpc":null,"#,
        r#""jsonrpc":{},"#
    )]
    version: &str,
) {
    let (hits, handlers) = counted();
    let mut world = World::new(wire, |_| handlers).await;
    world
        .far
        .send(format!(r#"{{{version}"id":1,"method":"hit"}}"#))
        .await;
    let answer = world.far.recv().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(-32600))
    );
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("Invalid Request")
    );
    // Checklist 32.
    world.far.send(format!(r#"{{{version}"method":"hit"}}"#)).await;
    world.expect_silence().await;
    assert_eq!(hits.load(Ordering::Relaxed), 0);
    assert_eq!(world.errors().len(), 2);
}

/// Checklist 34.
#[rstest]
#[tokio::test]
async fn a_response_of_a_bad_version_is_dropped_and_leaves_the_call_pending(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    let me = world.peer.handle();
    let call = tokio::spawn(async move { me.call::<Value>("ask", ()).await });
    let id = world.far.recv().await["id"].clone();
    world
        .far
        .send(format!(r#"{{"jsonrpc":"1.0","id":{id},"result":"wrong"}}"#))
        .await;
    world
        .far
        .send(format!(r#"{{"id":{id},"error":{{"code":1,"message":"wrong"}}}}"#))
        .await;
    world.expect_silence().await;
    assert_eq!(world.peer.stats().pending_outbound_call_count, 1);
    assert_eq!(world.errors().len(), 2);
    world.far.answer(&id, json!("right")).await;
    assert_eq!(call.await.unwrap().unwrap(), "right");
}

#[tokio::test]
async fn a_lenient_connection_takes_any_version_and_null_ids_as_notifications() {
    let (hits, handlers) = counted();
    let options = PeerOptions {
        version_check: VersionCheck::Lenient,
        null_id: NullId::Notification,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| handlers).await;
    world.far.send(r#"{"id":1,"method":"hit"}"#).await;
    assert_eq!(
        world.far.recv().await,
        json!({ "jsonrpc": "2.0", "id": 1, "result": "hit" })
    );
    world.far.send(r#"{"id":null,"method":"hit"}"#).await;
    world.expect_silence().await;
    assert_eq!(hits.load(Ordering::Relaxed), 2);
}

/// Checklist 35, 36, 39 and 40: nothing is sent, one entry is logged.
#[rstest]
#[tokio::test]
async fn stray_responses_and_empty_messages_are_not_answered(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values(
        r#"{"jsonrpc":"2.0","id":99}"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":[],"result":1}"#,
        r#"{"jsonrpc":"2.0","method":1}"#
    )]
    message: &str,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    world.far.send(message).await;
    world.expect_silence().await;
    assert_eq!(world.errors().len(), 1);
}

/// Checklist 37.
#[rstest]
#[tokio::test]
async fn a_message_that_is_no_object_is_invalid(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values("1", "\"text\"", "true", "null")] message: &str,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    world.far.send(message).await;
    assert_eq!(world.far.error_of(Value::Null).await, -32600);
    world.expect_silence().await;
}

/// Checklist 38.
#[rstest]
#[tokio::test]
async fn a_method_that_is_no_string_is_invalid(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values("1", "null", "{}", "\"\\ud800\"")] method: &str,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    world
        .far
        .send(format!(r#"{{"jsonrpc":"2.0","id":4,"method":{method}}}"#))
        .await;
    assert_eq!(world.far.error_of(4).await, -32600);
}

fn invalid() -> Value {
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "Invalid Request" } })
}

/// Answers without what explains them.
fn plain(mut answer: Value) -> Value {
    let strip = |answer: &mut Value| {
        if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
            error.remove("data");
        }
    };
    match &mut answer {
        Value::Array(answers) => answers.iter_mut().for_each(strip),
        answer => strip(answer),
    }
    answer
}

/// Checklist 41 and 42.
#[rstest]
#[tokio::test]
async fn empty_and_invalid_batches_follow_the_specification(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    for (batch, answer) in [
        ("[]", invalid()),
        ("[1]", json!([invalid()])),
        ("[1,2,3]", json!([invalid(), invalid(), invalid()])),
        ("[[]]", json!([invalid()])),
    ] {
        world.far.send(batch).await;
        assert_eq!(plain(world.far.recv().await), answer, "{batch}");
    }
}

/// Checklist 43.
#[rstest]
#[tokio::test]
async fn a_mixed_batch_is_answered_by_one_array_in_element_order(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let (hits, handlers) = counted();
    let mut world = World::new(wire, |_| handlers).await;
    world
        .far
        .send(
            r#"[{"jsonrpc":"2.0","id":1,"method":"hit"},{"jsonrpc":"2.0","method":"hit"},{"foo":"boo"},
            {"jsonrpc":"2.0","id":"2","method":"unknown"},7,{"jsonrpc":"2.0","id":3,"method":"hit"}]"#
                .replace('\n', " "),
        )
        .await;
    let answers = plain(world.far.recv().await);
    assert_eq!(
        answers,
        json!([
            { "jsonrpc": "2.0", "id": 1, "result": "hit" },
            { "jsonrpc": "2.0", "id": "2", "error": { "code": -32601, "message": "Method not found: unknown" } },
            invalid(),
            { "jsonrpc": "2.0", "id": 3, "result": "hit" },
        ])
    );
    assert_eq!(hits.load(Ordering::Relaxed), 3);
    world.expect_silence().await;
}

/// Checklist 44.
#[rstest]
#[tokio::test]
async fn a_batch_of_notifications_is_not_answered(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let (hits, handlers) = counted();
    let mut world = World::new(wire, |_| handlers).await;
    world
        .far
        .send(r#"[{"jsonrpc":"2.0","method":"hit"},{"jsonrpc":"2.0","method":"hit"}]"#)
        .await;
    world.expect_silence().await;
    assert_eq!(hits.load(Ordering::Relaxed), 2);
}

/// Checklist 45.
#[rstest]
#[tokio::test]
async fn responses_in_a_batch_resolve_their_calls(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    let mut calls = Vec::new();
    for method in ["a", "b", "c"] {
        let me = world.peer.handle();
        calls.push(tokio::spawn(async move { me.call::<Value>(method, ()).await }));
        world.far.recv().await;
    }
    world
        .far
        .send(r#"[{"jsonrpc":"2.0","id":3,"result":"third"},{"jsonrpc":"2.0","id":1,"result":"first"}]"#)
        .await;
    world
        .far
        .send(r#"{"jsonrpc":"2.0","id":2,"error":{"code":5,"message":"no"}}"#)
        .await;
    let [first, second, third] = calls.try_into().unwrap();
    assert_eq!(first.await.unwrap().unwrap(), "first");
    assert_eq!(second.await.unwrap().unwrap_err().code(), 5);
    assert_eq!(third.await.unwrap().unwrap(), "third");
    world.expect_silence().await;
}

/// Checklist 46.
#[rstest]
#[tokio::test]
async fn a_batch_waits_for_its_slowest_element_and_holds_up_nobody(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let (begun, handlers) = crate::support::sleeper();
    let mut world = World::new(wire, |_| handlers).await;
    world
        .far
        .send(r#"[{"jsonrpc":"2.0","id":1,"method":"sleep"},{"jsonrpc":"2.0","id":2,"method":"probe"}]"#)
        .await;
    crate::support::begun(&begun, 1).await;
    world.expect_silence().await;
    // Cancelling an element cancels that element only, and its answer stays in the array.
    world.far.cancel(1).await;
    let answers = world.far.recv().await;
    assert_eq!(
        (&answers[0]["id"], &answers[0]["error"]["code"]),
        (&json!(1), &json!(-32800))
    );
    assert_eq!(
        (&answers[1]["id"], &answers[1]["result"]),
        (&json!(2), &json!("here"))
    );
}

/// Checklist 47.
#[rstest]
#[tokio::test]
async fn batches_can_be_refused(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = World::with(wire, PeerOptions::bridge(), |_| Handlers::new()).await;
    assert_eq!(PeerOptions::bridge().batches, Batches::Reject);
    world
        .far
        .send(r#"[{"jsonrpc":"2.0","id":1,"method":"probe"}]"#)
        .await;
    assert_eq!(world.far.error_of(Value::Null).await, -32600);
    world.expect_silence().await;
}

#[tokio::test]
async fn a_batch_over_the_limit_is_one_error() {
    let options = PeerOptions {
        max_batch: 3,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| Handlers::new()).await;
    world.far.send("[1,2,3,4]").await;
    assert_eq!(world.far.error_of(Value::Null).await, -32600);
    world.expect_silence().await;
}

/// Answers that wait for others of their batch are bounded together, and the room comes back with the array.
#[tokio::test]
async fn an_answer_that_does_not_fit_with_those_of_its_batch_becomes_an_error() {
    let options = PeerOptions {
        max_answer_bytes: 1000,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| {
        Handlers::new().on_call("long", |_, _: NoParams| async { Ok("x".repeat(400)) })
    })
    .await;
    let request = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "long" });
    for (sent, too_many) in [(3, 1), (2, 0), (4, 2)] {
        let batch: Vec<_> = (1..=sent).map(request).collect();
        world.far.send(Value::from(batch).to_string()).await;
        let answers = world.far.recv().await;
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), sent as usize);
        let errors = answers.iter().filter(|answer| answer["error"]["code"] == -32603);
        assert_eq!(errors.count(), too_many);
    }
}
