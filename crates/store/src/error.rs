//! Why a store operation failed.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_model::{Seq, ThreadId};

/// Why a store operation failed. Cheap to clone: one failed transaction fails many writes.
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
    /// The file system is of a kind on which the database can be damaged unnoticed.
    #[error(
        "{path} is on a network file system ({kind}); name a state directory on a local disk with --state DIR"
    )]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// The kind.
        kind: &'static str,
    },
    /// The disk is full; nothing of the write is stored. Writes succeed again once there is room.
    #[error("the disk is full")]
    DiskFull,
    /// Reading or writing the disk failed: a limit, a quota, a fault. Nothing of a write is stored.
    #[error("the disk cannot be read or written (code {0})")]
    Disk(i32),
    /// The file is damaged. Nothing of a write is stored. Data that can be read is correct as far as the database
    /// can tell.
    #[error("the database is damaged (code {0})")]
    Damaged(i32),
    /// The file at the database's path is not the open one: it was removed or replaced. Nothing is stored any more.
    #[error("the database {0} was removed or replaced while it was open")]
    Removed(PathBuf),
    /// An event of that number is stored already: the Thread has two owners, or a replaced owner still writes.
    #[error("thread {thread} already has an event {seq}")]
    Conflict {
        /// The Thread.
        thread: ThreadId,
        /// The number.
        seq: Seq,
    },
    /// A stored event cannot be decoded.
    #[error("event {seq} of thread {thread} is damaged: {reason}")]
    CorruptEvent {
        /// The Thread.
        thread: ThreadId,
        /// The event.
        seq: Seq,
        /// What is wrong.
        reason: String,
    },
    /// A Thread's row cannot be decoded.
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
