//! The folder that is looked at, and what of it may be shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};
use bobbin_native_wire::RpcError;
use bobbin_policy::{Reserved, Trace, TraceStatus, ruling, trace};

/// The folder of a Thread or the workspace, and the rules of its agent.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) policy: Arc<dyn Policy>,
}

impl Place {
    /// Returns where a path leads.
    ///
    /// # Errors
    /// It leads out of the folder, or to something that is not shown.
    pub(crate) fn shown(&self, path: &str) -> Result<PathBuf, RpcError> {
        let trace = trace(&self.root, path, None);
        let trace = trace.map_err(|refusal| RpcError::invalid_params(refusal.to_string()))?;
        self.allow(&trace, &Reserved::of(&self.root))
            .map_err(|why| RpcError::invalid_params(format!("{path} {why}")))?;
        Ok(trace.path)
    }

    /// Returns whether a file below the folder may be shown. `reserved` are the folder's.
    pub(crate) fn shows(&self, path: &Path, reserved: &Reserved) -> bool {
        let traced = path.to_str().map(|path| trace(&self.root, path, None));
        matches!(traced, Some(Ok(trace)) if self.allow(&trace, reserved).is_ok())
    }

    fn allow(&self, trace: &Trace, reserved: &Reserved) -> Result<(), &'static str> {
        match reserved.status(trace) {
            TraceStatus::Inside => {}
            TraceStatus::Reserved => return Err("belongs to git or to the server, and is not shown."),
            TraceStatus::Outside => return Err("lies outside of the folder, and is not shown."),
        }
        let said = ruling(&*self.policy, PathAccess::Read, trace, &self.root);
        match said.map(|ruling| ruling.judgement) {
            None | Some(Judgement::Allow) => Ok(()),
            Some(Judgement::Ask) => Err("may have secrets, and is not shown; open it in your editor."),
            Some(Judgement::Deny) => Err("is refused by a rule, and is not shown."),
        }
    }
}
