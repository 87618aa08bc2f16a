//! Why the store could not do what was asked.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_model::{Seq, ThreadId};

/// Why the store could not do what was asked. Cheap to clone: one failed transaction fails many writes.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("cannot open the database {path}: {reason}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why, fit for the user.
        reason: String,
    },
    /// The file system is one on which SQLite's log corrupts quietly.
    #[error("{path} is on a network file system ({kind}); put the workspace on a local disk")]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// Which.
        kind: &'static str,
    },
    /// There is no room on the disk; nothing of the write is stored. Writing works again once there is.
    #[error("the disk is full")]
    DiskFull,
    /// An event of that number is stored already: two owners, or an owner that lost its place.
    #[error("thread {thread} already has an event {seq}")]
    Conflict {
        /// The Thread.
        thread: ThreadId,
        /// The number.
        seq: Seq,
    },
    /// What is stored cannot be read as what it should be.
    #[error("event {seq} of thread {thread} is damaged: {reason}")]
    CorruptEvent {
        /// The Thread.
        thread: ThreadId,
        /// The event.
        seq: Seq,
        /// What is wrong.
        reason: String,
    },
    /// A Thread's row cannot be read as what it should be.
    #[error("thread {thread} is damaged: {reason}")]
    CorruptThread {
        /// The Thread.
        thread: ThreadId,
        /// What is wrong.
        reason: String,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// The database failed.
    #[error("the database failed")]
    Database(#[source] Arc<sqlx::Error>),
}

/// SQLite's primary result code for "no space left".
const SQLITE_FULL: &str = "13";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let full = error
            .as_database_error()
            .is_some_and(|database| database.code().as_deref() == Some(SQLITE_FULL));
        if full {
            Self::DiskFull
        } else {
            Self::Database(Arc::new(error))
        }
    }
}
