//! Subagents: Threads that the agent of another Thread started (AppServer protocol 02 §2.5, 05 §10.2).
//!
//! The place of such a Thread in the tree never changes and is in its header. The *edge* to its parent is open or
//! closed, and changes by events of the child's own log.

mod config;
mod origin;

use serde::{Deserialize, Serialize};

use crate::{ThreadId, TokenUsage, TurnId, UnixMillis};

pub use config::{configuration, may_have_subagents, restricted, resumed_configuration};
pub use origin::{is_from_parent, parent_agent, queue_of_users, started_by_parent};

/// The role of a subagent that does what its parent's agent may do.
pub const WORKER: &str = "worker";
/// The role of a subagent that only reads.
pub const EXPLORER: &str = "explorer";

/// What runs the Turns of a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SubagentRuntime")
)]
#[serde(rename_all = "kebab-case")]
pub enum SubAgentRuntime {
    /// This server's agent.
    #[default]
    Native,
    /// Another agent's command line, once for each Turn.
    CliOneshot,
    /// Another agent over the Agent Client Protocol: an engine of the configuration.
    Acp,
}

impl SubAgentRuntime {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::CliOneshot => "cli-oneshot",
            Self::Acp => "acp",
        }
    }
}

/// The profile of a subagent, as it was when the subagent was started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentProfile {
    /// Its name.
    pub name: String,
    /// What runs it.
    #[serde(default)]
    pub runtime: SubAgentRuntime,
    /// The engine that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The model, if it is not the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Instructions beside those of every subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The only tools that it has of its parent's; empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tools that it does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<String>,
}

/// The place of a subagent's Thread in the tree of Threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentSource {
    /// The Thread whose agent started it.
    pub parent: ThreadId,
    /// The Turn that started it.
    pub parent_turn: TurnId,
    /// The tool call that started it.
    pub spawn_call: String,
    /// The Thread at the root of the tree, started by a user or a channel.
    pub root: ThreadId,
    /// Distance from the root; 1 for a direct child.
    pub depth: u32,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its profile; `None` is the native one, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<SubAgentProfile>,
}

/// Whether the parent Thread may give a subagent more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SubagentEdgeStatus")
)]
#[serde(rename_all = "camelCase")]
pub enum EdgeStatus {
    /// The parent may give it more to do.
    #[default]
    Open,
    /// The parent may not until it resumes the subagent.
    Closed,
}

/// The changing part of the link between a subagent and its parent Thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// Open or closed.
    pub status: EdgeStatus,
    /// When the status last changed.
    pub updated_at: UnixMillis,
}

impl Edge {
    /// Returns an edge whose status changed at a time.
    pub fn at(status: EdgeStatus, updated_at: UnixMillis) -> Self {
        Self { status, updated_at }
    }
}

/// Progress of a subagent that runs in a Turn of its parent (AppServer protocol 03 §12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentProgress {
    /// Its name; its id when it has no name.
    pub label: String,
    /// The tool that runs, if any.
    pub current_tool: Option<String>,
    /// Tokens it has used in this Turn of its parent.
    pub usage: TokenUsage,
    /// Whether it has finished.
    pub is_completed: bool,
}
