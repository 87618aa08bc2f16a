//! Exit codes, and the line that reports a failure.

use std::path::Path;
use std::process::ExitCode;

use crate::console;
use bobbin_workspace::WorkspaceError;

/// Start-up or connection failed.
pub const FAILED: u8 = 1;
/// The Turn ended with an error.
pub const TURN_FAILED: u8 = 3;
/// An approval was refused.
pub const REFUSED: u8 = 4;
/// The Turn was interrupted: from the keyboard, by another client, or by a server that stopped.
pub const INTERRUPTED: u8 = 5;
/// Another process has the workspace open and cannot be joined.
pub const BUSY: u8 = 6;

/// The database was removed or replaced while it was open.
pub const REMOVED: u8 = 7;
/// The answer does not have the required form.
pub const WRONG_FORM: u8 = 8;
/// The user's time limit has passed.
pub const TIMED_OUT: u8 = 9;

/// Another machine serves the workspace.
pub const TAKEN: u8 = 10;

/// A failure with a code of its own.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The line for the user.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Returns the failure of a process whose database is no longer at its path.
pub fn removed(database: &Path) -> Failure {
    Failure {
        code: REMOVED,
        message: format!(
            "the database {} was removed or replaced while it was open: nothing more can be stored, so the server ends. \
             Conversations that were in it are gone unless you have a copy; the next start makes a new one",
            database.display()
        ),
    }
}

/// Returns the failure of a process that cannot serve its workspace, because another machine does.
pub(crate) fn elsewhere(why: &impl std::fmt::Display) -> Failure {
    Failure {
        code: TAKEN,
        message: why.to_string(),
    }
}

/// Returns the failure of a process whose workspace another machine has taken over.
pub(crate) fn taken() -> Failure {
    elsewhere(
        &"another machine serves this folder now: it has taken over, because this one was away. Open turns go on there",
    )
}

/// Whether the error means that another process has the workspace open.
pub fn is_busy(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<WorkspaceError>();
    cause.is_some_and(WorkspaceError::is_busy)
}

/// Reports a failure in one line on stderr and returns its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let text = format!("{error:#}").replace('\n', " ");
    console::complain(&text);
    let code = match error.downcast_ref::<Failure>() {
        Some(failure) => failure.code,
        None if is_busy(error) => BUSY,
        None => FAILED,
    };
    ExitCode::from(code)
}
