//! Why a child process could not be run.
//!
//! How a process that did run has ended is never an error; see `Exit`.

use std::io;
use std::path::PathBuf;

/// Why a child process could not be started or waited for.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The thread that starts processes could not be created.
    #[error("cannot create the thread that starts processes")]
    Thread(#[source] io::Error),
    /// The thread that starts processes is gone, so nothing can be started any more.
    #[error("the thread that starts processes has ended")]
    ThreadGone,
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
    /// The guard process could not be started; without it nothing is started.
    #[error("cannot start the guard process")]
    Guard(#[source] io::Error),
    /// The system's notices about ended children, or the child's streams, could not be set up.
    #[error("cannot watch a child process")]
    Watch(#[source] io::Error),
    /// The exit status was lost; the process itself is gone.
    #[error("cannot learn how the child process ended")]
    Wait(#[source] io::Error),
}
