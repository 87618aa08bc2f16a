//! How long and how much a command may run, and how it ended.

use std::time::Duration;

use crate::Captured;

/// What bounds one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time until the command is told to end, from when it is run: what was started before has it whole.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signaled(i32),
    /// By us, after [`Limits::wall_clock`].
    TimedOut,
    /// By us, because the caller cancelled it.
    Cancelled,
}

/// What is left of a command: its whole process group is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// From when it was to be run until its group was gone.
    pub duration: Duration,
    /// What it wrote on standard output and standard error, merged in order of arrival.
    pub output: Captured,
}
