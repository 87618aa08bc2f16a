//! The source of tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::{Host, Settings};
use bobbin_agent_api::tool::{Tool, ToolSource};

use crate::agent::tool::ActionTool;

/// The first number of our runs; the numbers of clients are smaller.
const FIRST_CLIENT: u64 = 1 << 32;

/// The confinement of the runners that the agent's calls start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerSandbox {
    /// Nothing: commands are not to be confined either.
    NotNeeded,
    /// The sandbox of commands, as the end of a sentence.
    Confined(String),
    /// Nothing, although something should: why, as half a sentence. A user is asked about each run.
    Missing(String),
    /// Nothing, although something must: why, as half a sentence. There are no runs.
    Refused(String),
}

/// Says what confines runners now. May wait for the disk.
pub type SandboxNow = Box<dyn Fn() -> RunnerSandbox + Send + Sync>;

/// The hosts that run the agent's actions.
#[derive(Clone)]
pub struct Hosts {
    /// Confines its runners as [`RunnerSandbox`] says.
    pub sandboxed: Arc<Host>,
    /// The host of the user's own clients, which confines nothing: for runs that cannot be confined and that a user has
    /// allowed.
    pub outside: Arc<Host>,
}

/// The values that every call of an action uses.
pub(crate) struct Shared {
    pub(crate) hosts: Hosts,
    pub(crate) sandbox: SandboxNow,
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
        hosts: Hosts,
        sandbox: SandboxNow,
        root: PathBuf,
        settings: &Settings,
        counts: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            hosts,
            sandbox,
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
