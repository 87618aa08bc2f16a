//! Why a command cannot be held. It is not run then.

use std::path::PathBuf;

/// Why a command cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel holds less than was promised.
    #[error("the kernel does not hold what was promised: {0}")]
    Kernel(String),
    /// Bubblewrap has not made what was promised.
    #[error("bubblewrap does not hold what was promised: {0}")]
    Outside(String),
    /// A path of the plan cannot be used.
    #[error("{} cannot be used", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// There is more beside a hidden place than is looked at.
    #[error("there are too many entries beside the hidden {}", .0.display())]
    TooMany(PathBuf),
}

impl SandboxError {
    /// Returns what it says with its cause.
    pub fn full(&self) -> String {
        let cause = std::error::Error::source(self).map(|cause| format!(": {cause}"));
        format!("{self}{}", cause.unwrap_or_default())
    }
}
