//! Notifications in and out, cancel, over every framing. Checklist 48 to 67.

use std::sync::Arc;
use std::time::Duration;

use bobbin_peer::{
    CallContext, CancelDialect, CancelStyle, Handlers, Mode, NoParams, NotificationContext, PeerOptions,
    Route, SendError,
};
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::support::{Framing, Wire, World, begun, eventually, sleeper, within};

type Seen = Arc<Mutex<Vec<String>>>;

fn recorder() -> (Seen, Handlers) {
    let seen = Seen::default();
    let see = Arc::clone(&seen);
    let handlers =
        Handlers::new().fallback_notification(Mode::ordered(""), move |cx: NotificationContext| {
            let params = cx
                .params
                .map_or_else(|| "-".to_owned(), |raw| raw.get().to_owned());
            see.lock().push(format!("{} {params}", cx.method));
            async { Ok(()) }
        });
    (seen, handlers)
}

/// Checklist 48.
#[rstest]
#[tokio::test]
async fn a_notification_reaches_its_handler_and_is_not_answered(
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
    let (seen, handlers) = recorder();
    let mut world = World::new(wire, |_| handlers).await;
    world.far.notify("told", json!({ "a": 1 })).await;
    world.far.notify("told", Value::Null).await;
    world.expect_silence().await;
    eventually(|| seen.lock().len() == 2).await;
    assert_eq!(*seen.lock(), [r#"told {"a":1}"#, "told -"]);
}

/// Checklist 49.
#[rstest]
#[tokio::test]
async fn an_unknown_notification_is_one_entry_unless_ignored(
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
    let mut world = World::new(wire, |_| Handlers::new().ignore_notifications("$/")).await;
    world.far.notify("unknown", Value::Null).await;
    world.far.notify("$/setTrace", json!({ "value": "off" })).await;
    world.expect_silence().await;
    assert_eq!(world.errors(), ["no handler for notification unknown"]);
}

/// Checklist 50.
#[rstest]
#[tokio::test]
async fn a_failing_notification_handler_is_one_entry(
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
        Handlers::new()
            .on_notification("fails", |_, _: NoParams| async {
                Err(std::io::Error::other("why").into())
            })
            .on_notification("panics", |_, _: NoParams| async { panic!("on purpose") })
            .on_notification("typed", |_, _: Vec<i32>| async { Ok(()) })
    })
    .await;
    for method in ["fails", "panics", "typed"] {
        world.far.notify(method, json!({ "not": "a list" })).await;
    }
    world.expect_silence().await;
    eventually(|| world.errors().len() == 3).await;
    let errors = world.errors().join("\n");
    for part in ["why", "on purpose", "Invalid params"] {
        assert!(errors.contains(part), "{errors}");
    }
}

/// Checklist 51.
#[rstest]
#[tokio::test]
async fn requests_and_notifications_interleaved_are_all_served(
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
    let (seen, handlers) = recorder();
    let mut world = World::new(wire, |_| handlers).await;
    for id in 0..20 {
        world.far.request(id, "probe", Value::Null).await;
        world.far.notify("told", json!([id])).await;
    }
    for _ in 0..20 {
        assert_eq!(world.far.recv().await["result"], "here");
    }
    eventually(|| seen.lock().len() == 20).await;
    let want: Vec<_> = (0..20).map(|id| format!("told [{id}]")).collect();
    assert_eq!(*seen.lock(), want);
}

/// Checklist 52.
#[rstest]
#[tokio::test]
async fn a_lane_keeps_the_order_although_the_first_one_waits(
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
    let (seen, gate) = (Seen::default(), Arc::new(Notify::new()));
    let (see, wait) = (Arc::clone(&seen), Arc::clone(&gate));
    let mut world = World::new(wire, |_| {
        Handlers::new().on_notification("step", move |_, [step]: [u32; 1]| {
            let (see, wait) = (Arc::clone(&see), Arc::clone(&wait));
            async move {
                if step == 0 {
                    wait.notified().await;
                }
                see.lock().push(step.to_string());
                Ok(())
            }
        })
    })
    .await;
    for step in 0..5 {
        world.far.notify("step", json!([step])).await;
    }
    world.expect_silence().await;
    assert!(seen.lock().is_empty());
    assert_eq!(world.peer.stats().queued_inbound_count, 4);
    gate.notify_one();
    eventually(|| seen.lock().len() == 5).await;
    assert_eq!(*seen.lock(), ["0", "1", "2", "3", "4"]);
}

/// Checklist 53, 55, 56 and 57.
#[rstest]
#[tokio::test]
async fn a_cancelled_request_is_answered_so_once(
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
    let (begin, handlers) = sleeper();
    let mut world = World::new(wire, |_| handlers).await;
    world.far.request("job", "sleep", Value::Null).await;
    begun(&begin, 1).await;
    world.far.cancel("other").await;
    world.expect_silence().await;
    world.far.cancel("job").await;
    let answer = world.far.recv().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("job"), &json!(-32800))
    );
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .to_lowercase()
            .contains("cancel")
    );
    world.far.cancel("job").await;
    world.expect_silence().await;
    assert!(world.errors().is_empty());
}

/// Checklist 54 and 58.
#[rstest]
#[tokio::test]
async fn a_cooperative_handler_sees_its_token_and_may_still_succeed(
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
    let begin = Arc::new(tokio::sync::Semaphore::new(0));
    let tell = Arc::clone(&begin);
    let mut world = World::new(wire, |_| {
        let route = Route::from(Mode::Concurrent).cancel(CancelStyle::Cooperative);
        Handlers::new().on_call_with("finish", route, move |cx: CallContext, _: NoParams| {
            tell.add_permits(1);
            async move {
                cx.token().cancelled().await;
                Ok("finished anyway")
            }
        })
    })
    .await;
    world.far.request(1, "finish", Value::Null).await;
    begun(&begin, 1).await;
    world.far.cancel(1).await;
    assert_eq!(world.far.recv().await["result"], "finished anyway");
    world.expect_silence().await;
}

/// Checklist 58: a handler that is dropped on cancel, and is done when the cancel comes.
#[tokio::test]
async fn a_handler_that_is_done_when_its_cancel_comes_is_answered_as_done() {
    let done = Arc::new(tokio::sync::Semaphore::new(0));
    let (wait, tell) = (Arc::clone(&done), Arc::clone(&done));
    let (_peer, mut far) = bobbin_peer::Peer::pair_raw(
        bobbin_peer::StreamFraming::Lines,
        1 << 12,
        PeerOptions::default(),
        |_| {
            Handlers::new()
                .on_call("finish", move |_, _: NoParams| {
                    let wait = Arc::clone(&wait);
                    async move {
                        wait.acquire().await.unwrap().forget();
                        Ok("done")
                    }
                })
                .on_notification_deferred("release", Mode::Concurrent, move |_| {
                    tell.add_permits(1);
                    async {}
                })
        },
    )
    .unwrap();
    far.send(r#"{"jsonrpc":"2.0","id":1,"method":"finish"}"#)
        .await
        .unwrap();
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    // Read in one go: the handler has what it waits for and is cancelled before it is polled again.
    let both = concat!(
        r#"{"jsonrpc":"2.0","method":"release"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#,
        "\n"
    );
    far.write(both.as_bytes()).await.unwrap();
    let answer = within(far.recv()).await.unwrap().unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["result"], "done", "{answer}");
}

/// Checklist 59.
#[rstest]
#[tokio::test]
async fn a_malformed_cancel_is_one_entry(
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
        r#","params":[1]"#,
        r#","params":{}"#,
        r#","params":7"#,
        r#","params":{"id":{}}"#
    )]
    params: &str,
) {
    let mut world = World::new(wire, |_| Handlers::new()).await;
    world
        .far
        .send(format!(
            r#"{{"jsonrpc":"2.0","method":"$/cancelRequest"{params}}}"#
        ))
        .await;
    world.expect_silence().await;
    assert_eq!(world.errors().len(), 1);
}

/// Checklist 60 and 61.
#[rstest]
#[tokio::test]
async fn a_request_cancelled_in_its_lane_never_runs(
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
    let (gate, seen) = (Arc::new(Notify::new()), Seen::default());
    let (wait, see) = (Arc::clone(&gate), Arc::clone(&seen));
    let mut world = World::new(wire, |_| {
        Handlers::new().on_call_with(
            "in lane",
            Mode::ordered("a"),
            move |cx: CallContext, _: NoParams| {
                let (wait, see) = (Arc::clone(&wait), Arc::clone(&see));
                async move {
                    see.lock().push(cx.id.to_string());
                    wait.notified().await;
                    Ok(())
                }
            },
        )
    })
    .await;
    // Ahead of its request: ignored.
    world.far.cancel(2).await;
    world.far.request(1, "in lane", Value::Null).await;
    world.far.request(2, "in lane", Value::Null).await;
    world.far.request(3, "in lane", Value::Null).await;
    world.eventually(|stats| stats.queued_inbound_count == 2).await;
    world.far.cancel(2).await;
    assert_eq!(world.far.error_of(2).await, -32800);
    gate.notify_one();
    assert_eq!(world.far.recv().await["id"], 1);
    gate.notify_one();
    assert_eq!(world.far.recv().await["id"], 3);
    assert_eq!(*seen.lock(), ["1", "3"]);
}

#[tokio::test]
async fn the_cancel_notification_has_the_name_and_shape_of_the_dialect() {
    let (begin, handlers) = sleeper();
    let options = PeerOptions {
        cancel: CancelDialect {
            method: "notifications/cancelled".to_owned(),
            id_path: vec!["meta".to_owned(), "requestId".to_owned()],
        },
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| handlers).await;
    world.far.request(1, "sleep", Value::Null).await;
    begun(&begin, 1).await;
    world
        .far
        .notify("notifications/cancelled", json!({ "meta": { "requestId": 1 } }))
        .await;
    assert_eq!(world.far.error_of(1).await, -32800);
    let given_up = timeout(Duration::from_millis(20), world.peer.call::<Value>("ask", ())).await;
    assert!(given_up.is_err());
    assert_eq!(world.far.recv().await["method"], "ask");
    assert_eq!(
        world.far.recv().await,
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "meta": { "requestId": 1 } } })
    );
}

/// Checklist 63 and 64.
#[rstest]
#[tokio::test]
async fn notifications_go_out_whole_and_in_order(
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
    world.peer.notify("plain", ()).await.unwrap();
    // The future resolves after the flush, and the entry is logged before that.
    if wire.is_logged() {
        assert_eq!(
            world.log.of("RpcWrite"),
            [r#"{"jsonrpc":"2.0","method":"plain"}"#]
        );
    }
    assert_eq!(world.far.text().await, r#"{"jsonrpc":"2.0","method":"plain"}"#);
    for number in 0..5 {
        world
            .peer
            .try_notify("count", json!({ "number": number }))
            .unwrap();
    }
    for number in 0..5 {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"count","params":{{"number":{number}}}}}"#);
        assert_eq!(world.far.text().await, text);
    }
    assert!(matches!(
        world.peer.notify("scalar", 7).await,
        Err(SendError::NotStructured)
    ));
    world.expect_silence().await;
}

/// Checklist 65.
#[rstest]
#[tokio::test]
async fn answers_and_notifications_mix_each_whole(
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
    for id in 0..20 {
        world.far.request(id, "probe", Value::Null).await;
        world.peer.notify("beside", json!([id])).await.unwrap();
    }
    let (mut answers, mut notifications) = (0, 0);
    for _ in 0..40 {
        let message = world.far.recv().await;
        if message["method"] == "beside" {
            assert_eq!(message["params"], json!([notifications]));
            notifications += 1;
        } else {
            assert_eq!(message["result"], "here");
            answers += 1;
        }
    }
    assert_eq!((answers, notifications), (20, 20));
}

/// Checklist 66.
#[rstest]
#[tokio::test]
async fn after_the_end_a_notification_is_dropped_at_once(
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
    let (shutdown, end) = tokio::join!(world.peer.shutdown(), world.far.recv_or_end());
    assert_eq!(((), None), (shutdown, end));
    let written = world.peer.stats().bytes_written;
    assert!(matches!(
        world.peer.notify("late", ()).await,
        Err(SendError::Closed)
    ));
    assert!(matches!(
        world.peer.try_notify("late", ()),
        Err(SendError::Closed)
    ));
    assert_eq!(world.log.of("RpcWarn").len(), 2);
    assert_eq!(world.peer.stats().bytes_written, written);
}

/// Checklist 67 and 134.
#[rstest]
#[tokio::test]
async fn a_far_end_that_does_not_read_makes_senders_wait(
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
    let options = PeerOptions {
        max_queue_bytes: 300_000,
        ..PeerOptions::default()
    };
    let mut world = World::with(wire, options, |_| Handlers::new()).await;
    let text = "x".repeat(100_000);
    let senders: Vec<_> = (0..10)
        .map(|number| {
            let (me, text) = (world.peer.handle(), text.clone());
            tokio::spawn(async move { me.notify("big", json!([number, text])).await })
        })
        .collect();
    world.eventually(|stats| stats.write_queue_bytes > 200_000).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(senders.iter().all(|sender| !sender.is_finished()));
    assert!(world.peer.stats().write_queue_bytes <= 300_000);
    assert!(matches!(
        world.peer.try_notify("big", json!([text])),
        Err(SendError::Full)
    ));
    // In the order they came, those in line included.
    for number in 0..10 {
        assert_eq!(world.far.recv().await["params"][0], number);
    }
    for sender in senders {
        within(sender).await.unwrap().unwrap();
    }
    let huge = world.peer.notify("huge", json!(["x".repeat(400_000)])).await;
    assert!(matches!(huge, Err(SendError::TooLarge { .. })));
}

#[tokio::test]
async fn a_batch_over_the_bound_goes_once_the_queue_is_empty() {
    let options = PeerOptions {
        max_queue_bytes: 300_000,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| Handlers::new()).await;
    let message = |number: u32| {
        let params = json!([number, "x".repeat(200_000)]);
        serde_json::to_vec(&json!({ "jsonrpc": "2.0", "method": "big", "params": params })).unwrap()
    };
    let senders: Vec<_> = (0..3)
        .map(|number| {
            let (me, message) = (world.peer.handle(), message(number));
            let message: bytes::Bytes = message.into();
            tokio::spawn(async move { me.send_batch(vec![message.clone(), message]).await })
        })
        .collect();
    for number in [0, 0, 1, 1, 2, 2] {
        assert_eq!(world.far.recv().await["params"][0], number);
    }
    for sender in senders {
        within(sender).await.unwrap().unwrap();
    }
}
