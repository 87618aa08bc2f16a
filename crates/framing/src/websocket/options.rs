//! What a WebSocket connection is asked to do beyond carrying frames.

use std::time::Duration;

use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::writer::FRAGMENT;

/// Read buffer, held for as long as the connection lives: measured 11 KiB a connection instead of
/// the 139 KiB that the default buffers cost.
const READ_BUFFER: usize = 4 << 10;
/// Bytes gathered before they are handed to the socket. Grows on use only, so it costs an idle
/// connection nothing; four times the read buffer saves system calls when many small frames leave.
const WRITE_BUFFER: usize = 16 << 10;
/// Room for control frames and headers beside the largest fragment.
const CONTROL_ROOM: usize = 4 << 10;

/// What becomes of binary frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BinaryFrames {
    /// A binary frame is a message like a text frame.
    #[default]
    Accept,
    /// Binary frames are dropped unseen.
    Ignore,
}

/// Pings of our own, and how long their answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Time between pings.
    pub interval: Duration,
    /// Time within which the other side must show life after a ping has left. It begins anew as long as bytes move
    /// either way, and is longer by a second for every 16 KiB, by two minutes at most, that were written and may still be
    /// on their way.
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

/// Behaviour of one WebSocket connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebSocketOptions {
    /// What becomes of binary frames. Default: accepted.
    pub binary: BinaryFrames,
    /// Pings of our own; `None` sends none. Default: every 30 s, answer within 10 s.
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

/// Builds the configuration to accept or open a WebSocket with: small buffers, every size bounded.
///
/// `max_message_bytes` bounds what is read; more closes with 1009. What is written may be of any size, as it leaves in
/// fragments.
///
/// The buffer that a large incoming frame came in is kept by the stream until the connection ends: one that has sent a
/// message of some size once may hold that much memory from then on.
pub fn websocket_config(max_message_bytes: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_write_buffer_size(WRITE_BUFFER + FRAGMENT + CONTROL_ROOM)
        .max_message_size(Some(max_message_bytes))
        .max_frame_size(Some(max_message_bytes))
}
