//! News of the server itself: compaction, memory, jobs, subagents.
//!
//! AppServer protocol 03 §11 and §12.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `system/event`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemEventNotification {
    /// The Thread; absent with `channelRejected` and `workspaceNotTrusted` only.
    pub thread_id: Option<String>,
    /// The Turn; consolidation may have none.
    pub turn_id: Option<String>,
    /// The kind of event.
    pub kind: SystemEventKind,
    /// A sentence for the user.
    pub message: Option<String>,
    /// Free part of the window, 0.0 to 1.0.
    pub percent_left: Option<f64>,
    /// Tokens in the window.
    pub token_count: Option<u64>,
    /// The channel, with `channelRejected`.
    pub channel_name: Option<String>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// The kind of a system event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SystemEventKind {
    /// The window is fuller than the warning threshold.
    CompactWarning,
    /// The window is fuller than the error threshold.
    CompactError,
    /// A compaction started.
    Compacting,
    /// It ended well.
    Compacted,
    /// There was nothing to do.
    CompactSkipped,
    /// It failed.
    CompactFailed,
    /// A consolidation of memory started.
    Consolidating,
    /// It ended well.
    Consolidated,
    /// There was nothing to do.
    ConsolidationSkipped,
    /// It failed.
    ConsolidationFailed,
    /// To a channel adapter only: its channel is not known or not enabled.
    ChannelRejected,
    /// Extension: the server came back after a crash and the Turn goes on.
    TurnResumed,
    /// Extension, once per connection, to a client that did not declare `workspaceTrust`: an item of the folder waits
    /// for its user's decision. Has no Thread.
    WorkspaceNotTrusted,
}

/// Params of `system/jobResult`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobResultNotification {
    /// The service that ran the job.
    pub source: JobSource,
    /// The job's id.
    pub job_id: Option<String>,
    /// The job's name.
    pub job_name: Option<String>,
    /// The Thread it ran in.
    pub thread_id: Option<String>,
    /// Its output.
    pub result: Option<String>,
    /// Its error.
    pub error: Option<String>,
    /// Its token usage.
    pub token_usage: Option<JobTokenUsage>,
}

/// The service that ran a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum JobSource {
    /// The cron service.
    Cron,
    /// The heartbeat service.
    Heartbeat,
}

/// Tokens of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobTokenUsage {
    /// Tokens sent to the model.
    pub input_tokens: u64,
    /// Tokens received from it.
    pub output_tokens: u64,
}

/// Params of `subagent/progress`: a full snapshot.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProgressNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// One entry for each child.
    pub entries: Vec<SubagentProgress>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// How far one child is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProgress {
    /// Its name.
    pub label: String,
    /// The tool it uses now; `null` while it thinks.
    #[serialize_always]
    pub current_tool: Option<String>,
    /// The same, to show.
    pub current_tool_display: Option<String>,
    /// Tokens sent to the model.
    pub input_tokens: u64,
    /// Tokens received from it.
    pub output_tokens: u64,
    /// Whether it has ended.
    pub is_completed: bool,
}

/// Params of `subagent/graphChanged`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentGraphChangedNotification {
    /// The Thread that started the other.
    pub parent_thread_id: String,
    /// The Thread that was started.
    pub child_thread_id: String,
}
