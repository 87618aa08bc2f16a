//! Undo and redo as differences of texts: what was replaced, and by what.
//!
//! Bounded in bytes. The oldest steps are forgotten first, and the newest step never is, however large.

use std::collections::VecDeque;
use std::ops::Range;

use crate::common::{prefix, suffix};

/// Bytes that a step costs beside its texts; a bound for steps of no length.
const STEP_BYTES: usize = 64;

/// The changes that led to the text, and those that were taken back.
#[derive(Debug, Default)]
pub(crate) struct History {
    undo: VecDeque<Step>,
    redo: Vec<Step>,
    bytes: usize,
}

/// One change: `old` at a position was replaced by `new`.
#[derive(Debug)]
struct Step {
    at: usize,
    old: String,
    new: String,
    /// The state before the change and the one after it.
    states: (u64, u64),
}

impl Step {
    fn bytes(&self) -> usize {
        self.old.len() + self.new.len() + STEP_BYTES
    }
}

impl History {
    /// Records a change. Undone changes can no longer be redone.
    pub(crate) fn record(&mut self, before: &str, after: &str, states: (u64, u64), max_bytes: usize) {
        let (old, new) = difference(before, after);
        self.bytes -= self.redo.drain(..).map(|step| step.bytes()).sum::<usize>();
        let step = Step {
            at: old.start,
            old: before[old].to_owned(),
            new: after[new].to_owned(),
            states,
        };
        self.bytes += step.bytes();
        self.undo.push_back(step);
        while self.bytes > max_bytes && self.undo.len() > 1 {
            self.bytes -= self.undo.pop_front().map_or(0, |step| step.bytes());
        }
    }

    /// Takes the last change back and returns the state that the text is in then.
    pub(crate) fn undo(&mut self, text: &mut String) -> Option<u64> {
        let step = self.undo.pop_back()?;
        text.replace_range(step.at..step.at + step.new.len(), &step.old);
        let state = step.states.0;
        self.redo.push(step);
        Some(state)
    }

    /// Makes the change again that was taken back last, and returns the state that the text is in then.
    pub(crate) fn redo(&mut self, text: &mut String) -> Option<u64> {
        let step = self.redo.pop()?;
        text.replace_range(step.at..step.at + step.old.len(), &step.new);
        let state = step.states.1;
        self.undo.push_back(step);
        Some(state)
    }

    /// Returns how many changes can be taken back, and how many made again.
    pub(crate) fn depth(&self) -> (usize, usize) {
        (self.undo.len(), self.redo.len())
    }

    /// Returns the bytes in use.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns the ranges in which two texts differ: everything before and after them is the same.
fn difference(before: &str, after: &str) -> (Range<usize>, Range<usize>) {
    let front = prefix(before, after);
    let back = suffix(&before[front..], &after[front..]);
    (front..before.len() - back, front..after.len() - back)
}
