//! Why a command cannot be confined. It does not run then.

use std::path::PathBuf;

/// Why a command cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel confines less than the plan says.
    #[error("the kernel does not hold what was promised: {0}")]
    Kernel(String),
    /// Bubblewrap has not made the view that the plan says.
    #[error("bubblewrap does not hold what was promised: {0}")]
    Outside(String),
    /// A path of the plan cannot be used.
    #[error("{} cannot be used", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// A directory with a hidden place in it has more entries than the limit.
    #[error("there are too many entries beside the hidden {}", .0.display())]
    TooMany(PathBuf),
}

impl SandboxError {
    /// Returns the message with its cause.
    pub fn full(&self) -> String {
        let cause = std::error::Error::source(self).map(|cause| format!(": {cause}"));
        format!("{self}{}", cause.unwrap_or_default())
    }
}
