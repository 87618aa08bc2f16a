//! Whether a file of a workspace may be shown to a client.

use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};

use crate::{Reserved, Trace, TraceStatus, ruling, trace};

/// Why a file is not shown. The text follows the file's name in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Hidden {
    /// The path leads nowhere; the reason is a sentence of its own.
    #[error("cannot be used: {0}")]
    Unusable(String),
    /// It is not in the folder.
    #[error("lies outside of the folder, and is not shown.")]
    Outside,
    /// It belongs to git or to the server.
    #[error("belongs to git or to the server, and is not shown.")]
    Reserved,
    /// A rule would have an agent ask.
    #[error("may have secrets, and is not shown; open it in your editor.")]
    Secret,
    /// A rule refuses it.
    #[error("is refused by a rule, and is not shown.")]
    Refused,
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
        let trace = trace(self.root, path, None);
        let trace = trace.map_err(|refusal| Hidden::Unusable(refusal.to_string()))?;
        self.judge(&trace)?;
        Ok(trace.path)
    }

    fn judge(&self, trace: &Trace) -> Result<(), Hidden> {
        match self.reserved.status(trace) {
            TraceStatus::Inside => {}
            TraceStatus::Reserved => return Err(Hidden::Reserved),
            TraceStatus::Outside => return Err(Hidden::Outside),
        }
        let said = ruling(self.policy, PathAccess::Read, trace, self.root);
        match said.map(|ruling| ruling.judgement) {
            None | Some(Judgement::Allow) => Ok(()),
            Some(Judgement::Ask) => Err(Hidden::Secret),
            Some(Judgement::Deny) => Err(Hidden::Refused),
        }
    }
}
