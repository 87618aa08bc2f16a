//! What each fuzz target does with its bytes. The kept corpus goes through the same functions in an
//! ordinary test of `bobbin-peer`, so that what was found once stays found.

use std::future::poll_fn;

use bobbin_framing::{ContentLengthDecoder, Decode, Limits, LineDecoder, WebSocketOptions};
use bobbin_peer::{Handlers, ParseErrorReply, Peer, PeerOptions, Transport};
use bytes::{Bytes, BytesMut};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::runtime::{Builder, Runtime};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

/// Small, so that a short input reaches it.
const MAX_BODY: usize = 64;

fn limits() -> Limits {
    Limits::default().with_max_body_bytes(MAX_BODY)
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made")
}

/// Everything that comes of an input given in pieces of these sizes, again and again: frames, and errors as
/// `None`.
fn decode(mut decoder: impl Decode, mut input: &[u8], sizes: &[usize]) -> Vec<Option<Bytes>> {
    let mut buffer = BytesMut::new();
    let mut out = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !input.is_empty() {
        let size = sizes
            .next()
            .map_or(input.len(), |size| (*size).clamp(1, input.len()));
        let (now, later) = input.split_at(size);
        buffer.extend_from_slice(now);
        input = later;
        while let Some(item) = decoder.decode(&mut buffer) {
            out.push(item.ok());
        }
    }
    while let Some(item) = decoder.finish(&mut buffer) {
        out.push(item.ok());
    }
    out
}

/// The first bytes say how the rest is cut; the frames must not depend on it, and none is over the limit.
fn any_split<D: Decode>(data: &[u8], make: impl Fn() -> D) {
    let (sizes, input) = data.split_at(data.len().min(4));
    let sizes: Vec<usize> = sizes.iter().map(|size| usize::from(*size)).collect();
    let whole = decode(make(), input, &[input.len()]);
    let frames = |items: &[Option<Bytes>]| -> Vec<Bytes> { items.iter().flatten().cloned().collect() };
    assert_eq!(frames(&decode(make(), input, &sizes)), frames(&whole));
    assert!(frames(&whole).iter().all(|frame| frame.len() <= MAX_BODY));
}

/// Lines: any split of the input gives the same messages.
pub fn lines(data: &[u8]) {
    any_split(data, || LineDecoder::new(limits()));
}

/// Content-Length: any split of the input gives the same messages.
pub fn content_length(data: &[u8]) {
    any_split(data, || ContentLengthDecoder::new(limits()));
}

/// WebSocket: whatever a client writes, reading ends, and no message is over the limit.
pub fn websocket(data: &[u8]) {
    runtime().block_on(async {
        let (near, mut far) = tokio::io::duplex(data.len() + 1024);
        far.write_all(data).await.expect("there is room");
        far.shutdown().await.expect("the pipe can be closed");
        let options = WebSocketOptions {
            keep_alive: None,
            ..WebSocketOptions::default()
        };
        let config = bobbin_framing::websocket_config(MAX_BODY);
        let socket = WebSocketStream::from_raw_socket(near, Role::Server, Some(config)).await;
        let Transport { mut reader, .. } = Transport::websocket(socket, options);
        while let Some(frame) = poll_fn(|cx| reader.poll_frame(cx)).await {
            assert!(frame.is_err() || frame.is_ok_and(|frame| frame.len() <= MAX_BODY));
        }
    });
}

/// The envelope: frames cut at zero bytes, to a peer that answers everything it can. Whatever it writes is a
/// message, and it ends in order.
pub fn envelope(data: &[u8]) {
    runtime().block_on(async {
        let (near, far) = Transport::memory_pair();
        let options = PeerOptions {
            parse_error_reply: ParseErrorReply::Always,
            max_batch: 8,
            ..PeerOptions::default()
        };
        let handlers = |_| Handlers::new().on_call("probe", |_, _: Value| async { Ok("here") });
        let peer = Peer::start(near, options, handlers).expect("the handlers agree");
        let Transport {
            mut reader,
            mut writer,
        } = far;
        let write = async {
            for frame in data.split(|byte| *byte == 0) {
                if writer.feed(Bytes::copy_from_slice(frame)).is_err()
                    || poll_fn(|cx| writer.poll_flush(cx)).await.is_err()
                {
                    break;
                }
            }
            drop(writer);
        };
        let read = async {
            while let Some(Ok(frame)) = poll_fn(|cx| reader.poll_frame(cx)).await {
                // As raw text: an id comes back digit for digit, in range of our numbers or not.
                let message: &RawValue = serde_json::from_slice(&frame).expect("what a peer writes is JSON");
                assert!(message.get().starts_with(['{', '[']));
            }
        };
        tokio::join!(write, read);
        peer.closed().await;
    });
}
