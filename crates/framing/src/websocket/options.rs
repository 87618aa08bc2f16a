//! The options of a WebSocket connection.

use std::time::Duration;

use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::writer::FRAGMENT;

/// Read buffer, allocated for the life of the connection: measured 11 KiB a connection instead of 139 KiB with the
/// default buffers.
const READ_BUFFER: usize = 4 << 10;
/// Bytes gathered before they are passed to the socket. Grows on use only, so it costs an idle connection nothing.
/// Four times the read buffer saves system calls for many small frames.
const WRITE_BUFFER: usize = 16 << 10;
/// Space for control frames and headers besides the largest fragment.
const CONTROL_ROOM: usize = 4 << 10;

/// How binary frames are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BinaryFrames {
    /// A binary frame is a message like a text frame.
    #[default]
    Accept,
    /// Binary frames are dropped unread.
    Ignore,
}

/// Pings that this side sends, and the time limit for their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Time between pings.
    pub interval: Duration,
    /// Time within which the other side must show life after a ping was sent. It restarts whenever bytes move in
    /// either direction. It is longer by a second for every 16 KiB that were written and may still be on their way,
    /// by two minutes at most.
    pub timeout: Duration,
}

impl Default for KeepAlive {
    fn default() -> Self {
        // AppServer protocol 01 §3.
        Self {
            interval: Duration::from_secs(30),
            timeout: Duration::from_secs(10),
        }
    }
}

/// Options of one WebSocket connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebSocketOptions {
    /// How binary frames are treated. Default: accepted.
    pub binary: BinaryFrames,
    /// Pings that this side sends; `None` sends none. Default: every 30 s, answer within 10 s.
    pub keep_alive: Option<KeepAlive>,
    /// How long a close waits for the other side to hang up. Default 1 s.
    pub close_grace: Duration,
}

impl Default for WebSocketOptions {
    fn default() -> Self {
        Self {
            binary: BinaryFrames::default(),
            keep_alive: Some(KeepAlive::default()),
            close_grace: Duration::from_secs(1),
        }
    }
}

/// Builds the configuration for accepting or opening a WebSocket: small buffers, every size limited.
///
/// `max_message_bytes` limits incoming messages; a larger one closes with 1009. Outgoing messages may have any
/// size, since they are sent in fragments.
///
/// The stream retains the buffer of a large incoming frame until the connection ends. So a connection that once
/// received a message of some size may occupy that much memory from then on.
pub fn websocket_config(max_message_bytes: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_write_buffer_size(WRITE_BUFFER + FRAGMENT + CONTROL_ROOM)
        .max_message_size(Some(max_message_bytes))
        .max_frame_size(Some(max_message_bytes))
}
