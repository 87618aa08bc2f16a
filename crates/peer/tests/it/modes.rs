//! How handlers stand to each other: lanes, barriers, deferred answers, limits, layers.

use std::sync::Arc;
use std::time::Duration;

use bobbin_peer::{
    CallContext, CancelStyle, ErrorObject, HandlerFuture, Handlers, Layer, Mode, NextCall, NextNotification,
    NoParams, NotificationContext, Outgoing, Peer, PeerOptions, Responder, Route, SendError, tee,
};
use bytes::Bytes;
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::support::{Entries, Framing, Wire, World, begun, eventually, sleeper, within};

type Seen = Arc<Mutex<Vec<String>>>;

/// Everything in one lane, handed over to the test.
fn handed_over() -> (mpsc::Receiver<(CallContext, Responder)>, Handlers) {
    let (give, take) = mpsc::channel(1);
    let handlers = Handlers::new().fallback_call_deferred(Mode::ordered("in"), move |cx, responder| {
        let give = give.clone();
        async move {
            // A test that ended does not care.
            let _gone = give.send((cx, responder)).await;
        }
    });
    (take, handlers)
}

#[rstest]
#[tokio::test]
async fn an_answer_is_ahead_of_whatever_is_sent_after_it(
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
    let (mut take, handlers) = handed_over();
    let mut world = World::new(wire, |_| handlers).await;
    for id in 0..50 {
        world.far.request(id, "work", Value::Null).await;
        let (cx, responder) = within(take.recv()).await.unwrap();
        responder.ok_raw(Bytes::from_static(b"{\"accepted\":true}"));
        cx.peer.try_notify("started", json!([id])).unwrap();
        assert_eq!(world.far.recv().await["id"], id);
        assert_eq!(world.far.recv().await["params"], json!([id]));
    }
}

#[rstest]
#[tokio::test]
async fn a_lane_goes_on_while_a_handed_over_request_is_open(
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
    let (mut take, handlers) = handed_over();
    let mut world = World::new(wire, |_| handlers).await;
    let mut open = Vec::new();
    for id in 0..5 {
        world.far.request(id, "work", Value::Null).await;
        open.push(within(take.recv()).await.unwrap());
    }
    assert_eq!(world.peer.stats().running_inbound_request_count, 5);
    for (cx, responder) in open.into_iter().rev() {
        responder.ok(cx.ordinal);
        assert_eq!(world.far.recv().await["result"], cx.ordinal);
    }
    assert_eq!(world.peer.stats().running_inbound_request_count, 0);
}

#[tokio::test]
async fn calls_and_notifications_of_one_lane_are_handed_over_in_arrival_order() {
    let seen = Seen::default();
    let gate = Arc::new(Notify::new());
    let (calls, told, wait) = (Arc::clone(&seen), Arc::clone(&seen), Arc::clone(&gate));
    let mut world = World::new(Wire::Lines, |_| {
        Handlers::new()
            .fallback_call_deferred(Mode::ordered("in"), move |cx, responder| {
                let (seen, gate) = (Arc::clone(&calls), Arc::clone(&wait));
                async move {
                    if &*cx.method == "wait" {
                        gate.notified().await;
                    }
                    seen.lock().push(cx.ordinal.to_string());
                    responder.ok(());
                }
            })
            .fallback_notification_deferred(Mode::ordered("in"), move |cx| {
                let seen = Arc::clone(&told);
                async move { seen.lock().push(cx.ordinal.to_string()) }
            })
    })
    .await;
    world.far.request(1, "wait", Value::Null).await;
    for id in 2..1000 {
        if id % 3 == 0 {
            world.far.notify("told", Value::Null).await;
        } else {
            world.far.request(id, "asked", Value::Null).await;
        }
    }
    world.eventually(|stats| stats.queued_inbound_count == 998).await;
    gate.notify_one();
    eventually(|| seen.lock().len() == 999).await;
    assert_eq!(
        *seen.lock(),
        (0..999)
            .map(|ordinal: i32| ordinal.to_string())
            .collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_responder_dropped_unused_answers_all_the_same() {
    let (mut take, handlers) = handed_over();
    let mut world = World::new(Wire::Lines, |_| handlers).await;
    world.far.request(1, "work", Value::Null).await;
    drop(within(take.recv()).await.unwrap());
    assert_eq!(world.far.error_of(1).await, -32603);
    assert_eq!(world.errors().len(), 1);
    world.far.request(2, "work", Value::Null).await;
    let (cx, responder) = within(take.recv()).await.unwrap();
    world.far.cancel(2).await;
    within(cx.token().cancelled()).await;
    drop(responder);
    assert_eq!(world.far.error_of(2).await, -32800);
}

#[rstest]
#[case::cooperative(CancelStyle::Cooperative)]
#[case::drop(CancelStyle::Drop)]
#[tokio::test]
async fn a_cancel_of_a_handed_over_request_follows_its_style(#[case] style: CancelStyle) {
    let kept = Arc::new(Mutex::new(None::<Responder>));
    let keep = Arc::clone(&kept);
    let mut world = World::new(Wire::Lines, |_| {
        let route = Route::from(Mode::Concurrent).cancel(style);
        Handlers::new().on_call_deferred("work", route, move |_, responder| {
            *keep.lock() = Some(responder);
            async {}
        })
    })
    .await;
    world.far.request(1, "work", Value::Null).await;
    world
        .eventually(|stats| stats.running_inbound_request_count == 1)
        .await;
    world.far.cancel(1).await;
    match style {
        CancelStyle::Cooperative => {
            world.expect_silence().await;
            kept.lock().take().unwrap().ok("done after all");
            assert_eq!(world.far.recv().await["result"], "done after all");
        }
        CancelStyle::Drop => {
            assert_eq!(world.far.error_of(1).await, -32800);
            kept.lock().take().unwrap().ok("too late");
            world.expect_silence().await;
        }
    }
}

#[tokio::test]
async fn a_barrier_holds_what_arrives_behind_it_but_no_response() {
    let seen = Seen::default();
    let see = Arc::clone(&seen);
    let mut world = World::new(Wire::Lines, |me| {
        let note = Arc::clone(&see);
        Handlers::new()
            .on_call_with("initialize", Mode::Barrier, move |_, _: NoParams| {
                let (me, see) = (me.clone(), Arc::clone(&see));
                async move {
                    // A barrier may await the other side.
                    let answer: String = me.call("who", ()).await?;
                    see.lock().push(format!("initialized by {answer}"));
                    Ok(answer)
                }
            })
            .on_notification("told", move |cx: NotificationContext, _: NoParams| {
                note.lock().push(format!("told {}", cx.ordinal));
                async { Ok(()) }
            })
            .on_call_with("second barrier", Mode::Barrier, |_, _: NoParams| async {
                Ok("second")
            })
    })
    .await;
    world.far.request(1, "initialize", Value::Null).await;
    world.far.notify("told", Value::Null).await;
    world.far.request(2, "probe", Value::Null).await;
    world.far.request(3, "second barrier", Value::Null).await;
    world.far.request(4, "probe", Value::Null).await;
    let question = world.far.recv().await;
    assert_eq!(question["method"], "who");
    world.eventually(|stats| stats.queued_inbound_count == 4).await;
    assert!(seen.lock().is_empty());
    world.far.answer(&question["id"], json!("client")).await;
    let mut answered = Vec::new();
    for _ in 0..4 {
        answered.push(world.far.recv().await["id"].as_i64().unwrap());
    }
    assert_eq!(answered[0], 1);
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4]);
    eventually(|| seen.lock().len() == 2).await;
    assert_eq!(*seen.lock(), ["initialized by client", "told 1"]);
}

#[rstest]
#[tokio::test]
async fn a_request_over_the_limit_is_refused_at_once_and_others_are_not_hurt(
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
    let options = PeerOptions {
        max_running_requests: 32,
        overload_error: ErrorObject::new(-32001, "Server overloaded; retry later.")
            .with_data(json!({ "retryAfterMs": 250 })),
        ..PeerOptions::default()
    };
    let mut world = World::with(wire, options, |_| handlers).await;
    for id in 0..33 {
        world.far.request(id, "sleep", Value::Null).await;
    }
    assert_eq!(
        world.far.recv().await,
        json!({ "jsonrpc": "2.0", "id": 32, "error": {
            "code": -32001, "message": "Server overloaded; retry later.", "data": { "retryAfterMs": 250 } } })
    );
    begun(&begin, 32).await;
    assert_eq!(world.log.of("RpcWarn").len(), 1);
    // Cancels and notifications still get through, and make room.
    world.far.cancel(0).await;
    assert_eq!(world.far.error_of(0).await, -32800);
    world.far.request(100, "probe", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], "here");
}

#[tokio::test]
async fn five_thousand_requests_written_unread_get_five_thousand_answers() {
    let options = PeerOptions {
        max_running_requests: 32,
        max_queue_bytes: 64 << 10,
        ..PeerOptions::default()
    };
    let handlers = |_| Handlers::new().on_call("probe", |_, _: NoParams| async { Ok("here") });
    let (peer, far) = Peer::pair_raw(bobbin_peer::StreamFraming::Lines, 1 << 12, options, handlers).unwrap();
    let far = Arc::new(tokio::sync::Mutex::new(far));
    // The far end writes without reading for as long as it can, then reads while it writes on.
    let mut written = 0;
    let mut answered = 0;
    let mut far = Arc::into_inner(far).unwrap().into_inner();
    while answered < 5000 {
        let sent = written < 5000 && {
            let message = format!(r#"{{"jsonrpc":"2.0","id":{written},"method":"probe"}}"#);
            // A pipe that takes nothing for a while is full: the peer has stopped reading.
            tokio::time::timeout(Duration::from_millis(50), far.send(&message))
                .await
                .is_ok()
        };
        if sent {
            written += 1;
            continue;
        }
        assert!(peer.stats().write_queue_bytes < (64 << 10) + 4096);
        // A message cut off by the full pipe, be it by its line end only, is ended here: it parses as nothing and is not
        // answered.
        let batch = if written < 5000 { 500 } else { usize::MAX };
        for _ in 0..batch {
            match tokio::time::timeout(Duration::from_millis(200), far.recv()).await {
                Ok(Some(Ok(_))) => answered += 1,
                _ => break,
            }
        }
        if written < 5000 {
            far.write(b"x\n").await.unwrap();
        }
    }
    assert_eq!(answered, 5000);
}

#[tokio::test]
async fn waiting_notifications_are_bounded_and_the_droppable_go_first() {
    let (seen, gate) = (Seen::default(), Arc::new(Notify::new()));
    let step = |droppable: bool| {
        let (see, wait) = (Arc::clone(&seen), Arc::clone(&gate));
        let route = Route::from(Mode::ordered("a"));
        let route = if droppable { route.droppable() } else { route };
        (route, move |cx: NotificationContext| {
            let (see, wait) = (Arc::clone(&see), Arc::clone(&wait));
            async move {
                if cx.ordinal == 0 {
                    wait.notified().await;
                }
                see.lock().push(format!("{} {}", cx.method, cx.ordinal));
                Ok(())
            }
        })
    };
    let options = PeerOptions {
        max_queued_notifications: 3,
        ..PeerOptions::default()
    };
    let (keep_route, keep) = step(false);
    let (drop_route, dropping) = step(true);
    let mut world = World::with(Wire::Lines, options, |_| {
        Handlers::new()
            .on_notification_raw("keep", keep_route, keep)
            .on_notification_raw("drop", drop_route, dropping)
    })
    .await;
    for method in ["keep", "drop", "keep", "drop", "keep", "keep", "keep"] {
        world.far.notify(method, Value::Null).await;
    }
    world.expect_silence().await;
    assert_eq!(world.log.of("RpcWarn").len(), 3);
    gate.notify_one();
    eventually(|| seen.lock().len() == 4).await;
    assert_eq!(*seen.lock(), ["keep 0", "keep 2", "keep 4", "keep 5"]);
}

#[derive(Debug)]
struct Gate(Seen);

impl Layer for Gate {
    fn call(&self, cx: CallContext, responder: Responder, next: NextCall) -> HandlerFuture {
        self.0.lock().push(format!("call {}", cx.method));
        if &*cx.method == "forbidden" {
            responder.err(ErrorObject::new(-32002, "Not initialized"));
            return Box::pin(async { Ok(()) });
        }
        let (seen, inner) = (Arc::clone(&self.0), next.run(cx, responder));
        Box::pin(async move {
            let result = inner.await;
            seen.lock().push("after".to_owned());
            result
        })
    }

    fn notification(&self, cx: NotificationContext, next: NextNotification) -> HandlerFuture {
        self.0.lock().push(format!("notification {}", cx.method));
        next.run(cx)
    }

    fn outgoing(&self, message: &mut Outgoing) -> Result<(), SendError> {
        self.0.lock().push(format!("outgoing {}", message.method));
        if &*message.method == "secret" {
            Err(SendError::Closed)
        } else {
            Ok(())
        }
    }
}

#[tokio::test]
async fn layers_stand_around_handlers_and_sends() {
    let seen = Seen::default();
    let layer = Gate(Arc::clone(&seen));
    let mut world = World::new(Wire::Lines, |_| {
        Handlers::new()
            .layer(layer)
            .on_notification("told", |_, _: NoParams| async { Ok(()) })
    })
    .await;
    world.far.request(1, "forbidden", Value::Null).await;
    assert_eq!(world.far.error_of(1).await, -32002);
    world.far.request(2, "unknown", Value::Null).await;
    assert_eq!(world.far.error_of(2).await, -32601);
    world.far.notify("told", Value::Null).await;
    world.peer.notify("out", ()).await.unwrap();
    assert!(world.peer.notify("secret", ()).await.is_err());
    assert_eq!(world.far.recv().await["method"], "out");
    world.expect_silence().await;
    let seen = seen.lock().clone();
    for entry in [
        "call forbidden",
        "call unknown",
        "after",
        "notification told",
        "outgoing out",
        "call probe",
    ] {
        assert!(seen.iter().any(|seen| seen == entry), "{entry}: {seen:?}");
    }
}

#[tokio::test]
async fn two_log_callbacks_get_every_message() {
    let (log, second) = (Entries::default(), Entries::default());
    let options = PeerOptions {
        log: Some(tee(log.callback(), second.callback())),
        ..PeerOptions::default()
    };
    let (near, far) = crate::support::connected(Wire::Lines, 1 << 12).await;
    let _peer = Peer::start(near, options, |_| {
        Handlers::new().on_call("name", |_, _: Value| async { Ok("n") })
    })
    .unwrap();
    let mut far = crate::support::Far(far);
    far.request(1, "name", json!({})).await;
    assert_eq!(far.recv().await["result"], "n");
    for log in [log, second] {
        assert_eq!((log.of("RpcRead").len(), log.of("RpcWrite").len()), (1, 1));
    }
}

/// Checklist 135.
#[tokio::test]
async fn a_log_callback_that_panics_does_not_break_the_connection() {
    let options = PeerOptions {
        log: Some(Arc::new(|_| panic!("in the log"))),
        ..PeerOptions::default()
    };
    let (near, far) = crate::support::connected(Wire::Lines, 1 << 12).await;
    let peer = Peer::start(near, options, |_| Handlers::new()).unwrap();
    let mut far = crate::support::Far(far);
    for id in 0..5 {
        far.request(id, "unknown", Value::Null).await;
        assert_eq!(far.error_of(id).await, -32601);
    }
    assert!(peer.stats().log_panics >= 10);
}

/// Checklist 135.
#[tokio::test]
async fn a_log_callback_may_ask_the_connection_itself() {
    let handle = Arc::new(Mutex::new(None::<bobbin_peer::PeerHandle>));
    let asked = Arc::clone(&handle);
    let options = PeerOptions {
        log: Some(Arc::new(move |_| {
            if let Some(handle) = &*asked.lock() {
                std::thread::sleep(Duration::from_millis(1));
                let _stats = handle.stats();
            }
        })),
        ..PeerOptions::default()
    };
    let (near, far) = crate::support::connected(Wire::Lines, 1 << 12).await;
    let _peer = Peer::start(near, options, |me| {
        *handle.lock() = Some(me);
        Handlers::new()
    })
    .unwrap();
    let mut far = crate::support::Far(far);
    far.request(1, "unknown", Value::Null).await;
    assert_eq!(far.error_of(1).await, -32601);
    handle.lock().take();
}

#[tokio::test]
async fn a_connection_carries_values_by_type() {
    let (near, _far) = Peer::pair(|_| Handlers::new(), |_| Handlers::new()).unwrap();
    assert!(near.extensions().get::<String>().is_none());
    near.extensions().insert("user".to_owned());
    near.extensions().insert(7_u32);
    assert_eq!(near.extensions().get::<String>().unwrap().as_str(), "user");
    assert_eq!(*near.handle().extensions().get::<u32>().unwrap(), 7);
}
