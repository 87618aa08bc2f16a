//! Connections that end before they have begun: whoever holds a handle learns of it, and the transport is let go.
//! Checklist 80, 103.

use std::sync::Arc;
use std::task::{Context, Poll};

use bobbin_framing::{FrameReader, FramingError};
use bobbin_peer::{CallError, Handlers, NoParams, Peer, PeerHandle, PeerOptions, Phase, Transport};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;

use crate::support::within;

/// What every handle has to see; the other end sees that the output is gone.
async fn has_ended(handle: &PeerHandle, mut far: Transport) {
    within(handle.closed()).await;
    assert_eq!(handle.phase(), Phase::Stopped);
    let answer = within(handle.call::<Value>("ask", ())).await;
    assert!(matches!(answer, Err(CallError::ShutDown)), "{answer:?}");
    assert!(within(far.next()).await.is_none());
}

#[tokio::test]
async fn handlers_that_contradict_each_other_end_what_was_to_begin() {
    let (near, far) = Transport::memory_pair();
    let kept = Arc::new(Mutex::new(None));
    let handler = |_, _: NoParams| async { Ok(()) };
    let started = Peer::start(near, PeerOptions::default(), |me| {
        *kept.lock() = Some(me);
        Handlers::new()
            .on_call("twice", handler)
            .on_call("twice", handler)
    });
    assert!(started.is_err());
    let handle = kept.lock().take().unwrap();
    has_ended(&handle, far).await;
}

#[test]
fn a_runtime_that_ends_first_ends_the_connection() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (near, far) = Transport::memory_pair();
    let short = runtime();
    let peer = {
        let _entered = short.enter();
        Peer::start(near, PeerOptions::default(), |_| Handlers::new()).unwrap()
    };
    drop(short);
    runtime().block_on(has_ended(&peer, far));
}

struct Panics;

impl FrameReader for Panics {
    fn poll_frame(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, FramingError>>> {
        panic!("on purpose")
    }

    fn bytes_read(&self) -> u64 {
        0
    }

    fn preserves_boundaries(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_reader_that_panics_at_once_ends_the_connection() {
    let (near, far) = Transport::memory_pair();
    let transport = Transport {
        reader: Box::new(Panics),
        writer: near.writer,
    };
    let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).unwrap();
    has_ended(&peer, far).await;
}
