//! Undoing what a Turn did to files: the seam between those that run Turns and what snapshots the files.
//!
//! The core stores no file. An engine has the files of a call recorded before and after it; a Thread's owner asks for an
//! undo while no Turn of that Thread runs, and records what was done.

use std::fmt;
use std::path::{Path, PathBuf};

use bobbin_model::turn::FileChangeStatus;
use bobbin_model::{RevertedFile, ThreadId, TurnId};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::tool::{ChangedFile, Touches};

/// A Turn whose file changes are to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertRequest {
    /// Its Thread.
    pub thread: ThreadId,
    /// The Turn. It has ended.
    pub turn: TurnId,
    /// Root of the Thread's file tools, from which paths are shown.
    pub root: PathBuf,
    /// What happens to files that have been changed since.
    pub changed_since: ChangedSince,
}

/// A Turn whose file changes are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTurn {
    /// Its Thread.
    pub thread: ThreadId,
    /// The Turn.
    pub turn: TurnId,
    /// Root of the Thread's file tools.
    pub root: PathBuf,
}

/// The file changes of calls, beside those that the tools report themselves.
#[derive(Debug, Default)]
pub struct FileChanges {
    /// Files with what they were before.
    pub changed: Vec<ChangedFile>,
    /// Files whose earlier content is too much to be shown.
    pub unshown: Vec<(PathBuf, FileChangeStatus)>,
}

/// Why the files of a call are not recorded, as half a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotRecorded(pub String);

/// A call whose files were recorded before it ran. Dropping it records them after the call too.
pub trait OpenCall: Send + Sync {
    /// Records what the files are now and returns what has changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses the returned changes only: they are recorded all the same.
    fn end(self: Box<Self>) -> BoxFuture<'static, FileChanges>;
}

/// What happens to files that are not as the Turn left them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedSince {
    /// Nothing is undone, and they are named.
    Refuse,
    /// They are put back all the same.
    Overwrite,
}

/// What was undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// The files that are as they were before the Turn; those that were so anyway are left out.
    pub files: Vec<RevertedFile>,
    /// Changes that could not be undone, as sentences.
    pub notes: Vec<String>,
}

/// Why nothing, or not everything, was undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// Files have been changed since; nothing was touched.
    #[error("files have been changed since")]
    Changed(Vec<String>),
    /// It cannot be done; a sentence for the user says why and what was done.
    #[error("{0}")]
    NotDone(String),
    /// The server stopped before the first file was touched.
    #[error("the server is stopping")]
    Stopped,
}

/// Records what files are before and after calls, and undoes Turns.
pub trait Undo: fmt::Debug + Send + Sync + 'static {
    /// Starts the first snapshot of a workspace in the background, so that the first call need not wait for all of it.
    fn prepare(&self, root: &Path);

    /// Records what a call may change, before it runs. Bounded in time.
    ///
    /// # Errors
    /// Nothing could be recorded; the call may run, and an undo of its Turn says that this one is missing.
    fn begin(
        &self,
        turn: RecordedTurn,
        touches: Touches,
    ) -> BoxFuture<'_, Result<Box<dyn OpenCall>, NotRecorded>>;

    /// Records what the calls have changed that a crash interrupted, and returns it.
    fn resume(&self, turn: RecordedTurn) -> BoxFuture<'_, FileChanges>;

    /// Undoes the file changes of a Turn: all of them, or none. Doing it again changes nothing. Until the first file is
    /// touched it is bounded in time and ends when `stop` says so; from there on it goes to its end, so that what was
    /// done is known.
    fn revert(
        &self,
        request: RevertRequest,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Undone, UndoError>>;
}
