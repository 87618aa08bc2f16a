//! Whether a file of a workspace may be shown to a client, or be put there by one.

use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};

use crate::run_later::is_run_later;
use crate::{Reserved, Trace, TraceStatus, ruling, trace};

/// Why a file is not shown or not put there. The text follows the file's name in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Hidden {
    /// The path leads nowhere; the reason is a sentence of its own.
    #[error("cannot be used: {0}")]
    Unusable(String),
    /// It is not in the folder.
    #[error("lies outside of the folder.")]
    Outside,
    /// It belongs to git or to the server.
    #[error("belongs to git or to the server.")]
    Reserved,
    /// A rule would have an agent ask.
    #[error("may have secrets, and is not shown; open it in your editor.")]
    Secret,
    /// A rule refuses it.
    #[error("is refused by a rule.")]
    Refused,
    /// A rule would have an agent ask before it writes there.
    #[error("is asked about before it is written; write it in your editor.")]
    Asked,
    /// Other programs run what a file of this name says.
    #[error("is a file that other programs run; write it in your editor.")]
    RunLater,
}

/// The files of a folder that may be shown: its agent may read them without a question. Blocking: a few `stat`s for each path.
pub struct Shown<'a> {
    root: &'a Path,
    policy: &'a dyn Policy,
    reserved: Reserved,
}

impl<'a> Shown<'a> {
    /// Returns the check of a folder whose path is free of links.
    pub fn of(root: &'a Path, policy: &'a dyn Policy) -> Self {
        Self {
            root,
            policy,
            reserved: Reserved::of(root),
        }
    }

    /// Returns where a path leads, without links.
    ///
    /// # Errors
    /// [`Hidden`].
    pub fn path(&self, path: &str) -> Result<PathBuf, Hidden> {
        let trace = self.trace(path)?;
        match self.judgement(PathAccess::Read, &trace) {
            None | Some(Judgement::Allow) => Ok(trace.path),
            Some(Judgement::Ask) => Err(Hidden::Secret),
            Some(Judgement::Deny) => Err(Hidden::Refused),
        }
    }

    /// Returns where a new file goes, without links. No rule of the user opens the places of files that other programs run.
    ///
    /// # Errors
    /// [`Hidden`].
    pub fn new_file(&self, path: &str) -> Result<PathBuf, Hidden> {
        let trace = self.trace(path)?;
        let runs_later = |name: &PathBuf| is_run_later(name, self.root);
        if runs_later(&trace.path) || trace.names.iter().any(runs_later) {
            return Err(Hidden::RunLater);
        }
        match self.judgement(PathAccess::Write, &trace) {
            None | Some(Judgement::Allow) => Ok(trace.path),
            Some(Judgement::Ask) => Err(Hidden::Asked),
            Some(Judgement::Deny) => Err(Hidden::Refused),
        }
    }

    fn trace(&self, path: &str) -> Result<Trace, Hidden> {
        let trace = trace(self.root, path, None);
        let trace = trace.map_err(|refusal| Hidden::Unusable(refusal.to_string()))?;
        match self.reserved.status(&trace) {
            TraceStatus::Inside => Ok(trace),
            TraceStatus::Reserved => Err(Hidden::Reserved),
            TraceStatus::Outside => Err(Hidden::Outside),
        }
    }

    fn judgement(&self, access: PathAccess, trace: &Trace) -> Option<Judgement> {
        ruling(self.policy, access, trace, self.root).map(|ruling| ruling.judgement)
    }
}
