//! Requests in, over every framing. Checklist 1 to 29.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bobbin_peer::{
    CallContext, ConfigError, ErrorObject, HandlerError, Handlers, Mode, NoParams, Peer, PeerHandle,
    PeerOptions, Responder,
};
use bytes::Bytes;
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Framing, Wire, World, eventually, within};

fn echo() -> Handlers {
    Handlers::new()
        .on_call_raw("echo", Mode::Concurrent, |cx: CallContext| async move {
            Ok(cx
                .params
                .unwrap_or_else(|| serde_json::value::RawValue::NULL.to_owned()))
        })
        .on_call("empty", |_, _: NoParams| async { Ok(json!({})) })
        .on_call("null", |_, _: NoParams| async { Ok(()) })
}

/// Checklist 1 and 2.
#[rstest]
#[tokio::test]
async fn a_request_gets_its_answer_and_leaves_nothing_behind(
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
    let mut world = World::new(wire, |_| echo()).await;
    world.far.request(1, "echo", json!({ "a": 1 })).await;
    assert_eq!(
        world.far.text().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#
    );
    let stats = serde_json::to_value(world.peer.stats()).unwrap();
    assert_eq!(stats["phase"], "Active");
    assert_eq!(stats["runningInboundRequestCount"], 0);
    assert_eq!(stats["writeQueueLength"], 0);
    for field in ["pendingOutboundCallCount", "recentlyTimedOutCallCount"] {
        assert_eq!(stats[field], 0, "{field}");
    }
    assert_eq!(stats["timerArmed"], false);
}

/// Checklist 3.
#[rstest]
#[tokio::test]
async fn empty_and_null_results_are_both_sent(
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
    let mut world = World::new(wire, |_| echo()).await;
    world.far.request(1, "empty", Value::Null).await;
    assert_eq!(world.far.text().await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    world.far.request(2, "null", Value::Null).await;
    assert_eq!(
        world.far.text().await,
        r#"{"jsonrpc":"2.0","id":2,"result":null}"#
    );
}

/// Checklist 4.
#[rstest]
#[tokio::test]
async fn an_unknown_method_is_named_in_the_error(
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
    let mut world = World::new(wire, |_| echo()).await;
    world.far.request("x", "no/such", Value::Null).await;
    let answer = world.far.recv().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("x"), &json!(-32601))
    );
    assert_eq!(answer["error"]["message"], "Method not found: no/such");
}

/// Checklist 5 and 6.
#[rstest]
#[tokio::test]
async fn ten_requests_in_a_row_get_ten_answers(
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
    let mut world = World::new(wire, |_| echo()).await;
    for id in 0..10 {
        world
            .far
            .0
            .writer
            .feed(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":[{id}]}}"#).into())
            .unwrap();
    }
    std::future::poll_fn(|cx| world.far.0.writer.poll_flush(cx))
        .await
        .unwrap();
    let mut seen = Vec::new();
    for _ in 0..10 {
        let answer = world.far.recv().await;
        assert_eq!(answer["result"], json!([answer["id"]]));
        seen.push(answer["id"].as_i64().unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..10).collect::<Vec<_>>());
    world
        .eventually(|stats| stats.write_queue_length == 0 && stats.write_queue_bytes == 0)
        .await;
}

/// Checklist 7.
#[rstest]
#[tokio::test]
async fn a_message_with_id_goes_to_the_call_handler(
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
    let told = Arc::new(AtomicUsize::new(0));
    let tell = Arc::clone(&told);
    let mut world = World::new(wire, |_| {
        echo().on_notification("echo", move |_, _: NoParams| {
            tell.fetch_add(1, Ordering::Relaxed);
            async { Ok(()) }
        })
    })
    .await;
    world.far.request(1, "echo", json!([])).await;
    assert_eq!(world.far.recv().await["result"], json!([]));
    assert_eq!(told.load(Ordering::Relaxed), 0);
}

#[derive(Debug, thiserror::Error)]
#[error("secret detail")]
struct Foreign;

fn failing() -> Handlers {
    echo()
        .on_call("rpc", |_, _: NoParams| async {
            Err::<(), _>(
                ErrorObject::new(42, "mine")
                    .with_data(json!({ "z": 1, "a": [2] }))
                    .into(),
            )
        })
        .on_call("foreign", |_, _: NoParams| async {
            Err::<(), Foreign>(Foreign)?;
            Ok(())
        })
        .on_call("panic", |_, _: NoParams| async {
            assert!(std::hint::black_box(false), "secret panic");
            Ok(())
        })
        .on_call("panic at once", |_, _: NoParams| {
            assert!(std::hint::black_box(false), "secret panic");
            async { Ok(()) }
        })
        .on_call("unserializable", |_, _: NoParams| async {
            Ok(std::collections::HashMap::from([(vec![1], 1)]))
        })
}

/// Checklist 8.
#[rstest]
#[tokio::test]
async fn an_error_object_reaches_the_wire_unchanged(
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
    let mut world = World::new(wire, |_| failing()).await;
    world.far.request(1, "rpc", Value::Null).await;
    assert_eq!(
        world.far.text().await,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":42,"message":"mine","data":{"a":[2],"z":1}}}"#
    );
    assert!(world.errors().is_empty());
}

/// Checklist 9.
#[rstest]
#[tokio::test]
async fn a_foreign_failure_shows_its_type_and_keeps_its_text(
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
    let mut world = World::new(wire, |_| failing()).await;
    world.far.request(1, "foreign", Value::Null).await;
    let text = world.far.text().await;
    assert!(
        text.contains("-32603") && text.contains("Foreign") && !text.contains("secret"),
        "{text}"
    );
    let errors = world.errors();
    assert!(
        errors.len() == 1 && errors[0].contains("secret detail"),
        "{errors:?}"
    );
}

/// Checklist 10.
#[rstest]
#[tokio::test]
async fn a_panic_is_one_answer_and_disturbs_nobody(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values("panic", "panic at once")] method: &str,
) {
    let release = Arc::new(tokio::sync::Notify::new());
    let wait = Arc::clone(&release);
    let mut world = World::new(wire, |_| {
        failing().on_call("wait", move |_, _: NoParams| {
            let wait = Arc::clone(&wait);
            async move {
                wait.notified().await;
                Ok("waited")
            }
        })
    })
    .await;
    world.far.request(1, "wait", Value::Null).await;
    world.far.request(2, method, Value::Null).await;
    let answer = world.far.recv().await;
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32603, "message": "Internal error: panic" } })
    );
    release.notify_one();
    assert_eq!(world.far.recv().await["result"], "waited");
    let errors = world.errors();
    assert!(
        errors.len() == 1 && errors[0].contains("secret panic"),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_result_that_cannot_be_serialized_fails_its_own_request_only() {
    let mut world = World::new(Wire::Lines, |_| failing()).await;
    world.far.request(1, "unserializable", Value::Null).await;
    assert_eq!(world.far.error_of(1).await, -32603);
    world.expect_silence().await;
}

/// Checklist 11 and 24.
#[rstest]
#[tokio::test]
async fn params_and_id_are_seen_exactly_as_sent(
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
    let seen = Arc::new(Mutex::new(String::new()));
    let see = Arc::clone(&seen);
    let mut world = World::new(wire, |_| {
        echo().on_call_raw("see", Mode::Concurrent, move |cx: CallContext| {
            *see.lock() = cx.id.to_string();
            async move { Ok(cx.params.unwrap()) }
        })
    })
    .await;
    let params = r#"{"z":1.50,"a":1e400,"\u0061":"\ud800","deep":[[{}]]}"#;
    world
        .far
        .send(format!(
            r#"{{"extra":[1],"params":{params},"id":"\u0069","method":"see","jsonrpc":"2.0"}}"#
        ))
        .await;
    let text = world.far.text().await;
    assert_eq!(
        text,
        format!(r#"{{"jsonrpc":"2.0","id":"\u0069","result":{params}}}"#)
    );
    assert_eq!(*seen.lock(), r#""\u0069""#);
}

/// Checklist 12.
#[rstest]
#[tokio::test]
async fn absent_and_null_params_are_none(
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
    let mut world = World::new(wire, |_| {
        Handlers::new().on_call_raw("is", Mode::Concurrent, |cx: CallContext| async move {
            Ok(serde_json::value::to_raw_value(&cx.params.is_some())?)
        })
    })
    .await;
    for (params, some) in [
        ("", false),
        (r#","params":null"#, false),
        (r#","params":{}"#, true),
        (r#","params":[]"#, true),
    ] {
        world
            .far
            .send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"is"{params}}}"#))
            .await;
        assert_eq!(world.far.recv().await["result"], some, "{params}");
    }
}

#[derive(serde::Deserialize)]
struct Pair {
    left: i64,
    right: i64,
}

fn typed() -> Handlers {
    Handlers::new()
        .on_call(
            "subtract",
            |_, pair: Pair| async move { Ok(pair.left - pair.right) },
        )
        .on_call("maybe", |_, pair: Option<Pair>| async move {
            Ok(pair.map(|pair| pair.left))
        })
}

/// Checklist 13.
#[rstest]
#[tokio::test]
async fn params_decode_by_name_and_by_position(
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
    let mut world = World::new(wire, |_| typed()).await;
    world
        .far
        .request(1, "subtract", json!({ "right": 23, "left": 42 }))
        .await;
    assert_eq!(world.far.recv().await["result"], 19);
    world.far.request(2, "subtract", json!([42, 23])).await;
    assert_eq!(world.far.recv().await["result"], 19);
    world.far.request(3, "maybe", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], Value::Null);
    world.far.request(4, "subtract", json!({ "left": 1 })).await;
    let answer = world.far.recv().await;
    assert_eq!(answer["error"]["code"], -32602);
    assert!(
        answer["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("right"),
        "{answer}"
    );
}

/// Checklist 14.
#[rstest]
#[tokio::test]
async fn scalar_params_are_invalid(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values("1", "\"x\"", "true")] params: &str,
) {
    let mut world = World::new(wire, |_| echo()).await;
    world
        .far
        .send(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{params}}}"#
        ))
        .await;
    assert_eq!(world.far.error_of(1).await, -32602);
    world
        .far
        .send(format!(
            r#"{{"jsonrpc":"2.0","method":"echo","params":{params}}}"#
        ))
        .await;
    world.expect_silence().await;
    assert_eq!(world.errors().len(), 2);
}

/// Checklist 15, 17, 18 and 19.
#[rstest]
#[tokio::test]
async fn an_id_comes_back_as_it_went(
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
        "7",
        "\"7\"",
        "1.50",
        "-1",
        "1e2",
        "9007199254740993",
        "18446744073709551617",
        "null",
        "\"\"",
        "0"
    )]
    id: &str,
) {
    let mut world = World::new(wire, |_| echo()).await;
    world
        .far
        .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#))
        .await;
    assert_eq!(
        world.far.text().await,
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#)
    );
}

/// Checklist 16.
#[rstest]
#[tokio::test]
async fn a_number_and_a_string_are_two_ids(
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
    world.far.request(1, "sleep", Value::Null).await;
    world.far.request("1", "sleep", Value::Null).await;
    crate::support::begun(&begun, 2).await;
    world.far.cancel(1).await;
    assert_eq!(world.far.error_of(1).await, -32800);
    world.expect_silence().await;
    world.far.cancel("1").await;
    assert_eq!(world.far.error_of("1").await, -32800);
}

/// Checklist 20.
#[rstest]
#[tokio::test]
async fn an_id_of_another_type_is_invalid_and_no_notification(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values("true", "[]", "{}", "\"\\ud800\"")] id: &str,
) {
    let mut world = World::new(wire, |_| echo()).await;
    world
        .far
        .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#))
        .await;
    assert_eq!(world.far.error_of(Value::Null).await, -32600);
}

/// Checklist 21 and 22.
#[rstest]
#[tokio::test]
async fn an_id_in_use_is_refused_and_free_again_after_its_answer(
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
    world.far.request(5, "sleep", Value::Null).await;
    crate::support::begun(&begun, 1).await;
    // Equal by value, though not by text.
    world
        .far
        .send(r#"{"jsonrpc":"2.0","id":5.0,"method":"probe"}"#)
        .await;
    assert_eq!(world.far.error_of(5.0).await, -32600);
    world.far.cancel(5).await;
    assert_eq!(world.far.error_of(5).await, -32800);
    world.far.request(5, "probe", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], "here");
}

/// Checklist 23.
#[rstest]
#[tokio::test]
async fn of_duplicate_members_the_last_counts(
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
    let mut world = World::new(wire, |_| echo()).await;
    world.far.send(r#"{"jsonrpc":"1.0","id":1,"id":2,"method":"x","method":"echo","params":[1],"params":[2],"jsonrpc":"2.0"}"#).await;
    assert_eq!(
        world.far.recv().await,
        json!({ "jsonrpc": "2.0", "id": 2, "result": [2] })
    );
}

/// Checklist 25.
#[rstest]
#[tokio::test]
async fn method_names_are_taken_literally(
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
    let mut world = World::new(wire, |_| {
        echo().on_call("rpc.own", |_, _: NoParams| async { Ok(1) })
    })
    .await;
    world.far.request(1, "Echo", Value::Null).await;
    assert_eq!(world.far.error_of(1).await, -32601);
    world.far.request(2, "rpc.own", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], 1);
    world
        .far
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"\u0065cho"}"#)
        .await;
    assert_eq!(world.far.recv().await["id"], 3);
}

/// Checklist 26.
#[rstest]
#[tokio::test]
async fn ordinals_count_every_request_and_notification_in_arrival_order(
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
    let mut world = World::new(wire, |_| {
        Handlers::new().on_call(
            "ordinal",
            |cx: CallContext, _: NoParams| async move { Ok(cx.ordinal) },
        )
    })
    .await;
    world.far.request(1, "ordinal", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], 0);
    world.far.request(2, "unknown", Value::Null).await;
    assert_eq!(world.far.error_of(2).await, -32601);
    world.far.notify("unknown", Value::Null).await;
    // These consume none: bad version, a response, a cancel.
    world.far.send(r#"{"id":3,"method":"ordinal"}"#).await;
    assert_eq!(world.far.error_of(3).await, -32600);
    world.far.answer(&json!(99), json!(1)).await;
    world.far.cancel(99).await;
    world.far.request(4, "ordinal", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], 3);
    assert_eq!(world.peer.stats().last_ordinal, 3);
}

/// Checklist 27 and 28.
#[rstest]
#[tokio::test]
async fn a_handler_may_ask_back_while_a_thousand_others_run(
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
    let mut world = World::with(
        wire,
        PeerOptions {
            max_running_requests: 2000,
            ..PeerOptions::default()
        },
        |me| {
            handlers.on_call("ask back", move |_, _: NoParams| {
                let me = me.clone();
                async move {
                    let answer: String = me.call("question", ()).await?;
                    Ok(answer)
                }
            })
        },
    )
    .await;
    for id in 0..1000 {
        world.far.request(id, "sleep", Value::Null).await;
    }
    crate::support::begun(&begun, 1000).await;
    world.far.request("ask", "ask back", Value::Null).await;
    let question = world.far.recv().await;
    assert_eq!(question["method"], "question");
    world.far.answer(&question["id"], json!("yes")).await;
    assert_eq!(world.far.recv().await["result"], "yes");
    assert_eq!(world.peer.stats().running_inbound_request_count, 1000);
}

/// Checklist 29.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_its_thread_delays_nobody_else() {
    let blocked = Arc::new(AtomicUsize::new(0));
    let block = Arc::clone(&blocked);
    let mut world = World::new(Wire::Lines, |_| {
        echo().on_call("block", move |_, _: NoParams| {
            let block = Arc::clone(&block);
            async move {
                block.store(1, Ordering::Release);
                std::thread::sleep(Duration::from_secs(1));
                Ok("blocked")
            }
        })
    })
    .await;
    world.far.request(1, "block", Value::Null).await;
    eventually(|| blocked.load(Ordering::Acquire) == 1).await;
    let start = std::time::Instant::now();
    assert_eq!(world.peer.stats().running_inbound_request_count, 1);
    world.expect_silence().await;
    assert!(start.elapsed() < Duration::from_millis(700));
    assert_eq!(world.far.recv().await["result"], "blocked");
}

#[tokio::test]
async fn registering_a_method_twice_is_refused() {
    let twice = || Handlers::new().on_call("a", |_, _: NoParams| async { Ok(1) });
    let handlers = |_| twice().on_call("a", |_, _: NoParams| async { Ok(2) });
    let refused = Peer::pair(handlers, |_| Handlers::new());
    assert_eq!(refused.err(), Some(ConfigError::Duplicate("a".to_owned())));
    // A call and a notification of one name are two things.
    let both = |_| twice().on_notification("a", |_, _: NoParams| async { Ok(()) });
    assert!(Peer::pair(both, |_| Handlers::new()).is_ok());
}

/// Checklist 62.
#[rstest]
#[tokio::test]
async fn a_handler_may_say_cancelled_by_itself(
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
    let mut world = World::new(wire, |_| {
        Handlers::new().on_call("stop", |_, _: NoParams| async {
            Err::<(), _>(HandlerError::Cancelled)
        })
    })
    .await;
    world.far.request(1, "stop", Value::Null).await;
    assert_eq!(within(world.far.error_of(1)).await, -32800);
}

#[tokio::test]
async fn an_answer_in_a_batch_of_messages_comes_right_after_those_before_it() {
    let handlers = |peer: PeerHandle| {
        let notes = peer.clone();
        Handlers::new()
            .on_call_deferred("slow", Mode::Concurrent, move |_, responder: Responder| {
                let peer = notes.clone();
                async move {
                    let note = |n: u32| {
                        Bytes::from(format!(r#"{{"jsonrpc":"2.0","method":"note","params":[{n}]}}"#))
                    };
                    let answer = responder.into_message(Ok(json!({ "done": true }))).unwrap();
                    peer.send_batch(vec![note(1), answer, note(2)]).await.unwrap();
                }
            })
            .on_call_deferred("bad", Mode::Concurrent, move |_, responder: Responder| {
                let peer = peer.clone();
                async move {
                    let error = ErrorObject::new(-7, "bad");
                    let answer = responder.into_message(Err::<(), _>(error)).unwrap();
                    peer.send_batch(vec![answer]).await.unwrap();
                }
            })
    };
    let mut world = World::new(Wire::Lines, handlers).await;
    world.far.request(1, "slow", json!([])).await;
    assert_eq!(world.far.recv().await["params"], json!([1]));
    let answer = world.far.recv().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["done"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(world.far.recv().await["params"], json!([2]));
    world.far.request(2, "bad", json!([])).await;
    assert_eq!(world.far.recv().await["error"]["code"], -7);
    world
        .eventually(|stats| stats.running_inbound_request_count == 0)
        .await;
}
