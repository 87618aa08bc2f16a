//! The callback for changes of servers.

use std::sync::Arc;

use bobbin_model::ToolServer;

/// Receives each change of a server, in order. It must not block.
pub type Announce = Arc<dyn Fn(Arc<ToolServer>) + Send + Sync>;
