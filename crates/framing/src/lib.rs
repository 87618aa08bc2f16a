//! Bytes to messages and back, for Content-Length, lines and WebSocket, with limits.
//!
//! A *frame* is one message body: bytes that should be one JSON text, not yet parsed. This crate cuts frames out of
//! a connection's bytes and writes frames to it. It knows no JSON beyond the nesting scan in
//! [`depth`](within_depth), no ids and no methods. The three framings implement [`FrameReader`] and
//! [`FrameWriter`], so the peer on top does not depend on which one it uses.
//!
//! All partial state is in the reader and writer values, never in a future: dropping a pending read or flush loses
//! nothing. Every buffer is bounded by [`Limits`] or by the one frame being moved.
//!
//! Wire rules: peer spec 3; AppServer protocol 01 §2 and §3.

mod content_length;
mod depth;
mod error;
mod frame;
mod limits;
mod lines;
mod memory;
mod stream;
mod websocket;

pub use content_length::{ContentLengthDecoder, ContentLengthEncoder, ContentType};
pub use depth::{DEFAULT_MAX_DEPTH, within_depth};
pub use error::FramingError;
pub use frame::{CloseReason, FrameReader, FrameWriter, Transport};
pub use limits::Limits;
pub use lines::{LineDecoder, LineEncoder};
pub use memory::{MemoryReader, MemoryWriter, memory_pair};
pub use stream::{Decode, Encode, StreamReader, StreamWriter};
pub use websocket::{
    BinaryFrames, Counted, Counts, KeepAlive, WebSocketOptions, WebSocketReader, WebSocketWriter,
    websocket_config,
};
