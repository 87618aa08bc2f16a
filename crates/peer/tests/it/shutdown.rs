//! Shutdown, end of input and broken output, over every framing. Checklist 91 to 107.

use std::sync::Arc;
use std::time::Duration;

use bobbin_peer::{
    CallContext, CallError, CancelStyle, EofPolicy, Handlers, Mode, NoParams, Peer, PeerOptions, Phase,
    Responder, Route, SendError, StreamFraming, Transport,
};
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::support::{Framing, Wire, World, begun, sleeper, within};

/// A cooperative handler that ends when told, whatever its token says.
fn stubborn() -> (Arc<Notify>, Handlers) {
    let release = Arc::new(Notify::new());
    let wait = Arc::clone(&release);
    let route = Route::from(Mode::Concurrent).cancel(CancelStyle::Cooperative);
    let handlers = Handlers::new().on_call_with("stubborn", route, move |_, _: NoParams| {
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            Ok("done")
        }
    });
    (release, handlers)
}

/// Checklist 91, 94 and 102.
#[rstest]
#[tokio::test]
async fn shutdown_returns_when_the_last_handler_has_ended_and_its_answer_is_written(
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
    let (release, handlers) = stubborn();
    let mut world = World::new(wire, |_| handlers).await;
    for id in 0..3 {
        world.far.request(id, "stubborn", Value::Null).await;
    }
    world
        .eventually(|stats| stats.running_inbound_request_count == 3)
        .await;
    let me = world.peer.handle();
    let shutdown = tokio::spawn(async move { me.shutdown().await });
    world.eventually(|stats| stats.phase == Phase::ShuttingDown).await;
    let stats = serde_json::to_value(world.peer.stats()).unwrap();
    assert_eq!(
        (&stats["phase"], &stats["runningInboundRequestCount"]),
        (&json!("ShuttingDown"), &json!(3))
    );
    assert!(!shutdown.is_finished());
    for _ in 0..3 {
        // One permit at a time: all three wait by now.
        release.notify_one();
        assert_eq!(world.far.recv().await["result"], "done");
    }
    assert_eq!(world.far.recv_or_end().await, None);
    within(shutdown).await.unwrap();
    let stats = serde_json::to_value(world.peer.stats()).unwrap();
    assert_eq!(
        (&stats["phase"], &stats["runningInboundRequestCount"]),
        (&json!("Stopped"), &json!(0))
    );
    assert_eq!(stats["messagesWritten"], 3);
}

/// Checklist 92.
#[rstest]
#[tokio::test]
async fn shutdown_cancels_a_sleeping_handler_and_writes_its_answer(
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
    world.far.request(1, "sleep", Value::Null).await;
    begun(&begin, 1).await;
    let (shutdown, code) = tokio::join!(within(world.peer.shutdown()), world.far.error_of(1));
    assert_eq!(((), -32800), (shutdown, code));
    assert_eq!(world.far.recv_or_end().await, None);
}

/// Checklist 93, 100 and 101.
#[rstest]
#[tokio::test(start_paused = true)]
async fn shutdown_with_nothing_to_do_returns_at_once_however_often(
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
    let World { peer, mut far, .. } = World::new(wire, |_| Handlers::new()).await;
    let gone = tokio::spawn(async move { far.recv_or_end().await });
    let start = Instant::now();
    tokio::join!(peer.shutdown(), peer.shutdown(), peer.closed());
    assert!(start.elapsed() < Duration::from_millis(100));
    peer.shutdown().await;
    peer.closed().await;
    assert_eq!(gone.await.unwrap(), None);
}

/// Checklist 95, 96 and 97.
#[rstest]
#[tokio::test]
async fn calls_end_with_the_connection_and_none_begins_after(
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
    let (release, handlers) = stubborn();
    let mut world = World::new(wire, |_| handlers).await;
    let ask = |method: &'static str| {
        let me = world.peer.handle();
        tokio::spawn(async move { me.call::<Value>(method, ()).await })
    };
    let (kept, pending, more) = (ask("kept"), ask("pending"), ask("more"));
    for _ in 0..3 {
        let asked = world.far.recv().await;
        if asked["method"] == "kept" {
            world.far.answer(&asked["id"], json!("kept")).await;
        }
    }
    world.far.request(1, "stubborn", Value::Null).await;
    world
        .eventually(|stats| stats.running_inbound_request_count == 1)
        .await;
    world.peer.start_shutdown();
    for call in [pending, more] {
        let error = within(call).await.unwrap().unwrap_err();
        assert!(matches!(error, CallError::ShutDown), "{error:?}");
    }
    assert_eq!(kept.await.unwrap().unwrap(), "kept");
    assert_eq!(world.peer.phase(), Phase::ShuttingDown);
    assert!(matches!(
        within(world.peer.call::<Value>("late", ())).await,
        Err(CallError::ShutDown)
    ));
    // Two calls failed by the shutdown and one refused by it.
    assert_eq!(world.log.of("RpcWarn").len(), 3);
    release.notify_one();
    assert_eq!(world.far.recv().await["result"], "done");
}

/// Checklist 98 and 99.
#[rstest]
#[tokio::test]
async fn the_end_of_input_fails_calls_and_cancels_handlers(
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
    let me = world.peer.handle();
    let waiter = tokio::spawn(async move { me.closed().await });
    let me = world.peer.handle();
    let call = tokio::spawn(async move { me.call::<Value>("ask", ()).await });
    assert_eq!(world.far.recv().await["method"], "ask");
    world.far.request(7, "sleep", Value::Null).await;
    begun(&begin, 1).await;
    assert!(!waiter.is_finished());
    if wire.framing() == Framing::WebSocket {
        // A closed WebSocket carries nothing more in either direction.
        world.far.hang_up().await;
    } else {
        world.far.hang_up().await;
        assert_eq!(world.far.error_of(7).await, -32800);
        assert_eq!(world.far.recv_or_end().await, None);
    }
    assert!(matches!(within(call).await.unwrap(), Err(CallError::ShutDown)));
    within(waiter).await.unwrap();
    assert!(matches!(
        world.peer.call::<Value>("late", ()).await,
        Err(CallError::ShutDown)
    ));
}

/// Checklist 99: the input has ended, and the handler takes its time.
#[rstest]
#[tokio::test]
async fn a_waiter_is_released_when_the_drain_is_over_and_not_when_input_ends(
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
    let (release, handlers) = stubborn();
    let mut world = World::new(wire, |_| handlers).await;
    let me = world.peer.handle();
    let waiter = tokio::spawn(async move { me.closed().await });
    let me = world.peer.handle();
    let call = tokio::spawn(async move { me.call::<Value>("ask", ()).await });
    assert_eq!(world.far.recv().await["method"], "ask");
    world.far.request(7, "stubborn", Value::Null).await;
    world
        .eventually(|stats| stats.running_inbound_request_count == 1)
        .await;
    let hanging_up = tokio::spawn(async move {
        world.far.hang_up().await;
        world
    });
    // The end has been seen: it is what fails the call.
    assert!(matches!(within(call).await.unwrap(), Err(CallError::ShutDown)));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiter.is_finished());
    release.notify_one();
    within(waiter).await.unwrap();
    let world = within(hanging_up).await.unwrap();
    assert_eq!(world.peer.phase(), Phase::Stopped);
}

/// Checklist 105: the requests are in the reader's hands already when a handler before them ends the connection.
#[tokio::test]
async fn requests_read_together_with_the_one_that_shuts_down_start_nothing() {
    let served = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&served);
    let (peer, mut far) =
        bobbin_peer::Peer::pair_raw(StreamFraming::Lines, 1 << 12, PeerOptions::default(), |me| {
            Handlers::new()
                .on_call_deferred("stop", Mode::Concurrent, move |_, responder| {
                    me.start_shutdown();
                    async move { responder.ok("stopped") }
                })
                .on_call("count", move |_, _: NoParams| {
                    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    async { Ok(()) }
                })
        })
        .unwrap();
    let line =
        |id: u32, method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n");
    let all = [line(1, "stop"), line(2, "count"), line(3, "count")].concat();
    far.write(all.as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    while let Some(frame) = within(far.recv()).await {
        let answer: Value = serde_json::from_slice(&frame.unwrap()).unwrap();
        answers.push(answer["id"].clone());
    }
    assert_eq!(answers, [json!(1)]);
    within(peer.closed()).await;
    assert_eq!(served.load(std::sync::atomic::Ordering::Relaxed), 0);
}

/// Checklist 101.
#[rstest]
#[tokio::test]
async fn a_handler_may_shut_its_own_connection_down(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
    #[values(CancelStyle::Drop, CancelStyle::Cooperative)] style: CancelStyle,
) {
    let mut world = World::new(wire, |me| {
        let route = Route::from(Mode::Concurrent).cancel(style);
        Handlers::new().on_call_with("exit", route, move |_, _: NoParams| {
            let me = me.clone();
            async move {
                me.shutdown().await;
                me.shutdown().await;
                Ok("bye")
            }
        })
    })
    .await;
    world.far.request(1, "exit", Value::Null).await;
    world.far.request(2, "exit", Value::Null).await;
    let mut answers = Vec::new();
    while let Some(answer) = world.far.recv_or_end().await {
        answers.push(answer);
    }
    // The second request may have been refused by the shutdown that the first one began.
    assert!((1..=2).contains(&answers.len()), "{answers:?}");
    let refused = answers
        .iter()
        .filter(|answer| answer["error"]["code"] == -32800)
        .count();
    let finished = answers.iter().filter(|answer| answer["result"] == "bye").count();
    assert_eq!(refused + finished, answers.len(), "{answers:?}");
    assert_eq!(style == CancelStyle::Cooperative, finished > 0, "{answers:?}");
    world.stopped().await;
}

/// Checklist 103 and 104.
#[rstest]
#[tokio::test]
async fn a_broken_output_releases_everyone(
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
    let World {
        peer,
        far,
        log,
        traced,
    } = World::new(wire, |_| Handlers::new()).await;
    let text = "x".repeat(500_000);
    let notify = |peer: &bobbin_peer::Peer| {
        let (me, text) = (peer.handle(), text.clone());
        tokio::spawn(async move { me.notify("big", json!([text])).await })
    };
    let (first, second) = (notify(&peer), notify(&peer));
    let me = peer.handle();
    let call = tokio::spawn(async move { me.call::<Value>("ask", ()).await });
    crate::support::eventually(|| peer.stats().pending_outbound_call_count == 1).await;
    drop(far);
    for notified in [first, second] {
        assert!(matches!(within(notified).await.unwrap(), Err(SendError::Closed)));
    }
    assert!(matches!(within(call).await.unwrap(), Err(CallError::ShutDown)));
    within(peer.closed()).await;
    within(peer.shutdown()).await;
    let stats = peer.stats();
    assert_eq!(
        (stats.phase, stats.write_queue_length, stats.write_queue_bytes),
        (Phase::Stopped, 0, 0)
    );
    let errors = log.of("RpcError");
    assert!(
        errors.iter().any(|error| error.starts_with("write failed")),
        "{errors:?}"
    );
    drop(traced);
}

/// Checklist 107: the far end is a process that is killed while messages wait for it.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the far end has to be a process that can be killed"
)]
fn a_killed_process_at_the_far_end_stops_the_connection_and_leaves_no_task() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut child = tokio::process::Command::new("sleep")
            .arg("600")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (output, input) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let transport = Transport::lines(output, input, bobbin_framing::Limits::default());
        let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).unwrap();
        // More than a pipe holds, so that most of it is still queued when the process dies.
        let text = "x".repeat(100_000);
        for _ in 0..10 {
            peer.try_notify("big", json!([text])).unwrap();
        }
        let me = peer.handle();
        let call = tokio::spawn(async move { me.call::<Value>("ask", ()).await });
        crate::support::eventually(|| peer.stats().pending_outbound_call_count == 1).await;
        child.kill().await.unwrap();
        assert!(matches!(within(call).await.unwrap(), Err(CallError::ShutDown)));
        within(peer.closed()).await;
        let stats = peer.stats();
        assert_eq!(
            (stats.phase, stats.write_queue_length, stats.write_queue_bytes),
            (Phase::Stopped, 0, 0)
        );
        let tasks = tokio::runtime::Handle::current().metrics();
        crate::support::eventually(|| tasks.num_alive_tasks() == 0).await;
    });
}

/// Checklist 105.
#[rstest]
#[tokio::test]
async fn what_arrives_after_the_shutdown_began_starts_nothing(
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
    let (release, handlers) = stubborn();
    let mut world = World::new(wire, |_| handlers).await;
    world.far.request(1, "stubborn", Value::Null).await;
    world
        .eventually(|stats| stats.running_inbound_request_count == 1)
        .await;
    world.peer.start_shutdown();
    // The far end may find the input let go already.
    for id in 2..5 {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"probe"}}"#);
        let _let_go = world.far.0.send(message.into()).await;
    }
    sleep(Duration::from_millis(10)).await;
    release.notify_one();
    assert_eq!(
        world.far.recv().await,
        json!({ "jsonrpc": "2.0", "id": 1, "result": "done" })
    );
    assert_eq!(world.far.recv_or_end().await, None);
}

/// Checklist 106.
#[rstest]
#[tokio::test(start_paused = true)]
async fn drain_first_answers_what_was_read_before_the_end(
    #[values(Wire::Lines, Wire::ContentLength)] wire: Wire,
) {
    let options = PeerOptions {
        eof_policy: EofPolicy::DrainFirst(Duration::from_secs(5)),
        ..PeerOptions::default()
    };
    let mut world = World::with(wire, options, |me| {
        Handlers::new().on_call_with("slow", Mode::ordered("a"), move |_, _: NoParams| {
            let me = me.clone();
            async move {
                sleep(Duration::from_secs(1)).await;
                me.notify("on the way", ()).await?;
                Ok("slow")
            }
        })
    })
    .await;
    for id in 1..=3 {
        world.far.request(id, "slow", Value::Null).await;
    }
    world.far.hang_up().await;
    let start = Instant::now();
    for id in 1..=3 {
        assert_eq!(world.far.recv().await["method"], "on the way");
        assert_eq!(
            world.far.recv().await,
            json!({ "jsonrpc": "2.0", "id": id, "result": "slow" })
        );
    }
    assert_eq!(world.far.recv_or_end().await, None);
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn drain_first_has_its_limit_and_fails_calls_at_once() {
    let options = PeerOptions {
        eof_policy: EofPolicy::DrainFirst(Duration::from_secs(5)),
        ..PeerOptions::default()
    };
    let (begin, handlers) = sleeper();
    let mut world = World::with(Wire::Lines, options, |me| {
        handlers.on_call("ask back", move |_, _: NoParams| {
            let me = me.clone();
            async move {
                Ok(me
                    .call::<Value>("never answered", ())
                    .await
                    .map_err(|error| error.code())
                    .unwrap_err())
            }
        })
    })
    .await;
    world.far.request(1, "sleep", Value::Null).await;
    world.far.request(2, "ask back", Value::Null).await;
    begun(&begin, 1).await;
    assert_eq!(world.far.recv().await["method"], "never answered");
    let start = Instant::now();
    world.far.hang_up().await;
    assert_eq!(
        world.far.recv().await,
        json!({ "jsonrpc": "2.0", "id": 2, "result": -32099 })
    );
    assert!(matches!(
        world.peer.call::<Value>("late", ()).await,
        Err(CallError::ShutDown)
    ));
    assert!(start.elapsed() < Duration::from_millis(100));
    assert_eq!(world.far.error_of(1).await, -32800);
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn handlers_that_do_not_end_are_given_up_where_that_is_allowed() {
    let (_release, handlers) = stubborn();
    let kept = Arc::new(Mutex::new(None::<Responder>));
    let keep = Arc::clone(&kept);
    let options = PeerOptions {
        drain_timeout: Some(Duration::from_secs(3)),
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| {
        handlers.on_call_deferred(
            "kept",
            Mode::Concurrent,
            move |_: CallContext, responder: Responder| {
                *keep.lock() = Some(responder);
                async {}
            },
        )
    })
    .await;
    world.far.request(1, "stubborn", Value::Null).await;
    world.far.request(2, "kept", Value::Null).await;
    world
        .eventually(|stats| stats.running_inbound_request_count == 2)
        .await;
    let start = Instant::now();
    let me = world.peer.handle();
    let shutdown = tokio::spawn(async move { me.shutdown().await });
    for id in 1..=2 {
        assert_eq!(world.far.error_of(id).await, -32603);
    }
    shutdown.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 3);
    // An answer now goes nowhere.
    kept.lock().take().unwrap().ok(json!("too late"));
}

#[tokio::test(start_paused = true)]
async fn the_last_flush_has_its_limit() {
    let configure = |_| Handlers::new().on_call("echo", |_, text: Vec<String>| async move { Ok(text) });
    let (peer, mut far) = bobbin_peer::Peer::pair_raw(
        StreamFraming::ContentLength,
        64,
        PeerOptions::default(),
        configure,
    )
    .unwrap();
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "echo", "params": ["x".repeat(100_000)] });
    far.send(&request.to_string()).await.unwrap();
    crate::support::eventually(|| peer.stats().write_queue_bytes > 100_000).await;
    let start = Instant::now();
    peer.shutdown().await;
    assert!(
        (2000..2100).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(peer.phase(), Phase::Stopped);
}

#[tokio::test]
async fn dropping_the_guard_begins_the_shutdown_and_dropping_handles_does_not() {
    let World { peer, mut far, .. } = World::new(Wire::Lines, |_| Handlers::new()).await;
    let handle = peer.handle();
    drop(peer.handle());
    far.request(1, "probe", Value::Null).await;
    assert_eq!(far.recv().await["result"], "here");
    drop(peer);
    within(handle.closed()).await;
    assert_eq!(far.recv_or_end().await, None);
}

#[tokio::test]
async fn handlers_are_dropped_with_the_connection_even_if_they_hold_its_handle() {
    let held = Arc::new(());
    let hold = Arc::clone(&held);
    let World { peer, far, .. } = World::new(Wire::Lines, |me| {
        Handlers::new().on_call("hold", move |_, _: NoParams| {
            let _keep = (me.clone(), Arc::clone(&hold));
            async { Ok(()) }
        })
    })
    .await;
    assert_eq!(Arc::strong_count(&held), 2);
    drop(far);
    within(peer.closed()).await;
    crate::support::eventually(|| Arc::strong_count(&held) == 1).await;
}

#[tokio::test]
async fn a_websocket_is_closed_with_the_code_given() {
    use futures_util::StreamExt;
    use tokio_tungstenite::tungstenite::protocol::{Message, Role};
    let (near, far) = tokio::io::duplex(1 << 12);
    let near = tokio_tungstenite::WebSocketStream::from_raw_socket(near, Role::Server, None).await;
    let mut far = tokio_tungstenite::WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let transport = bobbin_peer::Transport::websocket(near, bobbin_framing::WebSocketOptions::default());
    let peer = bobbin_peer::Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).unwrap();
    peer.notify("last", ()).await.unwrap();
    peer.close_with(1013, "too far behind");
    peer.close_with(1008, "too late to change");
    assert!(matches!(far.next().await, Some(Ok(Message::Text(_)))));
    let Some(Ok(Message::Close(Some(frame)))) = far.next().await else {
        panic!("no close frame")
    };
    assert_eq!(
        (u16::from(frame.code), frame.reason.as_str()),
        (1013, "too far behind")
    );
    drop(far);
    within(peer.closed()).await;
}

/// What a handler does after its answer, in the poll that gave it.
#[derive(Debug, Clone, Copy)]
enum Then {
    Linger,
    EndTheConnection,
    AwaitTheEnd,
}

#[rstest]
#[case::linger(Then::Linger)]
#[case::begin(Then::EndTheConnection)]
#[case::wait(Then::AwaitTheEnd)]
#[tokio::test]
async fn a_handler_that_goes_on_after_its_answer_is_gone_when_the_connection_has_stopped(#[case] then: Then) {
    let here = Arc::new(());
    let inside = Arc::downgrade(&here);
    let mut world = World::new(Wire::Lines, |me| {
        Handlers::new().on_call_deferred("linger", Mode::Concurrent, move |_, responder: Responder| {
            let (me, here) = (me.clone(), Arc::clone(&here));
            async move {
                responder.ok("answered");
                match then {
                    Then::Linger => {}
                    Then::EndTheConnection => me.start_shutdown(),
                    Then::AwaitTheEnd => me.shutdown().await,
                }
                std::future::pending::<()>().await;
                drop(here);
            }
        })
    })
    .await;
    world.far.request(1, "linger", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], "answered");
    if let Then::Linger = then {
        // The id is free again, whatever becomes of the handler.
        world.far.request(1, "linger", Value::Null).await;
        assert_eq!(world.far.recv().await["result"], "answered");
        assert_eq!(world.peer.stats().running_inbound_request_count, 0);
        world.peer.start_shutdown();
    }
    world.stopped().await;
    // The tables may have it still, no future does.
    assert!(inside.strong_count() <= 1, "{}", inside.strong_count());
}

#[tokio::test]
async fn a_deferred_handler_that_panics_after_its_answer_is_told_and_forgotten() {
    let mut world = World::new(Wire::Lines, |_| {
        Handlers::new().on_call_deferred("break", Mode::Concurrent, |_, responder: Responder| async move {
            responder.ok("answered");
            panic!("on purpose");
        })
    })
    .await;
    world.far.request(1, "break", Value::Null).await;
    assert_eq!(world.far.recv().await["result"], "answered");
    world.expect_silence().await;
    assert!(world.errors().iter().any(|text| text.contains("on purpose")));
    world.peer.start_shutdown();
    world.stopped().await;
}
