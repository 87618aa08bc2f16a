//! The limit on the work for one line, in comparisons. It does not depend on the machine.

use std::cell::Cell;

/// Most comparisons of characters for one line (some 20 ms). An ordinary line under a hundred rules takes a few
/// hundred.
const MAX_WORK: usize = 4_000_000;

/// The comparisons left.
#[derive(Debug)]
pub(crate) struct Work(Cell<usize>);

impl Default for Work {
    fn default() -> Self {
        Self(Cell::new(MAX_WORK))
    }
}

impl Work {
    /// Uses up some comparisons; `false` if none are left.
    pub(crate) fn spend(&self, comparisons: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(comparisons));
        self.0.get() > 0
    }

    /// Whether no comparisons are left. Uncompared text then counts as not checked.
    pub(crate) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}
