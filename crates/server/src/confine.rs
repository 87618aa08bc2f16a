//! Confines the programs that the server starts by itself.
//!
//! A program that belongs to the folder, or loads files that the agent may write, runs in the sandbox of commands. If
//! nothing can confine commands, trusted servers and extensions start nevertheless, and `bobbin doctor` says so. A
//! runner of the agent does not start.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_children::{ChildError, ProcessSpec};
use bobbin_mcp::ServerPlaces;
use bobbin_supervise::{Confine, Confining};
use bobbin_tools::{ProgramNeeds, ProgramNetwork, ProgramSandbox, WhenMissing};

/// Confines programs of one kind.
pub(crate) struct ConfinedPrograms {
    pub(crate) sandbox: ProgramSandbox,
    /// The workspace.
    pub(crate) root: PathBuf,
    pub(crate) needs: ProgramNeeds,
    pub(crate) unconfined: Unconfined,
}

/// Returns what confines the MCP servers of the folder.
pub(crate) fn servers(programs: &ProgramSandbox, places: &ServerPlaces) -> Arc<dyn Confine> {
    Arc::new(ConfinedPrograms {
        sandbox: programs.clone(),
        root: places.root.clone(),
        needs: ProgramNeeds {
            network: ProgramNetwork::Internet,
            write: vec![places.caches.clone()],
            private_tmp: false,
        },
        unconfined: Unconfined::Trusted,
    })
}

/// Whether a program starts if nothing can confine it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unconfined {
    /// It does not start.
    Refused,
    /// It starts, since its user trusts it, unless the settings refuse commands without a sandbox.
    Trusted,
}

impl Confine for ConfinedPrograms {
    fn confine(&self, process: ProcessSpec) -> Confining<'_> {
        Box::pin(async move {
            for place in &self.needs.write {
                let made = tokio::fs::create_dir_all(place).await;
                made.map_err(|error| format!("{} cannot be made: {error}", place.display()))?;
            }
            let trusted = (self.unconfined == Unconfined::Trusted).then(|| process.clone());
            let confined = self.sandbox.confine(&self.root, process, &self.needs).await;
            confined.or_else(|not| match trusted {
                Some(process) if not.otherwise == WhenMissing::Ask => Ok(process),
                Some(_) | None => Err(not.why),
            })
        })
    }

    fn has_failed(&self, error: &ChildError) {
        self.sandbox.has_failed(error);
    }
}
