//! Where news of servers goes.

use std::sync::Arc;

use bobbin_model::ToolServer;

/// Takes each change of a server, in order. Must not wait.
pub type Announce = Arc<dyn Fn(Arc<ToolServer>) + Send + Sync>;
