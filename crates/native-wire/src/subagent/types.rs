//! Subagents: the children of a Thread, and the edges between Threads.
//!
//! AppServer protocol 05 §10.2. Their news is in [`crate::system`].

use bobbin_model::EdgeStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::handshake::types::ClientRequestId;
use crate::thread::types::Thread;

/// Params of `subagent/children/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentChildrenListParams {
    /// The Thread whose subagents are wanted.
    pub parent_thread_id: String,
    /// Those with a closed edge too. Default `false`.
    #[serde(default)]
    pub include_closed: bool,
    /// Their Threads too. Default `false`.
    #[serde(default)]
    pub include_threads: bool,
}

/// Result of `subagent/children/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentChildrenListResult {
    /// The subagents, oldest first.
    pub data: Vec<SubagentChild>,
}

/// One subagent of a Thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentChild {
    /// The edge between the two.
    pub edge: SubagentEdge,
    /// The subagent's Thread, if requested.
    pub thread: Option<Thread>,
}

/// The edge between a subagent and the Thread that started it. An open edge does not mean that the subagent is running.
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them")]
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentEdge {
    /// The Thread that started the other.
    pub parent_thread_id: String,
    /// The Thread that was started.
    pub child_thread_id: String,
    /// The Turn that started it.
    pub parent_turn_id: Option<String>,
    /// Steps from the top of the tree, 1 for a direct child.
    pub depth: u32,
    /// Its name.
    pub agent_nickname: Option<String>,
    /// Its role.
    pub agent_role: Option<String>,
    /// The profile it runs with.
    pub profile_name: Option<String>,
    /// Its runtime.
    pub runtime_type: Option<String>,
    /// Its path in the tree: `/root` and the names on the way. Absent in a list without the closed ones.
    pub agent_path: Option<String>,
    /// Its name in that path.
    pub task_name: Option<String>,
    /// Whether it takes further input.
    pub supports_send_input: bool,
    /// Whether it takes messages.
    pub supports_send_message: bool,
    /// Whether it takes further tasks.
    pub supports_followup_task: bool,
    /// Whether it can be opened again.
    pub supports_resume: bool,
    /// Whether it can be closed.
    pub supports_close: bool,
    /// Open or closed.
    pub status: EdgeStatus,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it was opened or closed last.
    pub updated_at: Timestamp,
}

/// Params of `subagent/close`: with `target` or with `childThreadId`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentCloseParams {
    /// The Thread that started the other, or one from which `target` leads.
    pub parent_thread_id: String,
    /// The Thread that was started.
    pub child_thread_id: Option<String>,
    /// The path of the subagent, as `/root/scout`, or from the parent, as `scout`; or the id of its Thread.
    pub target: Option<String>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `subagent/sendMessage`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentMessageParams {
    /// The Thread from which `target` leads.
    pub parent_thread_id: String,
    /// The path of the subagent, as `/root/scout`, or from the parent, as `scout`; or the id of its Thread.
    pub target: String,
    /// The message. The subagent reads it before its next model call; it starts nothing.
    pub message: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `subagent/followupTask`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentFollowupParams {
    /// The Thread from which `target` leads.
    pub parent_thread_id: String,
    /// The path of the subagent, as `/root/scout`, or from the parent, as `scout`; or the id of its Thread.
    pub target: String,
    /// The task. An idle subagent starts with it at once.
    pub message: String,
    /// The time at which a busy subagent gets it. Default `queue`.
    pub delivery_mode: Option<FollowupDelivery>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// The time at which a busy subagent gets a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FollowupDelivery {
    /// It does the task later.
    Queue,
    /// It gets the task before its next model call.
    Steer,
}

/// The state of a subagent after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubagentTargetStatus {
    /// Its edge is open.
    Open,
    /// Its edge is closed.
    Closed,
    /// The message waits for its next model call.
    Sent,
    /// It has started with the task.
    Running,
    /// The task waits for the end of its Turn.
    Queued,
    /// The task waits for its next model call.
    GuidancePending,
}

/// Params of `subagent/resume`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentTargetParams {
    /// The Thread that started the other.
    pub parent_thread_id: String,
    /// The Thread that was started.
    pub child_thread_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of a request about one subagent.
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them")]
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentTargetResult {
    /// The subagent.
    pub child_thread_id: String,
    /// Its state after the request.
    pub status: SubagentTargetStatus,
    /// Its path in the tree, where `target` named it.
    pub agent_path: Option<String>,
    /// Its name in that path.
    pub task_name: Option<String>,
    /// A note for the user.
    pub message: Option<String>,
    /// Its name.
    pub agent_nickname: Option<String>,
    /// Its role.
    pub agent_role: Option<String>,
    /// The profile it runs with.
    pub profile_name: Option<String>,
    /// Its runtime.
    pub runtime_type: Option<String>,
    /// Whether it takes further input.
    pub supports_send_input: bool,
    /// Whether it takes messages.
    pub supports_send_message: bool,
    /// Whether it takes further tasks.
    pub supports_followup_task: bool,
    /// Whether it can be opened again.
    pub supports_resume: bool,
    /// Whether it can be closed.
    pub supports_close: bool,
}
