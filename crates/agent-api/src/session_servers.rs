//! Tool servers that a client brings along with one session, beside those of the workspace.
//!
//! They are the user's word for that session: written nowhere, seen by no other Thread, and ended with it.

use std::sync::Arc;

use bobbin_model::{ThreadId, ToolServer};
use futures_util::future::BoxFuture;

use crate::tool_server::ToolServerConfig;

/// Receives each change of a session's servers. Must not block.
pub type SessionServerNews = Arc<dyn Fn(&ToolServer) + Send + Sync>;

/// Runs the servers of sessions.
pub trait SessionToolServers: Send + Sync + 'static {
    /// Starts servers for a Thread, in place of those that were started for it before. Returns before they run.
    fn start(
        &self,
        thread: &ThreadId,
        servers: Vec<ToolServerConfig>,
        news: SessionServerNews,
    ) -> Arc<dyn StartedServers>;
}

/// Servers of a session. They end when the last owner drops this.
pub trait StartedServers: Send + Sync {
    /// Waits until servers that are starting have started or failed, for a few seconds at most.
    fn settled(&self) -> BoxFuture<'_, ()>;
}
