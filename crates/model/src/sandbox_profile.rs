//! Which files a command may write.

use serde::{Deserialize, Serialize};

/// Which files a command may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SandboxProfile {
    /// None.
    ReadOnly,
    /// Those of the workspace and of a temporary directory.
    WorkspaceWrite,
    /// All that you may; with the network nothing is confined.
    Full,
}
