//! Why a child process could not be run.
//!
//! How a process that did run has ended is never an error; see `Exit`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a child process could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The process that runs a child could not be started or spoken with; nothing was started.
    #[error("cannot start the process that starts others")]
    Parent(#[source] io::Error),
    /// The process that watched over a child was killed, and the child with it.
    #[error("the process that watched over it was ended from outside, and it with that")]
    ParentGone,
    /// It did not start in time, and was not run.
    #[error("it had not started after {} ms", .0.as_millis())]
    NotStarted(Duration),
    /// It cannot be confined as it was to be, and was not run: why, as half a sentence.
    #[error("it cannot be confined: {0}")]
    Confinement(String),
    /// The directory to run in does not exist or cannot be entered.
    #[error("cannot run in directory {}", path.display())]
    WorkingDirectory {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The program was not found, may not be executed, or the system has no room for another process.
    #[error("cannot start {}", program.display())]
    Spawn {
        /// The program that was asked for.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The child's streams could not be set up.
    #[error("cannot watch a child process")]
    Watch(#[source] io::Error),
    /// The exit status was lost; the process itself is gone.
    #[error("cannot learn how the child process ended")]
    Wait(#[source] io::Error),
}
