//! Counters, and a snapshot of them.

use std::time::Duration;

use serde::Serialize;

/// The phase of a connection. It only advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// Reads, dispatches, writes.
    Active,
    /// Accepts no more input; waits for handlers to end and writes their answers.
    ShuttingDown,
    /// Nothing is left; every waiter has been released.
    Stopped,
}

/// Counters that only grow.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) messages_read: u64,
    pub(crate) read_errors: u64,
    pub(crate) calls_timed_out: u64,
    pub(crate) log_panics: u64,
}

/// A connection's state at one moment (peer spec 12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The connection's phase.
    pub phase: Phase,
    /// Messages behind those being written.
    pub write_queue_length: usize,
    /// Outgoing calls without an answer.
    pub pending_outbound_call_count: usize,
    /// Running handlers, of requests and notifications; a request counts until it is answered.
    pub running_inbound_request_count: usize,
    /// Whether an outgoing call with a deadline is pending.
    pub timer_armed: bool,
    /// Ids whose late answer is expected.
    pub recently_timed_out_call_count: usize,
    /// Of the running handlers, those of notifications.
    pub running_notification_count: usize,
    /// Requests and notifications that wait for others to end.
    pub queued_inbound_count: usize,
    /// Bytes of messages queued and being written.
    pub write_queue_bytes: usize,
    /// Bytes read from the transport.
    pub bytes_read: u64,
    /// Bytes written to the transport.
    pub bytes_written: u64,
    /// Frames received, good or bad.
    pub messages_read: u64,
    /// Frames written and flushed.
    pub messages_written: u64,
    /// Read and parse errors.
    pub read_errors: u64,
    /// Outgoing calls that passed their deadline.
    pub calls_timed_out: u64,
    /// Log callbacks that panicked.
    pub log_panics: u64,
    /// Ordinal of the last request or notification; -1 before the first.
    pub last_ordinal: i64,
    /// Age of the connection in milliseconds.
    pub uptime_ms: u64,
}

impl Stats {
    /// Returns the incoming requests that run and have no answer yet.
    pub fn requests_without_answer(&self) -> usize {
        self.running_inbound_request_count
            .saturating_sub(self.running_notification_count)
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
