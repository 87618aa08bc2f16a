//! Bytes to messages and back: lines, Content-Length headers and WebSocket text, with limits.
//!
//! A [`FrameReader`] turns a stream into whole messages and survives garbage where its framing allows; a
//! [`FrameWriter`] writes many messages with one flush. Neither looks into a message. [`depth`] is the one
//! exception: a scan that must come before any parser.

mod content_length;
pub mod depth;
mod error;
mod lines;
mod transport;
mod web_socket;

pub use content_length::content_length;
pub use error::FramingError;
pub use lines::lines;
pub use transport::{Close, FrameReader, FrameWriter, Framing, Transport, memory_pair};
pub use web_socket::{WebSocketLimits, web_socket, web_socket_config};
