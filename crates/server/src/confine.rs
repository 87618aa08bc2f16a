//! Confines the programs that the server starts by itself.
//!
//! A program that belongs to the folder, or loads files that the agent may write, runs in the sandbox of commands. If
//! nothing can confine commands, trusted servers and extensions start nevertheless, and `bobbin doctor` says so. A
//! runner of the agent does not start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bobbin_children::{ChildError, Environment, ProcessSpec};
use bobbin_supervise::{Confine, Confining};
use bobbin_tools::{ProgramNeeds, ProgramSandbox, WhenMissing};

/// Variables with paths of caches, and the cache's folder in a directory of caches.
const CACHES: [(&str, &str); 5] = [
    ("XDG_CACHE_HOME", ""),
    ("npm_config_cache", "npm"),
    ("UV_CACHE_DIR", "uv"),
    ("UV_TOOL_DIR", "uv-tools"),
    ("UV_PYTHON_INSTALL_DIR", "uv-python"),
];

/// Makes `npx`, `uvx` and the like write their caches into a directory that the sandbox allows, not the home.
/// Variables in `own` stay as the configuration sets them.
pub(crate) fn set_caches(environment: &mut Environment, own: &BTreeMap<String, String>, place: &Path) {
    for (name, within) in CACHES {
        if !own.contains_key(name) {
            environment.set(name, place.join(within));
        }
    }
}

/// Confines programs of one kind.
pub(crate) struct ConfinedPrograms {
    pub(crate) sandbox: ProgramSandbox,
    /// The workspace.
    pub(crate) root: PathBuf,
    pub(crate) needs: ProgramNeeds,
    pub(crate) unconfined: Unconfined,
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
