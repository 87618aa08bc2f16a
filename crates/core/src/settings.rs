//! What the core is told once, at the start.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_model::ApprovalPolicy;

use crate::Limits;

/// Settings of a [`crate::Hub`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workspace, absolute and free of symbolic links.
    pub workspace: PathBuf,
    /// Policy of Threads that have none.
    pub approval_policy: ApprovalPolicy,
    /// Paths outside the workspace: `true` asks, `false` refuses, for Threads that do not say.
    pub ask_outside_workspace: bool,
    /// How long an Approval waits before it is declined.
    pub approval_max_wait: Duration,
    /// Most time for which streamed text exists in memory only.
    pub checkpoint_interval: Duration,
    /// Most bytes of it.
    pub checkpoint_bytes: usize,
    /// How long a Thread that nobody uses stays loaded.
    pub unload_after: Duration,
    /// How long an interrupted engine may take before its task is aborted.
    pub cancel_grace: Duration,
    /// Bound of each Thread's log and of the workspace's.
    pub log: Limits,
}

impl Settings {
    /// Returns the defaults for a workspace: the figures of the design.
    pub fn new(workspace: PathBuf) -> Self {
        Self {
            workspace,
            approval_policy: ApprovalPolicy::Default,
            ask_outside_workspace: true,
            approval_max_wait: Duration::from_hours(24),
            checkpoint_interval: Duration::from_millis(250),
            checkpoint_bytes: 16 << 10,
            unload_after: Duration::from_mins(1),
            cancel_grace: Duration::from_secs(3),
            log: Limits::default(),
        }
    }
}
