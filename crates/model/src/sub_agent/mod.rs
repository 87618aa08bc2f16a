//! Subagents: Threads that another Thread's agent started (AppServer protocol 02 §2.5, 05 §10.2).
//!
//! Where such a Thread hangs in the tree never changes and stands in its header; whether the one above still has to
//! do with it is the *edge* between the two, and changes by events of the child's own log.

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

/// Where a subagent's Thread hangs in the tree of Threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgentSource {
    /// The Thread whose agent started it.
    pub parent: ThreadId,
    /// The Turn that did.
    pub parent_turn: TurnId,
    /// The tool call that did.
    pub spawn_call: String,
    /// The Thread at the top of the tree, which is a person's or a channel's.
    pub root: ThreadId,
    /// Steps from the top, 1 for a direct child.
    pub depth: u32,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// Whether the Thread above still has to do with a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SubagentEdgeStatus")
)]
#[serde(rename_all = "camelCase")]
pub enum EdgeStatus {
    /// It does: it can be given more to do.
    #[default]
    Open,
    /// It does not until it is taken up again.
    Closed,
}

/// The changing side of the edge between a subagent and the Thread above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// Open or closed.
    pub status: EdgeStatus,
    /// When that became so.
    pub updated_at: UnixMillis,
}

impl Edge {
    /// Returns an edge that became so at a time.
    pub fn at(status: EdgeStatus, updated_at: UnixMillis) -> Self {
        Self { status, updated_at }
    }
}

/// How far a subagent is that runs in a Turn of the Thread above (AppServer protocol 03 §12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentProgress {
    /// What it is called; its id where it has no name.
    pub label: String,
    /// The tool at work, while one is.
    pub current_tool: Option<String>,
    /// Tokens it has used in this Turn of the Thread above.
    pub usage: TokenUsage,
    /// Whether it does nothing more.
    pub is_completed: bool,
}
