//! The messages of the group.

use bobbin_model::{HistoryMode, Worktree};
use bobbin_native_wire::handshake::types::ClientRequestId;
use bobbin_native_wire::history::types::ThreadForkPoint;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::DynamicToolSpec;
use bobbin_native_wire::thread::types::{SessionIdentity, Thread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `worktree/createAndStart`: those of `thread/start`, and of the worktree.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeCreateAndStartParams {
    /// The starter; `channelName` must not be blank.
    pub identity: SessionIdentity,
    /// Its first configuration, without `workspaceOverride`.
    pub config: Option<ThreadConfiguration>,
    /// The supplier of the model's history. Default `server`.
    pub history_mode: Option<HistoryMode>,
    /// Its title; blank means none.
    pub display_name: Option<String>,
    /// Tools that this connection serves.
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
    /// The branch to make. Default: `bobbin/` and the worktree's id.
    pub branch_name: Option<String>,
    /// The branch, tag or commit to start from. Default: the commit that is checked out.
    pub base_ref: Option<String>,
    /// Refused: the worktree lies in the server's state directory.
    pub path: Option<String>,
    /// Whether uncommitted changes and new files are copied into it. Default `true`.
    pub copy_dirty_changes: Option<bool>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `worktree/createAndFork`: those of `thread/fork`, and of the worktree.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeCreateAndForkParams {
    /// The Thread to copy. Its folder is the one whose uncommitted changes are copied.
    pub source_thread_id: String,
    /// The end of the copy. Absent: after the newest Turn. A running Turn is copied as cancelled.
    pub fork_point: Option<ThreadForkPoint>,
    /// Its title. Default: the original's with a count.
    pub display_name: Option<String>,
    /// Its configuration, without `workspaceOverride`. Default: the original's.
    pub config: Option<ThreadConfiguration>,
    /// Its starter. Default: the original's.
    pub identity: Option<SessionIdentity>,
    /// Tools that this connection serves.
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
    /// The branch to make. Default: `bobbin/` and the worktree's id.
    pub branch_name: Option<String>,
    /// The branch, tag or commit to start from. Default: the commit that is checked out.
    pub base_ref: Option<String>,
    /// Refused: the worktree lies in the server's state directory.
    pub path: Option<String>,
    /// Whether uncommitted changes and new files are copied into it. Default `true`.
    pub copy_dirty_changes: Option<bool>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `worktree/createAndStart` and `worktree/createAndFork`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeCreateResult {
    /// The new Thread, without Turns.
    pub thread: Thread,
    /// Its worktree.
    pub worktree: Worktree,
}

/// Params of `worktree/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeListParams {
    /// Only worktrees of this user's Threads.
    pub identity: Option<SessionIdentity>,
    /// Whether to list worktrees whose Thread is deleted, too. Default `false`.
    pub include_orphans: Option<bool>,
}

/// Result of `worktree/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeListResult {
    /// The worktrees, oldest first.
    pub data: Vec<WorktreeStatus>,
}

/// Params of `worktree/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeStatusParams {
    /// The Thread.
    pub thread_id: String,
}

/// Result of `worktree/status`: the status by itself, and as a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeStatusResult {
    /// The status.
    pub status: WorktreeStatus,
    /// The same.
    #[serde(flatten)]
    pub bare: WorktreeStatus,
}

/// The state of a worktree at present.
#[expect(clippy::struct_excessive_bools, reason = "they are the protocol's")]
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeStatus {
    /// The Thread that it was made for.
    pub thread_id: String,
    /// The worktree as it was made.
    pub worktree: Worktree,
    /// Its directory.
    pub path: String,
    /// The branch that is checked out; the one that was made with it if that is unknown.
    pub branch_name: String,
    /// Whether the directory exists.
    pub exists: bool,
    /// Whether git takes it for a worktree.
    pub is_git_worktree: bool,
    /// Whether files have changed since the last commit, or are new.
    pub has_uncommitted_changes: bool,
    /// Whether there are commits that the commit lacks from which it started.
    pub has_commits_ahead_of_base: bool,
    /// Their number.
    pub ahead_count: u64,
    /// The commit that is checked out, in hexadecimal.
    pub head: Option<String>,
}

/// Params of `worktree/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeRemoveParams {
    /// The Thread that it was made for. It may be deleted.
    pub thread_id: String,
    /// Whether to remove it with uncommitted changes or commits of its own. Default `false`.
    pub force: Option<bool>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `worktree/remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeRemoveResult {
    /// Whether its branch is still there: it has commits of its own.
    pub branch_remains: bool,
}

/// Params of `worktree/apply`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeApplyParams {
    /// The Thread whose worktree is meant.
    pub thread_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `worktree/apply`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeApplyResult {
    /// The number of files that have changed in the workspace.
    pub files: u32,
}
