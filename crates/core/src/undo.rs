//! Undoing what a Turn did to files: the seam between a Thread's owner and whoever keeps their earlier contents.
//!
//! The core keeps no file. It asks the [`Undo`] it was given when a client wants a Turn's changes undone, with no
//! Turn of that Thread running, and records what was done.

use std::fmt;
use std::path::PathBuf;

use bobbin_model::{RevertedFile, ThreadId, TurnId};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A Turn whose file changes are to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertWish {
    /// Its Thread.
    pub thread: ThreadId,
    /// The Turn. It has ended.
    pub turn: TurnId,
    /// Root of the Thread's file tools, from which paths are shown.
    pub root: PathBuf,
    /// What happens to files that have been changed since.
    pub changed_since: ChangedSince,
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
    /// Changes that were not kept and are still there, as sentences.
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
    /// It was told to stop before the first file was touched.
    #[error("the server is stopping")]
    Stopped,
}

/// Keeps what files were before Turns changed them.
pub trait Undo: fmt::Debug + Send + Sync + 'static {
    /// Undoes the file changes of a Turn, whole or not at all as far as a disk allows that. Doing it again changes
    /// nothing. Until the first file is touched it is bounded in time and ends when `stop` says so; from there on it goes
    /// to its end, so that what was done is known.
    fn revert(&self, wish: RevertWish, stop: CancellationToken) -> BoxFuture<'_, Result<Undone, UndoError>>;
}
