//! A snapshot of one connection.

use serde::Serialize;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// Reads, dispatches, writes.
    Active,
    /// Takes no more input; answers are still written.
    ShuttingDown,
    /// Over.
    Stopped,
}

/// Figures of one connection at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Where it stands.
    pub phase: Phase,
    /// Messages that wait to be written.
    pub write_queue_length: usize,
    /// Their bytes.
    pub write_queue_bytes: usize,
    /// Own calls without an answer.
    pub pending_outbound_call_count: usize,
    /// Requests without an answer.
    pub running_inbound_request_count: usize,
    /// Messages that wait for the service.
    pub queued_inbound_count: usize,
    /// Bytes read, without framing.
    pub bytes_read: u64,
    /// Bytes written, without framing.
    pub bytes_written: u64,
    /// Messages read.
    pub messages_read: u64,
    /// Messages written.
    pub messages_written: u64,
    /// Messages that could not be read.
    pub read_errors: u64,
    /// Age of the connection in milliseconds.
    pub uptime_ms: u64,
}
