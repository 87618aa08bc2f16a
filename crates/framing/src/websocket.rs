//! One WebSocket text frame per message, for either end of an established WebSocket.
//!
//! Both halves need the one stream: the reader answers pings and sends its own, the writer sends frames and closes.
//! The stream is in a plain mutex that is locked for one poll, never across an await. Memory per connection: the
//! configured buffers, one incoming message, one outgoing frame. Wire rules: peer spec 3.3; AppServer protocol 01
//! §3; RFC 6455.

mod counted;
mod options;
mod pinger;
mod reader;
mod shared;
mod writer;

pub use counted::{Counted, Counts};
pub use options::{BinaryFrames, KeepAlive, WebSocketOptions, websocket_config};
pub use reader::WebSocketReader;
pub(crate) use shared::{split, split_counted};
pub use writer::WebSocketWriter;
