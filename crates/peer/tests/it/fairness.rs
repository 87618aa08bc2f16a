//! Neither half of a connection keeps the other from its work: floods of input, both ends full at once, and output that
//! never ends. Checklist 63, 64 and 134.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bobbin_framing::{CloseReason, FrameWriter, FramingError, WebSocketOptions, websocket_config};
use bobbin_peer::{Handlers, NoParams, Peer, PeerOptions, Transport};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::duplex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::support::{Wire, begun, connected, eventually, sleeper, within};

#[tokio::test]
async fn what_is_to_be_written_goes_out_while_large_messages_keep_coming() {
    const MESSAGES: u64 = 128;
    // The whole flood lies ready, far more of it than the runtime lets a task read in one go.
    let (near, far) = duplex(16 << 20);
    let config = websocket_config(1 << 20);
    let near = WebSocketStream::from_raw_socket(near, Role::Server, Some(config)).await;
    let far = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let options = WebSocketOptions {
        keep_alive: None,
        ..WebSocketOptions::default()
    };
    let mut far = Transport::websocket(far, options);
    let text = "x".repeat(64 << 10);
    for _ in 0..MESSAGES {
        let message = json!({ "jsonrpc": "2.0", "method": "heard", "params": [text] });
        far.send(message.to_string().into()).await.unwrap();
    }
    let peer = Peer::start(
        Transport::websocket(near, options),
        PeerOptions::default(),
        |_| Handlers::new().on_notification("heard", |_, _: Value| async { Ok(()) }),
    )
    .unwrap();
    peer.try_notify("said", ()).unwrap();
    within(async {
        while peer.stats().messages_written == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let read = peer.stats().messages_read;
    assert!(read < MESSAGES, "written after {read} messages");
    within(async {
        while peer.stats().messages_read < MESSAGES {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Each end has more to send than its queue and the pipe hold, and answers to write behind that.
#[tokio::test(start_paused = true)]
async fn two_ends_that_are_both_full_go_on_reading_each_other() {
    const MESSAGES: usize = 200;
    let options = || PeerOptions {
        max_queue_bytes: 4096,
        ..PeerOptions::default()
    };
    let handlers = |_| {
        Handlers::new()
            .on_call("ask", |_, _: NoParams| async { Ok(()) })
            .on_notification("said", |_, _: Value| async { Ok(()) })
    };
    let (near, far) = connected(Wire::Lines, 256).await;
    let near = Peer::start(near, options(), handlers).unwrap();
    let far = Peer::start(far, options(), handlers).unwrap();
    let mut sending = Vec::new();
    for number in 0..MESSAGES {
        for peer in [&near, &far] {
            let peer = peer.handle();
            sending.push(tokio::spawn(async move {
                // A bunch of calls in the middle of it: few enough for their answers to fit.
                if number / 20 == MESSAGES / 40 {
                    peer.call::<Value>("ask", ()).await.unwrap();
                } else {
                    peer.notify("said", json!(["x".repeat(60)])).await.unwrap();
                }
            }));
        }
    }
    for sent in sending {
        within(sent).await.unwrap();
    }
}

/// Calls of our own that nobody takes do not keep the cancel of a request from being read.
#[tokio::test(start_paused = true)]
async fn a_queue_full_of_calls_does_not_keep_a_cancel_out() {
    let options = PeerOptions {
        max_queue_messages: 4,
        ..PeerOptions::default()
    };
    let (near, mut far) = connected(Wire::Lines, 256).await;
    let (started, sleep) = sleeper();
    let peer = Peer::start(near, options, |_| sleep).unwrap();
    for id in 1..=6 {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "sleep" });
        far.send(message.to_string().into()).await.unwrap();
    }
    begun(&started, 6).await;
    while peer.try_notify("said", json!(["x".repeat(300)])).is_ok() {}
    for id in 1..=6 {
        let message = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } });
        within(far.send(message.to_string().into())).await.unwrap();
    }
    eventually(|| peer.stats().running_inbound_request_count == 0).await;
}

/// Takes everything at once, and counts flushes.
#[derive(Clone, Default)]
struct Bottomless(Arc<AtomicU64>);

impl FrameWriter for Bottomless {
    fn feed(&mut self, _: Bytes) -> Result<(), FramingError> {
        Ok(())
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FramingError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, _: &CloseReason) -> Poll<Result<(), FramingError>> {
        Poll::Ready(Ok(()))
    }

    fn bytes_written(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn one_poll_does_not_write_everything_that_is_queued() {
    const MESSAGES: u64 = 1000;
    let flushes = Bottomless::default();
    let (near, _far) = Transport::memory_pair();
    let transport = Transport {
        reader: near.reader,
        writer: Box::new(flushes.clone()),
    };
    let options = PeerOptions {
        // Every message is a batch.
        flush_bytes: 1,
        ..PeerOptions::default()
    };
    let peer = Peer::start(transport, options, |_| Handlers::new()).unwrap();
    for _ in 0..MESSAGES {
        peer.try_notify("said", ()).unwrap();
    }
    // In line with the connection's task, and so looking between its polls.
    let first = tokio::spawn(poll_fn(move |cx| match flushes.bytes_written() {
        0 => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        count => Poll::Ready(count),
    }));
    let first = within(first).await.unwrap();
    assert!(first < 100, "{first} in one poll");
    eventually(|| peer.stats().messages_written == MESSAGES).await;
}
