//! What judging one line may cost, in comparisons: the same for the same line and rules on every machine.

use std::cell::Cell;

/// Most comparisons of characters for one line (some 20 ms). An ordinary line under a hundred rules takes some hundred.
const MAX_WORK: usize = 4_000_000;

/// What is left of it.
#[derive(Debug)]
pub(crate) struct Work(Cell<usize>);

impl Default for Work {
    fn default() -> Self {
        Self(Cell::new(MAX_WORK))
    }
}

impl Work {
    /// Takes some of it; `false` where nothing is left.
    pub(crate) fn spend(&self, comparisons: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(comparisons));
        self.0.get() > 0
    }

    /// Whether nothing is left: then what was not compared counts as not seen.
    pub(crate) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}
