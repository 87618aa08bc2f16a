//! Extension: `server/stats`, the server's own counters.
//!
//! The connection's counters have the names of the peer specification, section 12.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of `server/stats`: one moment, taken without waiting for any work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatsResult {
    /// The connection that asked.
    pub connection: ConnectionStats,
    /// Threads in memory.
    pub live_threads: u64,
    /// Cursors on live Threads.
    pub subscriptions: u64,
    /// The logs of all live Threads together.
    pub log: LogStats,
    /// The store.
    pub store: StoreStats,
    /// The server's version.
    pub version: String,
    /// Milliseconds since the server started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_ms: Option<u64>,
    /// Clients that are connected now, of every dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Bytes of memory that the server occupies; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// One connection's counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStats {
    /// How far its life is.
    pub phase: ConnectionPhase,
    /// Messages behind the one being written.
    pub write_queue_length: u64,
    /// Their bytes.
    pub write_queue_bytes: u64,
    /// The server's requests without an answer yet.
    pub pending_outbound_call_count: u64,
    /// Handlers at work, those of notifications included.
    pub running_inbound_request_count: u64,
    /// Whether one of the server's requests without an answer has a deadline.
    pub timer_armed: bool,
    /// The server's requests that were given up lately, whose answers would come late.
    pub recently_timed_out_call_count: u64,
    /// Messages that wait for their handler.
    pub queued_inbound_count: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Messages read.
    pub messages_read: u64,
    /// Messages written.
    pub messages_written: u64,
    /// Messages that could not be understood.
    pub read_errors: u64,
    /// Milliseconds since it was opened.
    pub uptime_ms: u64,
}

/// How far the life of a connection is. The names are fixed by the peer specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ConnectionPhase {
    /// Messages flow.
    Active,
    /// It takes nothing new.
    ShuttingDown,
    /// It is over.
    Stopped,
}

/// Logs in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogStats {
    /// Events in memory.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The store's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStats {
    /// Batches that wait for the writer.
    pub write_queue_length: u64,
    /// Transactions committed since the server started.
    pub transactions: u64,
    /// Events written since the server started.
    pub events_written: u64,
}
