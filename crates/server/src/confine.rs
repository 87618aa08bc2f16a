//! How programs are confined that the server starts by itself.
//!
//! A program that the folder brings, or that loads what the agent may write, runs in the sandbox of commands. Where
//! nothing can confine commands, a server or an extension that its user trusts starts all the same, and `bobbin doctor`
//! says so; a runner of the agent does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bobbin_children::{ChildError, Environment, ProcessSpec};
use bobbin_supervise::{Confine, Confining};
use bobbin_tools::{ProgramNeeds, ProgramSandbox, WhenMissing};

/// Variables that lead to caches, and where these are in a directory of caches.
const CACHES: [(&str, &str); 5] = [
    ("XDG_CACHE_HOME", ""),
    ("npm_config_cache", "npm"),
    ("UV_CACHE_DIR", "uv"),
    ("UV_TOOL_DIR", "uv-tools"),
    ("UV_PYTHON_INSTALL_DIR", "uv-python"),
];

/// Has `npx`, `uvx` and the like put their caches into a directory that the sandbox lets them write, instead of the home.
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

/// What happens to a program where nothing can confine it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unconfined {
    /// It does not start.
    Refused,
    /// It starts: its user trusts it. It does not where commands are refused then.
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
