//! A bound on the answers that wait to be written, shared by the connections of a server.
//!
//! Each connection bounds its own queue; many that do not read could fill memory together. The budget counts; a server
//! asks it before it makes a large answer. Answers in a queue stay there.

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
