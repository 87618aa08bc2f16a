//! Counts the open Approvals of a workspace's live subagents. Each new subscription asks for them, and there are hardly ever
//! any.
//!
//! Each owner publishes its own count in its handle. A subagent's owner also adds it to the sum, and subtracts it when it
//! ends for any reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::handle::Shared;

/// The share of one owner.
#[derive(Debug)]
pub(crate) struct Asking {
    shared: Arc<Shared>,
    /// The sum over all subagents; `None` if the owner is not that of a subagent.
    all: Option<Arc<AtomicUsize>>,
    open: usize,
}

impl Asking {
    pub(crate) fn new(shared: Arc<Shared>, all: Option<Arc<AtomicUsize>>) -> Self {
        Self { shared, all, open: 0 }
    }

    /// Publishes the number of open Approvals, and whether a Turn has not ended. Call this before the frame of the change is
    /// appended: a reader that finds no Approval here gets the next one from the log.
    pub(crate) fn set(&mut self, open: usize, has_turn: bool) {
        self.shared.set_has_turn(has_turn);
        if open == self.open {
            return;
        }
        self.shared.set_open(open);
        if let Some(all) = &self.all {
            all.fetch_add(open, Ordering::AcqRel);
            all.fetch_sub(self.open, Ordering::AcqRel);
        }
        self.open = open;
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.set(0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_owner_counted_goes_with_it() {
        let all = Arc::new(AtomicUsize::new(0));
        let of = || Asking::new(Arc::default(), Some(all.clone()));
        let (mut one, mut other) = (of(), of());
        one.set(2, true);
        other.set(1, true);
        one.set(1, true);
        assert_eq!(all.load(Ordering::Acquire), 2);
        drop(one);
        assert_eq!(all.load(Ordering::Acquire), 1);
        let mut top = Asking::new(Arc::default(), None);
        top.set(3, true);
        assert_eq!((all.load(Ordering::Acquire), top.shared.open()), (1, 3));
    }
}
