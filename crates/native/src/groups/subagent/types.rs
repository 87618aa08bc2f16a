//! Subagents: the children of a Thread, and the edges between Threads.
//!
//! AppServer protocol 05 §10.2. Their news is in [`crate::groups::system`].

use bobbin_model::EdgeStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::groups::handshake::types::ClientRequestId;
use crate::groups::thread::types::Thread;
use crate::wire::Timestamp;

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
    /// Whether it takes further input.
    pub supports_send_input: bool,
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

/// Params of `subagent/close` and `subagent/resume`.
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

/// Result of `subagent/close` and `subagent/resume`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentTargetResult {
    /// The subagent.
    pub child_thread_id: String,
    /// Open or closed, now.
    pub status: EdgeStatus,
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
    /// Whether it can be opened again.
    pub supports_resume: bool,
    /// Whether it can be closed.
    pub supports_close: bool,
}
