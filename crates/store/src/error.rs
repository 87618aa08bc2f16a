//! Why the store could not do what was asked.

use std::error::Error;
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
    /// The file system is one on which the database corrupts quietly.
    #[error(
        "{path} is on a network file system ({kind}); name a state directory on a local disk with --state DIR"
    )]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// Which.
        kind: &'static str,
    },
    /// There is no room on the disk; nothing of the write is stored. Writing works again once there is.
    #[error("the disk is full")]
    DiskFull,
    /// The disk did not take or give what it should: a limit, a quota, a fault. Nothing of a write is stored.
    #[error("the disk cannot be read or written (code {0})")]
    Disk(i32),
    /// The file is no sound database. Nothing of a write is stored; what can be read is right as far as the database can tell.
    #[error("the database is damaged (code {0})")]
    Damaged(i32),
    /// The file at the database's path is not the one that is open: it was removed or replaced. Nothing is stored any more.
    #[error("the database {0} was removed or replaced while it was open")]
    Removed(PathBuf),
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
    Database(#[source] Arc<dyn Error + Send + Sync>),
}
