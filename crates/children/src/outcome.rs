//! The limits of a command, and how it ended.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Captured;

/// The limits of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time from the start until the command is asked to end.
    pub wall_clock: Duration,
    /// Time between the polite signal (TERM) and the last one (KILL), after a time-out or a cancellation.
    pub grace: Duration,
    /// Bytes of captured output text: half from the beginning, half from the end.
    pub captured_bytes: usize,
}

impl Default for Limits {
    /// Returns two minutes (a guess: a build step, not a build), two seconds, 1 MiB.
    fn default() -> Self {
        Self {
            wall_clock: Duration::from_mins(2),
            grace: Duration::from_secs(2),
            captured_bytes: 1024 * 1024,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It exited with this code.
    Exited(i32),
    /// A signal that we did not send ended it.
    Signaled(i32),
    /// We ended it because it and its descendants had more than this many bytes of memory:
    /// `ResourceLimits::memory_bytes`.
    OverMemory(u64),
    /// We ended it after [`Limits::wall_clock`].
    TimedOut,
    /// We ended it because the caller cancelled it.
    Cancelled,
}

/// The result of a command, after everything it started is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// From the start until everything it started was gone.
    pub duration: Duration,
    /// Its standard output and standard error, merged in order of arrival.
    pub output: Captured,
}

/// Returns how a process ended by itself.
pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Exited(code),
        (None, signal) => Exit::Signaled(signal.unwrap_or_default()),
    }
}
