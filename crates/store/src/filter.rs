//! Which Threads a list shows (AppServer protocol 02 §5.3).

use bobbin_model::{ThreadId, UnixMillis};

/// A filter; see the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub struct ListFilter {
    /// Threads of this workspace.
    pub workspace_path: String,
    /// All Threads, internal ones included. Then only `after` and `limit` count.
    pub everything: bool,
    /// Threads of this user, if given.
    pub user_id: Option<String>,
    /// Threads of exactly this context; `None` means Threads without one.
    pub channel_context: Option<String>,
    /// Whether to include the Threads of every user and context. Then `user_id` and `channel_context` do not count.
    pub every_user: bool,
    /// Whether to include Threads of subagents.
    pub include_sub_agents: bool,
    /// Whether to include archived Threads.
    pub include_archived: bool,
    /// In addition, every Thread of the workspace that one of these channels started.
    pub cross_channel_origins: Vec<String>,
    /// Only Threads that this channel started; case is ignored.
    pub origin_channel: Option<String>,
    /// Only Threads whose title contains this; case of ASCII letters is ignored.
    pub title: Option<String>,
    /// Only Threads after this one in the list, given by its last activity and its id.
    pub after: Option<(UnixMillis, ThreadId)>,
    /// Most Threads to return; `None` for all.
    pub limit: Option<u32>,
}
