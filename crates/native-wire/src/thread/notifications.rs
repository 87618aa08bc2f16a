//! Notifications about Threads.
//!
//! AppServer protocol 02 §6. `native` decides which clients receive them. Notifications of a followed Thread have
//! `seq`; broadcasts do not.

use bobbin_model::{Runtime, ThreadStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::thread::types::Thread;
use crate::turn::queue_types::QueuedTurnInput;

/// Params of `thread/started`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartedNotification {
    /// The new Thread.
    pub thread: Thread,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/resumed`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumedNotification {
    /// The Thread.
    pub thread: Thread,
    /// Display name of who resumed it.
    pub resumed_by: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/renamed`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRenamedNotification {
    /// The Thread.
    pub thread_id: String,
    /// Its new title.
    pub display_name: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/deleted`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDeletedNotification {
    /// The Thread that is gone.
    pub thread_id: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/statusChanged`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatusChangedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The earlier status.
    pub previous_status: ThreadStatus,
    /// The present status.
    pub new_status: ThreadStatus,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/runtimeChanged`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRuntimeChangedNotification {
    /// The Thread.
    pub thread_id: String,
    /// Its present activity.
    pub runtime: Runtime,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/archived`, `thread/unarchived`: today's names for two of the changes that `thread/statusChanged` says.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchivedNotification {
    /// The Thread.
    pub thread_id: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/updated`: a Thread has another configuration.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUpdatedNotification {
    /// The Thread, without its Turns.
    pub thread: Thread,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `thread/queue/updated`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadQueueUpdatedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The whole queue.
    pub queued_inputs: Vec<QueuedTurnInput>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Extension: params of `thread/synced`, the end of a replay. Everything after it is live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSyncedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The last event of the replay.
    pub seq: u64,
}

/// Extension: a Thread's configuration has changed; `thread/read` returns it. Only to clients with `eventCursors`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadConfiguredNotification {
    /// The Thread.
    pub thread_id: String,
    /// Number of this message.
    pub seq: u64,
}

/// Extension: Turns were dropped from the end of the conversation. Only to clients with `eventCursors`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRolledBackNotification {
    /// The Thread.
    pub thread_id: String,
    /// The oldest Turn that was dropped; every later one is gone too.
    pub first_turn_id: String,
    /// How many were dropped.
    pub num_turns: u32,
    /// Number of this message.
    pub seq: u64,
}
