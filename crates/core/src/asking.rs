//! How many Approvals are open in the live subagents of a workspace: each new subscription asks for them, and there are
//! hardly ever any.
//!
//! Each owner counts its own, in what its handle shows and, for a subagent, in the sum. It takes out what it put in when
//! it ends, whatever ended it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::handle::Shared;

/// The part of one owner.
#[derive(Debug)]
pub(crate) struct Asking {
    shared: Arc<Shared>,
    /// The sum over all subagents, for one of them.
    all: Option<Arc<AtomicUsize>>,
    open: usize,
}

impl Asking {
    pub(crate) fn new(shared: Arc<Shared>, all: Option<Arc<AtomicUsize>>) -> Self {
        Self { shared, all, open: 0 }
    }

    /// Says how many are open, and whether a Turn has not ended. Called before the frame that tells of it is appended: a reader that finds none here gets the
    /// next by the log.
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
