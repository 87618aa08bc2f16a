//! How long and how much a command may run, and how it ended.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Captured;

/// What bounds one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time until the command is asked to end, from when it has started.
    pub wall_clock: Duration,
    /// Time between the polite signal (TERM) and the last one (KILL), after a time-out or a cancellation.
    pub grace: Duration,
    /// Bytes of output text kept for the outcome: half of it from the beginning, half from the end.
    pub captured_bytes: usize,
}

impl Default for Limits {
    /// Two minutes (guess: a build step, not a build), two seconds, 1 MiB.
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
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signaled(i32),
    /// By us, since it had more than these bytes of memory with all that it had started: `ResourceLimits::memory_bytes`.
    OverMemory(u64),
    /// By us, after [`Limits::wall_clock`].
    TimedOut,
    /// By us, because the caller cancelled it.
    Cancelled,
}

/// What is left of a command: everything that it started is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// From when it started until everything of it was gone.
    pub duration: Duration,
    /// What it wrote on standard output and standard error, merged in order of arrival.
    pub output: Captured,
}

/// Returns how a process ended by itself.
pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Exited(code),
        (None, signal) => Exit::Signaled(signal.unwrap_or_default()),
    }
}
