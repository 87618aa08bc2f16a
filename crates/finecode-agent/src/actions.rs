//! The source of tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bobbin_agent_api::tool::{Tool, ToolSource};
use bobbin_finecode::{Host, Settings};

use crate::tool::ActionTool;

/// Where the numbers of our runs begin: those of clients are smaller.
const FIRST_CLIENT: u64 = 1 << 32;

/// What a call needs.
pub(crate) struct Shared {
    pub(crate) host: Arc<Host>,
    /// The workspace.
    pub(crate) root: PathBuf,
    /// Numbers runs, so that an edit goes to the call that its run belongs to.
    pub(crate) next: AtomicU64,
}

/// The actions that the settings give to the agent, as tools.
pub struct Actions {
    tools: Vec<Arc<dyn Tool>>,
    counts: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Actions {
    /// Returns the actions of a workspace. They are offered while `counts` says so: while its user trusts the folder.
    pub fn new(
        host: Arc<Host>,
        root: PathBuf,
        settings: &Settings,
        counts: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            host,
            root,
            next: AtomicU64::new(FIRST_CLIENT),
        });
        let tools = settings.agent.iter();
        let tools = tools.map(|(name, action)| {
            let tool: Arc<dyn Tool> = Arc::new(ActionTool::new(shared.clone(), name, action));
            tool
        });
        Self {
            tools: tools.collect(),
            counts: Box::new(counts),
        }
    }
}

impl ToolSource for Actions {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        if self.tools.is_empty() || !(self.counts)() {
            return Vec::new();
        }
        self.tools.clone()
    }
}
