//! Statistics of a writer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bobbin_store::{StoreError, StoreStats, Write};

/// Statistics of a writer since its store was opened.
#[derive(Debug, Default)]
pub struct WriterStats {
    commits: AtomicU64,
    writes: AtomicU64,
    events: AtomicU64,
    fenced: AtomicU64,
    /// Whether the storage took nothing at the last attempt.
    is_stuck: AtomicBool,
}

impl WriterStats {
    /// Whether the storage took nothing at the last attempt.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// Notes how an attempt to write has ended.
    pub fn note_attempt<T>(&self, written: &Result<T, StoreError>) {
        if matches!(written, Err(StoreError::NotHeld)) {
            self.fenced.fetch_add(1, Ordering::Relaxed);
        }
        match written {
            Ok(_) => self.is_stuck.store(false, Ordering::Relaxed),
            Err(
                StoreError::Full
                | StoreError::Unavailable(_)
                | StoreError::Unreachable(_)
                | StoreError::NotHeld,
            ) => {
                self.is_stuck.store(true, Ordering::Relaxed);
            }
            // The write was at fault, or there is nothing to wait for.
            Err(_) => {}
        }
    }

    /// Counts a committed transaction with these writes.
    pub fn note_commit(&self, writes: &[&Write]) {
        let events = writes.iter().map(|write| write.events.len() as u64).sum();
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes.len() as u64, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    /// Returns the statistics, with the number of writes that wait.
    pub fn snapshot(&self, queued_writes: usize) -> StoreStats {
        StoreStats {
            queued_writes,
            commits: self.commits.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
            fenced: self.fenced.load(Ordering::Relaxed),
            is_stuck: self.is_stuck(),
        }
    }
}
