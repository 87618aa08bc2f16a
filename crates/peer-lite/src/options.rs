//! How a connection behaves where protocols differ.

use std::time::Duration;

use crate::{ErrorObject, code};

/// What end of input means for requests that are being answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EofPolicy {
    /// They are cancelled.
    CancelNow,
    /// They have this long to finish first.
    DrainFirst(Duration),
}

/// Whether a message without `"jsonrpc":"2.0"` is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionCheck {
    /// It is answered `-32600`.
    Strict,
    /// It is taken.
    Lenient,
}

/// What a message with a method and the id `null` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullId {
    /// A request, answered with `null` as id (JSON-RPC 2.0).
    Request,
    /// A notification.
    Notification,
}

/// Whether a message that is not JSON is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseErrorReply {
    /// With `-32700`, but at most this many times without a good message between.
    AtMost(u32),
    /// Not at all.
    Never,
}

/// Options of one connection.
#[derive(Debug, Clone)]
pub struct Options {
    /// What end of input means.
    pub eof: EofPolicy,
    /// Whether the version is checked.
    pub version: VersionCheck,
    /// What a `null` id means.
    pub null_id: NullId,
    /// Whether garbage is answered.
    pub parse_error_reply: ParseErrorReply,
    /// Requests that may be unanswered at once.
    pub max_running_requests: usize,
    /// The answer to one more.
    pub overloaded: ErrorObject,
    /// Notifications that may wait for their turn; the newest is dropped beyond.
    pub max_queued_notifications: usize,
    /// Bytes that may wait to be written before senders wait and input is left alone.
    pub max_queue_bytes: usize,
    /// Messages, likewise.
    pub max_queue_messages: usize,
    /// How long a write may stand still.
    pub write_stall: Option<Duration>,
    /// How long unanswered requests may take once the end has begun.
    pub drain: Duration,
    /// How long the last messages may take to be written.
    pub flush_grace: Duration,
    /// Read errors in a row after which the connection is taken for broken.
    pub max_consecutive_errors: u32,
}

impl Default for Options {
    /// Plain JSON-RPC 2.0 with the bounds of the peer's specification.
    fn default() -> Self {
        Self {
            eof: EofPolicy::CancelNow,
            version: VersionCheck::Strict,
            null_id: NullId::Request,
            parse_error_reply: ParseErrorReply::AtMost(8),
            max_running_requests: 1024,
            overloaded: ErrorObject::new(code::INTERNAL_ERROR, "Too many requests at once"),
            max_queued_notifications: 10_000,
            max_queue_bytes: 64 << 20,
            max_queue_messages: 65_536,
            write_stall: None,
            drain: Duration::from_secs(5),
            flush_grace: Duration::from_secs(2),
            max_consecutive_errors: 100,
        }
    }
}
