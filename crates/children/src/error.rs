//! Why a child process could not be run.
//!
//! The end of a process that did run is never an error; see `Exit`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a child process could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The parent process could not be started, or the connection to it failed. The child did not start.
    #[error("cannot start the process that starts others")]
    Parent(#[source] io::Error),
    /// The parent process was killed, and the child with it.
    #[error("the process that watched over it was ended from outside, and it with that")]
    ParentGone,
    /// Nothing may be started now, because another machine may serve the workspace.
    #[error("nothing is started while another machine may serve this workspace")]
    Stopped,
    /// The child did not start in time and was not run.
    #[error("it had not started after {} ms", .0.as_millis())]
    NotStarted(Duration),
    /// The child cannot be confined as planned and was not run. The text is the reason, as half a sentence.
    #[error("it cannot be confined: {0}")]
    Confinement(String),
    /// The directory to run in does not exist or cannot be entered.
    #[error("cannot run in directory {}", path.display())]
    WorkingDirectory {
        /// The requested directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The program was not found, may not be executed, or the system has no room for another process.
    #[error("cannot start {}", program.display())]
    Spawn {
        /// The requested program.
        program: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The child's streams could not be set up.
    #[error("cannot watch a child process")]
    Watch(#[source] io::Error),
    /// Nothing answers at a port in a network of children.
    #[error("nothing answers there")]
    Connect(#[source] io::Error),
    /// Nothing can listen in a network of children.
    #[error("nothing can listen in its network")]
    Listen(#[source] io::Error),
    /// The exit status was lost; the process itself is gone.
    #[error("cannot learn how the child process ended")]
    Wait(#[source] io::Error),
}
