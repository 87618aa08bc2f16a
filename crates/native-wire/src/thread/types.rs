//! The Thread and its parts, as clients see them.
//!
//! AppServer protocol 02 §2.

use std::collections::BTreeMap;

use bobbin_model::{HistoryMode, Plan, Runtime, ThreadStatus, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::item::usage::ContextUsage;
use crate::thread::config::ThreadConfiguration;
use crate::turn::queue_types::QueuedTurnInput;
use crate::turn::types::Turn;
use crate::{Nullable, Timestamp};

/// A user of a channel, with the scope and the workspace.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionIdentity {
    /// The channel: `desktop`, `cli`, `telegram`, … Becomes the Thread's `originChannel`.
    pub channel_name: String,
    /// The owner inside that channel.
    pub user_id: Option<String>,
    /// A free text that distinguishes scopes, as in `group:77`.
    pub channel_context: Option<String>,
    /// Absolute path; absent or blank means the workspace the server runs in.
    pub workspace_path: Option<String>,
}

/// A resumable conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The Thread's id.
    pub id: String,
    /// The same id: a Thread is its own session.
    pub session_id: String,
    /// The workspace it belongs to.
    pub workspace_path: String,
    /// The folder of files, commands and git: the configuration's `workspaceOverride`, the worktree, or the workspace.
    pub effective_workspace_path: String,
    /// The same path.
    pub cwd: String,
    /// The same path, as a list.
    pub runtime_workspace_roots: Vec<String>,
    /// Whether it is stored nowhere; always `false`.
    pub ephemeral: bool,
    /// Its worktree of git; `null` if it has none.
    #[serialize_always]
    pub worktree: Option<Worktree>,
    /// Its owner inside the channel.
    pub user_id: Option<String>,
    /// The channel that created it; never changes.
    pub origin_channel: String,
    /// The scope it was created in.
    pub channel_context: Option<String>,
    /// Its title.
    pub display_name: Option<String>,
    /// The starter: a user or another Thread's agent.
    pub source: ThreadSource,
    /// The Thread of which it is a copy.
    pub forked_from_id: Option<String>,
    /// Active, paused or archived.
    pub status: ThreadStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub last_active_at: Timestamp,
    /// The supplier of the model's history.
    pub history_mode: HistoryMode,
    /// Its configuration, when it has one.
    pub configuration: Option<ThreadConfiguration>,
    /// Free texts; keys that start with `dotcraft.` are reserved.
    pub metadata: BTreeMap<String, String>,
    /// Its present activity.
    pub runtime: Runtime,
    /// Inputs that wait for their Turn.
    pub queued_inputs: Vec<QueuedTurnInput>,
    /// Its Turns, if the message has them.
    pub turns: Option<Vec<Turn>>,
    /// How full the model's window is, when known.
    pub context_usage: Option<ContextUsage>,
    /// On `thread/read`: the current plan or `null`; absent elsewhere.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "Nullable::present"
    )]
    pub plan: Option<Nullable<Plan>>,
    /// Extension, on `thread/read`: what all its finished Turns cost, with subagents and titles, in the currency of the models'
    /// prices. Left out where no price is known.
    pub cost: Option<f64>,
}

/// A Thread in a list. A missing `runtime` means "unknown", not "idle".
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// The Thread's id.
    pub id: String,
    /// Its owner inside the channel.
    pub user_id: Option<String>,
    /// The workspace it belongs to.
    pub workspace_path: String,
    /// The channel that created it.
    pub origin_channel: String,
    /// The scope it was created in.
    pub channel_context: Option<String>,
    /// Its title.
    pub display_name: Option<String>,
    /// The starter: a user or another Thread's agent.
    pub source: ThreadSource,
    /// Active, paused or archived.
    pub status: ThreadStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub last_active_at: Timestamp,
    /// How many Turns it has.
    pub turn_count: u64,
    /// Its present activity, when known.
    pub runtime: Option<Runtime>,
    /// Free texts.
    pub metadata: BTreeMap<String, String>,
}

/// The starter of a Thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ThreadSource {
    /// A user.
    User,
    /// Another Thread's agent.
    SubAgent {
        /// Its place in the tree of Threads.
        #[serde(rename = "subAgent")]
        sub_agent: Box<SubAgentSource>,
    },
}

/// The place of a subagent's Thread in the tree of Threads.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent switches on the wire"
)]
pub struct SubAgentSource {
    /// The Thread that started it.
    pub parent_thread_id: String,
    /// The Turn that started it.
    pub parent_turn_id: Option<String>,
    /// The tool call that started it.
    pub spawn_call_id: Option<String>,
    /// The Thread at the top of the tree.
    pub root_thread_id: String,
    /// Distance from the root; 1 for a direct child.
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
    /// The same, under today's name.
    pub supports_send_message: bool,
    /// The same, for `subagent/followupTask`.
    pub supports_followup_task: bool,
    /// Whether it can be resumed.
    pub supports_resume: bool,
    /// Whether it can be closed.
    pub supports_close: bool,
}
