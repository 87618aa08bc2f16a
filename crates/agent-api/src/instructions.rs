//! Finding the files in which a project and its user instruct agents.

use std::path::{Path, PathBuf};

use crate::policy::Policy;

/// Finds the instruction files of a Thread. A feature of the server.
#[derive(Debug, Clone, Copy)]
pub struct InstructionFiles {
    /// Returns their absolute paths, outermost first, for the workspace, the folder of the Thread, the policy, and
    /// whether the user trusts the folder. Blocks on the disk.
    pub find: fn(&Path, &Path, &dyn Policy, bool) -> Vec<PathBuf>,
}
