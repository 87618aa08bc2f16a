//! A shared limit on the answers that wait to be written on all connections of a server.
//!
//! Each connection limits its own queue, but many slow clients could fill memory together. The budget only counts;
//! a server checks it before it makes a large answer. Queued answers stay queued.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of answers that wait to be written, on all connections that share it.
#[derive(Debug)]
pub struct AnswerBudget {
    queued: AtomicUsize,
    max: usize,
}

impl AnswerBudget {
    /// Returns a budget of this many bytes, with nothing queued.
    pub fn new(max: usize) -> Self {
        Self {
            queued: AtomicUsize::new(0),
            max,
        }
    }

    /// Returns whether fewer bytes than the bound are queued.
    pub fn has_room(&self) -> bool {
        self.queued.load(Ordering::Relaxed) < self.max
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.queued.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.queued.fetch_sub(bytes, Ordering::Relaxed);
    }
}
