//! The options of a connection: every policy and every limit, with its default.

use std::sync::Arc;
use std::time::Duration;

use crate::budget::AnswerBudget;
use crate::error::{ErrorObject, code};
use crate::log::LogFn;

/// How the `jsonrpc` member of incoming messages is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VersionCheck {
    /// It must be `"2.0"`.
    #[default]
    Strict,
    /// It is not checked.
    Lenient,
}

/// How a method with `"id": null` is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NullId {
    /// A request, answered with `"id": null`.
    #[default]
    Request,
    /// A notification.
    Notification,
}

/// How incoming arrays are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Batches {
    /// Serve them (JSON-RPC 2.0 section 6).
    #[default]
    Accept,
    /// Answer one `-32600` with `"id": null`.
    Reject,
}

/// When a text that is not JSON is answered with `-32700`; never more than
/// [`PeerOptions::max_parse_error_replies`] times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParseErrorReply {
    /// Never; it is only logged.
    Never,
    /// Only if the framing preserves message boundaries: not on lines.
    #[default]
    WhenFramed,
    /// On every framing.
    Always,
}

/// How a message over the size limit is treated, besides logging it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OversizeReply {
    /// Nothing.
    #[default]
    Never,
    /// Answer `-32600` with `"id": null`.
    Always,
}

/// The effect of the end of input on running handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EofPolicy {
    /// Cancel them at once.
    #[default]
    CancelNow,
    /// Allow running and queued work at most this long to end by itself, then cancel.
    DrainFirst(Duration),
}

/// The notification that cancels a request, in both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelDialect {
    /// Method name.
    pub method: String,
    /// Member names from the params down to the id.
    pub id_path: Vec<String>,
}

impl Default for CancelDialect {
    fn default() -> Self {
        Self {
            method: "$/cancelRequest".to_owned(),
            id_path: vec!["id".to_owned()],
        }
    }
}

/// Policies and limits of one connection. Start from [`PeerOptions::default`] or [`PeerOptions::bridge`] and change
/// fields.
#[derive(Clone)]
pub struct PeerOptions {
    /// Log callback. Default none.
    pub log: Option<LogFn>,
    /// Default strict.
    pub version_check: VersionCheck,
    /// Default request.
    pub null_id: NullId,
    /// Default accept.
    pub batches: Batches,
    /// Most elements of an incoming batch. Default 256.
    pub max_batch: usize,
    /// Default when framed.
    pub parse_error_reply: ParseErrorReply,
    /// Most `-32700` answers in a row without a valid message in between. Default 8.
    pub max_parse_error_replies: u32,
    /// Default never.
    pub oversize_reply: OversizeReply,
    /// `message` of our `-32600` answers; the reason goes to `data.detail`. Default
    /// `Invalid Request`.
    pub invalid_request_message: &'static str,
    /// Deepest accepted JSON nesting. Default 120; with more than 126, typed decoding may fail on depth.
    pub max_depth: usize,
    /// Read errors in a row without a valid message, after which the connection ends. Default 100.
    pub max_consecutive_errors: u32,
    /// Most admitted requests without an answer; the next one is answered with
    /// [`overload_error`](Self::overload_error). Default 1,024.
    pub max_running_requests: usize,
    /// Most bytes of their methods, ids and params; the next request over this is answered with
    /// [`overload_error`](Self::overload_error). One request is always admitted, whatever its size. Default 128
    /// MiB.
    pub max_running_request_bytes: usize,
    /// The answer to a request over the limits. Default `-32603` "Server overloaded"; the protocol on top may have
    /// a code for this.
    pub overload_error: ErrorObject,
    /// Most notifications waiting in lanes; over it one is dropped. Default 10,000.
    pub max_queued_notifications: usize,
    /// Bytes of params waiting in lanes with them. Default 16 MiB.
    pub max_queued_notification_bytes: usize,
    /// Bytes in the write queue at which senders wait; also the largest single message, answers aside. Default 64
    /// MiB.
    ///
    /// Answers cannot wait and are queued beyond this limit. When the answers in the queue alone exceed the limit,
    /// the reader pauses until they are within it again; requests read before are still answered. Calls and
    /// notifications never pause the reader, however many wait, so two full ends go on reading each other. So the
    /// queue may hold twice this limit, and the answers to admitted requests (at most
    /// [`max_running_requests`](Self::max_running_requests) of [`max_answer_bytes`](Self::max_answer_bytes)). Two
    /// ends that each owe the other more answers than this, and do not read meanwhile, block each other:
    /// [`write_stall_timeout`](Self::write_stall_timeout) ends that.
    pub max_queue_bytes: usize,
    /// The largest answer that is sent, whatever is in the write queue; a larger one becomes an error. The same
    /// limit covers the gathered answers of all batches. Default 64 MiB.
    pub max_answer_bytes: usize,
    /// Counts the answers in the write queue together with those of other connections. The peer refuses nothing
    /// because of it: a handler checks it before it makes a large answer. Default none.
    pub answer_budget: Option<Arc<AnswerBudget>>,
    /// Messages in the write queue: the same rules as for [`max_queue_bytes`](Self::max_queue_bytes). Default 65,536.
    pub max_queue_messages: usize,
    /// Most bytes in one write; a larger message has a write of its own. Default 256 KiB, so that the framing's
    /// buffer is small and stalls are detected early.
    pub flush_bytes: usize,
    /// A write without progress for this long ends the connection. Default none: the peer waits without limit for
    /// another side that stops reading, even if both sides wait for each other.
    pub write_stall_timeout: Option<Duration>,
    /// Longest wait for the last messages to be written once all handlers have ended; restarts whenever the other
    /// side accepts bytes. Default 2 s.
    pub flush_grace: Duration,
    /// Longest time for writing the last messages in any case. Default 30 s.
    pub max_flush_time: Duration,
    /// Longest wait for handlers after shutdown has started; then they are dropped and answered `-32603`. Default
    /// none.
    pub drain_timeout: Option<Duration>,
    /// Default cancel now.
    pub eof_policy: EofPolicy,
    /// Default `$/cancelRequest` with `id`.
    pub cancel: CancelDialect,
    /// Whether the other side is notified when an outgoing call of a method times out or its future is dropped.
    /// Default always.
    pub cancel_on_abandon: fn(method: &str) -> bool,
    /// How long a late answer to a call that timed out is only a warning. Default 60 s.
    pub grace_window: Duration,
    /// Most ids remembered for that. Default 10,000.
    pub max_grace_entries: usize,
    /// Whether all text beyond ASCII is escaped in outgoing messages. Default false.
    pub ascii_json: bool,
    /// Interval at which an unfinished incoming message is logged. Default 10 s.
    pub partial_message_notice: Duration,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self {
            log: None,
            version_check: VersionCheck::default(),
            null_id: NullId::default(),
            batches: Batches::default(),
            max_batch: 256,
            parse_error_reply: ParseErrorReply::default(),
            max_parse_error_replies: 8,
            oversize_reply: OversizeReply::default(),
            invalid_request_message: "Invalid Request",
            max_depth: bobbin_framing::DEFAULT_MAX_DEPTH,
            max_consecutive_errors: 100,
            max_running_requests: 1024,
            max_running_request_bytes: 128 << 20,
            overload_error: ErrorObject::new(code::INTERNAL_ERROR, "Server overloaded"),
            max_queued_notifications: 10_000,
            max_queued_notification_bytes: 16 << 20,
            max_queue_bytes: 64 << 20,
            max_answer_bytes: 64 << 20,
            answer_budget: None,
            max_queue_messages: 65_536,
            flush_bytes: 256 << 10,
            write_stall_timeout: None,
            flush_grace: Duration::from_secs(2),
            max_flush_time: Duration::from_secs(30),
            drain_timeout: None,
            eof_policy: EofPolicy::default(),
            cancel: CancelDialect::default(),
            cancel_on_abandon: |_| true,
            grace_window: Duration::from_mins(1),
            max_grace_entries: 10_000,
            ascii_json: false,
            partial_message_notice: Duration::from_secs(10),
        }
    }
}

impl PeerOptions {
    /// Options for protocols without batches, such as MCP and ACP.
    pub fn bridge() -> Self {
        Self {
            batches: Batches::Reject,
            ..Self::default()
        }
    }

    pub(crate) fn charset(&self) -> crate::encode::Charset {
        if self.ascii_json {
            crate::encode::Charset::Ascii
        } else {
            crate::encode::Charset::Utf8
        }
    }
}

impl std::fmt::Debug for PeerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerOptions").finish_non_exhaustive()
    }
}
