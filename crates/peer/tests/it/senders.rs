//! Senders that write themselves, as they do where nothing is logged: order, full pipes, and outputs that fail under
//! their hands. Checklist 64, 65, 67, 103 and 104.

use std::future::Future as _;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bobbin_framing::{Counted, Limits, WebSocketOptions};
use bobbin_peer::{
    CallError, Handlers, Peer, PeerOptions, Phase, SendError, StreamFraming, TestClient, Transport,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWrite};
use tokio::sync::Barrier;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::support::within;

fn quiet(pipe_bytes: usize, options: PeerOptions) -> (Peer, TestClient) {
    Peer::pair_raw(StreamFraming::Lines, pipe_bytes, options, |_| Handlers::new()).unwrap()
}

async fn recv(far: &mut TestClient) -> Value {
    serde_json::from_slice(&within(far.recv()).await.unwrap().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_of_many_senders_go_out_whole_and_in_each_ones_order() {
    const SENDERS: usize = 8;
    const EACH: u64 = 300;
    let (near, far) = tokio::net::UnixStream::pair().unwrap();
    let transport = |socket: tokio::net::UnixStream| {
        let (read, write) = socket.into_split();
        Transport::lines(read, write, Limits::default())
    };
    let mut far = transport(far);
    let peer = Peer::start(transport(near), PeerOptions::default(), |_| Handlers::new()).unwrap();
    let start = Arc::new(Barrier::new(SENDERS));
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (peer, start) = (peer.handle(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                for count in 0..EACH {
                    if count % 3 == 0 {
                        peer.try_notify("said", json!([sender, count])).unwrap();
                    } else {
                        peer.notify("said", json!([sender, count])).await.unwrap();
                    }
                }
            })
        })
        .collect();
    let mut next = [0_u64; SENDERS];
    for _ in 0..SENDERS as u64 * EACH {
        let message = within(far.next()).await.unwrap().unwrap();
        let message: Value = serde_json::from_slice(&message).unwrap();
        let sender = usize::try_from(message["params"][0].as_u64().unwrap()).unwrap();
        assert_eq!(message["params"][1], next[sender]);
        next[sender] += 1;
    }
    assert_eq!(next, [EACH; SENDERS]);
    for sender in senders {
        sender.await.unwrap();
    }
    within(peer.shutdown()).await;
    let stats = peer.stats();
    assert_eq!(stats.messages_written, SENDERS as u64 * EACH);
    assert_eq!((stats.write_queue_length, stats.write_queue_bytes), (0, 0));
}

#[tokio::test]
async fn what_a_full_pipe_does_not_take_from_a_sender_is_written_later() {
    let (peer, mut far) = quiet(64, PeerOptions::default());
    let text = "x".repeat(1000);
    let handle = peer.handle();
    let params = json!([text]);
    let sent = tokio::spawn(async move { handle.notify("long", params).await });
    // The sender has done what it can, and the pipe is full.
    while peer.stats().write_queue_bytes == 0 {
        tokio::task::yield_now().await;
    }
    peer.try_notify("short", ()).unwrap();
    assert!(!sent.is_finished());
    assert_eq!(recv(&mut far).await["params"][0], text);
    assert_eq!(recv(&mut far).await["method"], "short");
    within(sent).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pipe_that_a_sender_has_filled_and_nobody_empties_ends_the_connection() {
    let options = PeerOptions {
        write_stall_timeout: Some(Duration::from_secs(30)),
        ..PeerOptions::default()
    };
    let (peer, _far) = quiet(64, options);
    let begun = tokio::time::Instant::now();
    let answer = peer.call::<Value>("long", json!(["x".repeat(1000)])).await;
    assert!(matches!(answer, Err(CallError::ShutDown)), "{answer:?}");
    assert!(begun.elapsed() >= Duration::from_secs(30));
    peer.closed().await;
    assert_eq!(peer.phase(), Phase::Stopped);
}

#[tokio::test]
async fn an_output_that_breaks_under_a_sender_ends_the_connection() {
    let (peer, far) = quiet(64, PeerOptions::default());
    let handle = peer.handle();
    let waiting = tokio::spawn(async move { handle.notify("long", json!(["x".repeat(1000)])).await });
    while peer.stats().write_queue_bytes == 0 {
        tokio::task::yield_now().await;
    }
    drop(far);
    let sent = within(waiting).await.unwrap();
    assert!(matches!(sent, Err(SendError::Closed)), "{sent:?}");
    within(peer.closed()).await;
    assert_eq!(peer.stats().write_queue_bytes, 0);
    let late = peer.notify("late", ()).await;
    assert!(matches!(late, Err(SendError::Closed)), "{late:?}");
}

/// Output that, as the standard output does, needs the runtime it is written from.
struct NeedsRuntime(tokio::io::DuplexStream);

impl AsyncWrite for NeedsRuntime {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        assert!(tokio::runtime::Handle::try_current().is_ok(), "no runtime");
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[test]
fn a_sender_outside_of_any_runtime_writes_within_the_connections_own() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let (near_read, _input) = tokio::io::duplex(64);
    let mut far = {
        let (read, write) = tokio::io::split(far);
        Transport::lines(read, write, Limits::default())
    };
    let transport = Transport::lines(near_read, NeedsRuntime(near), Limits::default());
    let peer = {
        let _entered = runtime.enter();
        Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).unwrap()
    };
    runtime.block_on(async {
        peer.try_notify("first", ()).unwrap();
        assert!(within(far.next()).await.is_some());
        while peer.stats().messages_written == 0 {
            tokio::task::yield_now().await;
        }
    });
    // The runtime stands still: this one is written here or not at all.
    let mut sending = pin!(peer.notify("second", ()));
    let sent = sending.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(sent.is_ready());
    assert_eq!(peer.stats().messages_written, 2);
    drop(far);
}

/// A large message takes longer than the patience with a far end that takes nothing.
#[tokio::test(start_paused = true)]
async fn a_far_end_that_takes_a_large_message_slowly_is_not_given_up() {
    let (near, mut far) = tokio::io::duplex(1 << 10);
    let near = WebSocketStream::from_raw_socket(Counted::new(near), Role::Server, None).await;
    let options = PeerOptions {
        write_stall_timeout: Some(Duration::from_secs(30)),
        ..PeerOptions::default()
    };
    let keep_quiet = WebSocketOptions {
        keep_alive: None,
        ..WebSocketOptions::default()
    };
    let transport = Transport::counted_websocket(near, keep_quiet);
    let peer = Peer::start(transport, options, |_| Handlers::new()).unwrap();
    peer.try_notify("long", json!(["x".repeat(10 << 10)])).unwrap();
    let mut part = vec![0; 1 << 10];
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        far.read_exact(&mut part).await.unwrap();
    }
    assert_eq!(peer.phase(), Phase::Active);
    // The rest of it, and then nothing more is taken.
    peer.try_notify("longer", json!(["x".repeat(10 << 10)])).unwrap();
    peer.closed().await;
    assert_eq!(peer.phase(), Phase::Stopped);
}
