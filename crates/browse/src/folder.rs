//! The folder that is looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::policy::Policy;
use bobbin_native_wire::RpcError;
use bobbin_policy::Shown;
use tokio_util::sync::CancellationToken;

/// The folder of a Thread or the workspace, and the rules of its agent.
pub(crate) struct Folder {
    pub(crate) root: PathBuf,
    pub(crate) policy: Arc<dyn Policy>,
    /// Ends when nobody waits for the answer.
    pub(crate) cancelled: CancellationToken,
}

impl Folder {
    /// Returns where a path leads.
    ///
    /// # Errors
    /// It leads out of the folder, or to something that is not shown.
    pub(crate) fn shown(&self, path: &str) -> Result<PathBuf, RpcError> {
        let found = self.check().path(path);
        found.map_err(|hidden| RpcError::invalid_params(format!("{path} {hidden}")))
    }

    pub(crate) fn check(&self) -> Shown<'_> {
        Shown::of(&self.root, &*self.policy)
    }

    pub(crate) fn name<'a>(&self, path: &'a Path) -> Option<&'a str> {
        path.strip_prefix(&self.root).ok()?.to_str()
    }
}
