//! Why a store operation failed.

use std::error::Error;
use std::sync::Arc;

use bobbin_model::{Seq, ThreadId};

/// Why a store operation failed. Cheap to clone: one failed transaction fails many writes.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// There is no room; nothing of the write is stored. Writes succeed again once there is room.
    #[error("the disk is full")]
    Full,
    /// The storage failed: a limit, a quota, a fault. Nothing of a write is stored. Later attempts may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// The database cannot be reached. Nothing of a write is stored, unless the connection was lost while it was being
    /// committed and does not come back in time: a Thread that is loaded again has what is stored. Later attempts
    /// succeed once the database is back.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The stored data is damaged. Nothing of a write is stored. Data that can be read is correct as far as the
    /// implementation can tell.
    #[error("{0}")]
    Damaged(String),
    /// The storage was removed or replaced. Nothing is stored any more.
    #[error("{0}")]
    Removed(String),
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
    /// It is not certain that this process is the holder of its workspace ([`Holding`](crate::Holding)). Nothing of a
    /// write is stored.
    #[error("another machine may serve this workspace now")]
    NotHeld,
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// The database failed.
    #[error("the database failed")]
    Database(#[source] Arc<dyn Error + Send + Sync>),
}
