//! What is bounded, and what a bound does not cut: calls without room, last messages, sizes, queues, turns.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bobbin_framing::Limits;
use bobbin_peer::{
    CallError, Handlers, Mode, NoParams, Peer, PeerOptions, Phase, Route, SendError, StreamFraming, Transport,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::support::{Wire, World, within};

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_room_gives_up_in_its_time() {
    let options = PeerOptions {
        max_queue_messages: 1,
        ..PeerOptions::default()
    };
    let (peer, _far) = Peer::pair_raw(StreamFraming::Lines, 64, options, |_| Handlers::new()).unwrap();
    peer.try_notify("long", json!(["x".repeat(1000)])).unwrap();
    let start = Instant::now();
    let limit = Duration::from_millis(200);
    let answer = peer.call_with_timeout::<Value>("ask", (), limit).await;
    assert!(
        matches!(answer, Err(CallError::TimedOut(after)) if after == limit),
        "{answer:?}"
    );
    assert!((200..220).contains(&start.elapsed().as_millis()));
    let stats = peer.stats();
    assert_eq!((stats.pending_outbound_call_count, stats.calls_timed_out), (0, 1));
}

/// Checklist 80: the time before it was sent is part of a call's time.
#[tokio::test(start_paused = true)]
async fn a_call_that_waited_for_room_has_what_is_left_of_its_time() {
    let options = PeerOptions {
        max_queue_messages: 1,
        ..PeerOptions::default()
    };
    let (peer, mut far) = Peer::pair_raw(StreamFraming::Lines, 64, options, |_| Handlers::new()).unwrap();
    peer.try_notify("long", json!(["x".repeat(1000)])).unwrap();
    let start = Instant::now();
    let call = tokio::spawn({
        let me = peer.handle();
        async move {
            me.call_with_timeout::<Value>("ask", (), Duration::from_millis(200))
                .await
        }
    });
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(far.recv().await.is_some());
    assert!(far.recv().await.is_some());
    assert!(matches!(call.await.unwrap(), Err(CallError::TimedOut(_))));
    assert!(
        (200..220).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
}

/// Takes one message, then breaks in a way no transport should.
struct Panics(bool);

impl AsyncWrite for Panics {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        assert!(!std::mem::replace(&mut self.0, true), "broken by design");
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_transport_that_panics_under_a_sender_ends_the_connection() {
    let (read, _input) = tokio::io::duplex(64);
    let transport = Transport::lines(read, Panics(false), Limits::default());
    let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).unwrap();
    peer.notify("first", ()).await.unwrap();
    let call = tokio::spawn({
        let me = peer.handle();
        async move { me.call::<Value>("ask", ()).await }
    });
    assert!(matches!(within(call).await.unwrap(), Err(CallError::ShutDown)));
    within(peer.closed()).await;
    assert_eq!(peer.phase(), Phase::Stopped);
}

/// A peer whose last answer is this long, on its way to a far end that takes 1 KiB every second; what arrived, and when
/// it was over.
async fn last_answer(bytes: usize) -> (usize, Duration) {
    let (near, mut far) = tokio::io::duplex(1 << 10);
    let (read, write) = tokio::io::split(near);
    let transport = Transport::lines(read, write, Limits::default());
    let peer = Peer::start(transport, PeerOptions::default(), |_| {
        Handlers::new().on_call("big", move |_, _: NoParams| async move { Ok("x".repeat(bytes)) })
    })
    .unwrap();
    far.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\"}\n")
        .await
        .unwrap();
    crate::support::eventually(|| peer.stats().write_queue_bytes > bytes).await;
    far.shutdown().await.unwrap();
    let start = Instant::now();
    let closed = tokio::spawn({
        let me = peer.handle();
        async move {
            me.closed().await;
            start.elapsed()
        }
    });
    let mut arrived = 0;
    let mut part = [0; 1 << 10];
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match far.read(&mut part).await.unwrap() {
            0 => break,
            count => arrived += count,
        }
    }
    (arrived, closed.await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_last_messages_are_written_as_long_as_they_are_taken_within_reason() {
    let (arrived, _) = last_answer(10 << 10).await;
    assert!(arrived > 10 << 10);
    let (arrived, after) = last_answer(100 << 10).await;
    assert!(arrived < 40 << 10, "{arrived}");
    assert_eq!(after.as_secs(), 30);
}

#[tokio::test]
async fn a_message_over_the_bound_is_taken_by_an_empty_queue_from_those_who_do_not_wait() {
    let options = PeerOptions {
        max_queue_bytes: 10_000,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| Handlers::new()).await;
    let large = json!(["x".repeat(10_000)]);
    world.peer.try_notify("large", &large).unwrap();
    assert_eq!(world.far.recv().await["params"], large);
    let message = format!(r#"{{"jsonrpc":"2.0","method":"large","params":{large}}}"#);
    let small = r#"{"jsonrpc":"2.0","method":"small"}"#;
    let batch = world.peer.send_batch(vec![small.into(), message.into()]);
    let (sent, first) = tokio::join!(batch, world.far.recv());
    sent.unwrap();
    let second = world.far.recv().await;
    assert_eq!((&first["method"], &second["params"]), (&json!("small"), &large));
    let told = world.peer.notify("large", json!(["x".repeat(10_000)])).await;
    assert!(matches!(told, Err(SendError::TooLarge { .. })), "{told:?}");
    world.expect_silence().await;
}

#[tokio::test]
async fn a_large_notification_takes_the_place_of_as_many_droppable_ones_as_it_needs() {
    let options = PeerOptions {
        max_queued_notification_bytes: 10_000,
        ..PeerOptions::default()
    };
    let release = Arc::new(tokio::sync::Semaphore::new(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (wait, note) = (Arc::clone(&release), Arc::clone(&seen));
    let mut world = World::with(Wire::Lines, options, |_| {
        let route = Route::from(Mode::ordered("lane")).droppable();
        Handlers::new().on_notification_with("note", route, move |_, (number, _): (u32, String)| {
            let (wait, note) = (Arc::clone(&wait), Arc::clone(&note));
            async move {
                wait.acquire().await.unwrap().forget();
                note.lock().push(number);
                Ok(())
            }
        })
    })
    .await;
    // The first one runs; four small ones wait; the large one needs the room of three of them.
    for number in 0..5 {
        world.far.notify("note", json!([number, "x".repeat(2_000)])).await;
    }
    world.far.notify("note", json!([5, "x".repeat(7_000)])).await;
    world.expect_silence().await;
    assert_eq!(world.peer.stats().queued_inbound_count, 2);
    release.add_permits(10);
    world
        .eventually(|stats| stats.running_notification_count + stats.queued_inbound_count == 0)
        .await;
    assert_eq!(*seen.lock(), [0, 4, 5]);
}

#[tokio::test]
async fn requests_are_bounded_by_their_bytes_too() {
    let options = PeerOptions {
        max_running_request_bytes: 10_000,
        ..PeerOptions::default()
    };
    let release = Arc::new(tokio::sync::Semaphore::new(0));
    let wait = Arc::clone(&release);
    let mut world = World::with(Wire::Lines, options, |_| {
        Handlers::new().on_call("keep", move |_, _: Vec<String>| {
            let wait = Arc::clone(&wait);
            async move {
                wait.acquire().await.unwrap().forget();
                Ok("kept")
            }
        })
    })
    .await;
    // One is let in whatever its size, and nothing beside it.
    world.far.request(1, "keep", json!(["x".repeat(20_000)])).await;
    world.far.request(2, "keep", json!(["x"])).await;
    assert_eq!(world.far.error_of(2).await, -32603);
    release.add_permits(1);
    assert_eq!(world.far.recv().await["result"], "kept");
    world.far.request(3, "keep", json!(["x".repeat(6_000)])).await;
    world.far.request(4, "keep", json!(["x".repeat(6_000)])).await;
    assert_eq!(world.far.error_of(4).await, -32603);
    world.far.request(5, "keep", json!(["x".repeat(3_000)])).await;
    release.add_permits(2);
    for _ in 0..2 {
        assert_eq!(world.far.recv().await["result"], "kept");
    }
}

#[tokio::test]
async fn refusals_in_open_batches_are_bounded_and_repeat_no_long_words() {
    let options = PeerOptions {
        max_answer_bytes: 2_000,
        ..PeerOptions::default()
    };
    let release = Arc::new(tokio::sync::Semaphore::new(0));
    let wait = Arc::clone(&release);
    let mut world = World::with(Wire::Lines, options, |_| {
        Handlers::new().on_call("wait", move |_, _: NoParams| {
            let wait = Arc::clone(&wait);
            async move {
                wait.acquire().await.unwrap().forget();
                Ok(1)
            }
        })
    })
    .await;
    let method = "m".repeat(100_000);
    world.far.request(1, &method, Value::Null).await;
    let answer = world.far.text().await;
    assert!(
        answer.len() < 1_000 && answer.contains("Method not found"),
        "{}",
        answer.len()
    );
    let id = "i".repeat(100_000);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 2, "method": "wait" },
        { "jsonrpc": "2.0", "id": id, "method": "no" },
    ]);
    world.far.send(batch.to_string()).await;
    release.add_permits(1);
    let answers = world.far.recv().await;
    assert_eq!(answers[0]["result"], 1);
    assert_eq!(answers[1]["id"], Value::Null);
}

/// Others have their turns while a long queue of handlers that never wait is worked off.
async fn turns_of_others(handlers: impl FnOnce(Arc<tokio::sync::Semaphore>, Arc<AtomicUsize>) -> Handlers) {
    const QUEUED: usize = 5_000;
    let (release, done) = (
        Arc::new(tokio::sync::Semaphore::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let handlers = handlers(Arc::clone(&release), Arc::clone(&done));
    let (peer, mut far) = Peer::pair_raw(StreamFraming::Lines, 1 << 16, PeerOptions::default(), |_| {
        handlers
    })
    .unwrap();
    far.send(r#"{"jsonrpc":"2.0","method":"first"}"#).await.unwrap();
    for _ in 0..QUEUED {
        far.send(r#"{"jsonrpc":"2.0","method":"quick"}"#).await.unwrap();
    }
    crate::support::eventually(|| peer.stats().queued_inbound_count == QUEUED).await;
    release.add_permits(1);
    let mut longest = 0;
    let mut before = 0;
    within(async {
        while before < QUEUED {
            tokio::task::yield_now().await;
            let now = done.load(Ordering::Relaxed);
            longest = longest.max(now - before);
            before = now;
        }
    })
    .await;
    assert!(longest < QUEUED / 10, "{longest} in one turn");
}

#[tokio::test]
async fn a_row_of_handlers_that_never_wait_lets_others_have_their_turn() {
    turns_of_others(|release, done| {
        Handlers::new()
            .on_notification("first", move |_, _: NoParams| {
                let release = Arc::clone(&release);
                async move {
                    release.acquire().await.unwrap().forget();
                    Ok(())
                }
            })
            .on_notification("quick", move |_, _: NoParams| {
                done.fetch_add(1, Ordering::Relaxed);
                async { Ok(()) }
            })
    })
    .await;
}

#[tokio::test]
async fn a_row_of_deferred_handlers_lets_others_have_their_turn() {
    turns_of_others(|release, done| {
        let last = Arc::new(AtomicUsize::new(0));
        Handlers::new()
            .on_notification_deferred("first", Mode::ordered("lane"), move |_| {
                let release = Arc::clone(&release);
                async move { release.acquire().await.unwrap().forget() }
            })
            .on_notification_deferred("quick", Mode::ordered("lane"), move |cx| {
                let ordinal = usize::try_from(cx.ordinal).unwrap();
                assert_eq!(last.swap(ordinal, Ordering::Relaxed) + 1, ordinal, "in order");
                done.fetch_add(1, Ordering::Relaxed);
                async {}
            })
    })
    .await;
}
