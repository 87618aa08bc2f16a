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
    /// A place belongs to the user, and its mode stops even the user from looking into it.
    #[error(
        "{} cannot be looked at, which a command could undo: open it with `chmod u+rwx`, and end background commands that \
         close it", .0.display()
    )]
    Closed(PathBuf),
    /// A link, which commands could replace, is in the place of a directory that they only read.
    #[error(
        "{} is a link, which commands could replace: put the directory that it leads to in its place, or remove it",
        .0.display()
    )]
    Link(PathBuf),
    /// Bubblewrap has not mounted a place as planned, or has mounted another.
    #[error(
        "{} is not in the command's view as planned, since it or a directory on the way to it was replaced meanwhile: run \
         the command again, and end background commands if that does not help", .0.display()
    )]
    Replaced(PathBuf),
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
