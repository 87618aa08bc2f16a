//! Which Threads a list shows (AppServer protocol 02 §5.3).

use bobbin_model::{ThreadId, UnixMillis};

/// A filter; see the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Threads of this workspace.
    pub workspace_path: String,
    /// Threads of this user, if given.
    pub user_id: Option<String>,
    /// Threads of exactly this context; `None` means Threads without one.
    pub channel_context: Option<String>,
    /// Threads of subagents too.
    pub include_sub_agents: bool,
    /// Threads that were put away too.
    pub include_archived: bool,
    /// Besides, every Thread of the workspace that one of these channels started.
    pub cross_channel_origins: Vec<String>,
    /// Of all those only Threads this channel started, whatever its case.
    pub origin_channel: Option<String>,
    /// Only Threads whose title contains this, whatever the case of its ASCII letters.
    pub title: Option<String>,
    /// Only what follows this Thread in the list: its last activity and its id.
    pub after: Option<(UnixMillis, ThreadId)>,
    /// At most so many; `None` for all.
    pub limit: Option<u32>,
}
