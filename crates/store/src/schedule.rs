//! Durable storage of scheduled jobs. What a job is, the store does not know.

use futures_util::future::BoxFuture;

use crate::StoreError;

/// One stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleEntry {
    /// What it is, one of a few words.
    pub kind: String,
    /// Its id among those of its kind.
    pub id: String,
    /// Its content, JSON.
    pub body: String,
}

/// One change of the stored entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleChange {
    /// Store an entry in place of the one of its kind and id.
    Put(ScheduleEntry),
    /// Remove an entry; one that is not there is no error.
    Remove {
        /// Its kind.
        kind: String,
        /// Its id.
        id: String,
    },
}

/// Durable storage of what runs by the clock.
pub trait ScheduleStore: Send + Sync + 'static {
    /// Reads all entries, by kind and id. Their number is bounded by who writes them.
    fn schedule(&self) -> BoxFuture<'_, Result<Vec<ScheduleEntry>, StoreError>>;

    /// Makes these changes, all or none; resolves after the commit.
    fn change_schedule(&self, changes: Vec<ScheduleChange>) -> BoxFuture<'_, Result<(), StoreError>>;
}
