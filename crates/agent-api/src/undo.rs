//! Undo of a Turn's file changes: the contract between the crates that run Turns and the one that snapshots files.
//!
//! The core stores no file. An engine records the files of a call before and after it. A Thread's owner requests an undo
//! while no Turn of that Thread runs, and records the result.

use std::fmt;
use std::path::{Path, PathBuf};

use bobbin_model::turn::FileChangeStatus;
use bobbin_model::{RevertedFile, ThreadId, TurnId};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::tool::{ChangedFile, Touches};

/// A request to undo the file changes of a Turn, or to make them again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertRequest {
    /// Its Thread.
    pub thread: ThreadId,
    /// The Turn, which has ended.
    pub turn: TurnId,
    /// Whether its changes, which were undone, are made again.
    pub redo: bool,
    /// Root of the Thread's file tools; shown paths are relative to it.
    pub root: PathBuf,
    /// Treatment of files that have changed since.
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

/// File changes of calls, besides those that tools report.
#[derive(Debug, Default)]
pub struct FileChanges {
    /// Files with their earlier content.
    pub changed: Vec<ChangedFile>,
    /// Files whose earlier content is too large to show.
    pub unshown: Vec<(PathBuf, FileChangeStatus)>,
}

/// Reason why the files of a call are not recorded, as half a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotRecorded(pub String);

/// A call whose files were recorded before it ran. Dropping the value also records them after the call.
pub trait OpenCall: Send + Sync {
    /// Records the files after the call and returns the changes.
    ///
    /// # Cancel safety
    /// Dropping the future loses only the returned changes; they are still recorded.
    fn end(self: Box<Self>) -> BoxFuture<'static, FileChanges>;
}

/// Treatment of files that have changed since the Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedSince {
    /// The undo is refused and names them.
    Refuse,
    /// They are restored anyway.
    Overwrite,
}

/// Result of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// The restored files, without those that needed no change.
    pub files: Vec<RevertedFile>,
    /// Changes that could not be undone, as sentences.
    pub notes: Vec<String>,
}

/// Reason why nothing, or not everything, was undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// Files have changed since; nothing was touched.
    #[error("files have been changed since")]
    Changed(Vec<String>),
    /// The undo failed; a sentence for the user names the reason and what was done.
    #[error("{0}")]
    NotDone(String),
    /// The server stopped before the first file was touched.
    #[error("the server is stopping")]
    Stopped,
}

/// Records files before and after calls, and undoes Turns.
pub trait Undo: fmt::Debug + Send + Sync + 'static {
    /// Starts the first snapshot of a workspace in the background, so that the first call waits less.
    fn prepare(&self, root: &Path);

    /// Records the files that a call may change, before it runs. Bounded in time.
    ///
    /// # Errors
    /// Nothing could be recorded. The call may still run; an undo of its Turn reports that this call is missing.
    fn begin(
        &self,
        turn: RecordedTurn,
        touches: Touches,
    ) -> BoxFuture<'_, Result<Box<dyn OpenCall>, NotRecorded>>;

    /// Records the changes of calls that a crash interrupted, and returns them.
    fn resume(&self, turn: RecordedTurn) -> BoxFuture<'_, FileChanges>;

    /// Undoes the file changes of a Turn: all of them, or none. A second undo changes nothing. Before it touches the first
    /// file, the undo is bounded in time and obeys `stop`. After that it runs to its end, so that its result is known.
    fn revert(
        &self,
        request: RevertRequest,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Undone, UndoError>>;
}
