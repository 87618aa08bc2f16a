//! The log itself: gives numbers, keeps the newest frames, shows what is committed.
//!
//! Generic over what an entry is, because the workspace's log numbers frames of many Threads once more.
//! Bounded in entries and bytes; at the bound the oldest *shown* entries go, hidden ones never do (they
//! are bounded by the owner's commits in flight). One short mutex, never held across anything that waits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bobbin_model::Seq;
use parking_lot::Mutex;

use crate::wake::Wakers;
use crate::{Frame, Waker};

/// Bound of one log.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most entries kept.
    pub entries: usize,
    /// Most bytes kept, by the entries' own estimate.
    pub bytes: usize,
}

impl Default for Limits {
    /// 4,096 entries or 1 MiB, whichever comes first (start values of the design, configurable).
    fn default() -> Self {
        Self {
            entries: 4096,
            bytes: 1 << 20,
        }
    }
}

/// What stands in a log.
pub trait Entry: Send + Sync {
    /// Estimated size in bytes.
    fn bytes(&self) -> usize;
}

impl Entry for Frame {
    fn bytes(&self) -> usize {
        Frame::bytes(self)
    }
}

/// What a read found.
#[derive(Debug)]
pub enum Read<T> {
    /// Entries in order, and the cursor after them. Empty when there is nothing new.
    Entries {
        /// The entries.
        entries: Vec<T>,
        /// Where to read next.
        next: Seq,
    },
    /// What the cursor points at is no longer in memory; the oldest that is.
    Gone {
        /// The oldest entry's number.
        first: Seq,
    },
}

#[derive(Debug)]
struct Inner<T> {
    /// Number of `entries[0]`, or of the next entry when there is none.
    first: Seq,
    entries: VecDeque<T>,
    bytes: usize,
}

/// A numbered, bounded log.
#[derive(Debug)]
pub struct Log<T> {
    inner: Mutex<Inner<T>>,
    visible: AtomicU64,
    closed: AtomicBool,
    wakers: Wakers,
    limits: Limits,
}

impl<T: Clone + std::ops::Deref<Target: Entry>> Log<T> {
    /// Makes an empty log whose first entry will have the number `next`.
    pub fn new(next: Seq, limits: Limits) -> Self {
        Self {
            inner: Mutex::new(Inner {
                first: next,
                entries: VecDeque::new(),
                bytes: 0,
            }),
            visible: AtomicU64::new(next.prev().0),
            closed: AtomicBool::new(false),
            wakers: Wakers::default(),
            limits,
        }
    }

    /// Appends the entry that `make` builds for the number it is given. Hidden until shown.
    pub fn append(&self, make: impl FnOnce(Seq) -> T) -> T {
        let mut inner = self.inner.lock();
        let seq = Seq(inner.first.0 + inner.entries.len() as u64);
        let entry = make(seq);
        inner.bytes += entry.bytes();
        inner.entries.push_back(entry.clone());
        entry
    }

    /// Lets readers see everything up to and including `seq`, then drops what was shown before and is over
    /// the bound.
    pub fn show(&self, seq: Seq) {
        {
            let mut inner = self.inner.lock();
            let appended = inner.first.0 + inner.entries.len() as u64 - 1;
            let visible = seq.0.min(appended);
            if visible <= self.visible.load(Ordering::Relaxed) {
                return;
            }
            let before = self.visible.swap(visible, Ordering::Release);
            // What is shown now stays at least until the next time: a frame over the bound would otherwise be
            // gone before anybody could read it.
            while inner.first.0 <= before
                && (inner.entries.len() > self.limits.entries || inner.bytes > self.limits.bytes)
            {
                if let Some(old) = inner.entries.pop_front() {
                    inner.bytes -= old.bytes();
                }
                inner.first = inner.first.next();
            }
        }
        self.wakers.wake_all();
    }

    /// Forgets everything, shown or not, and goes on with the number `next`, which is above all that was shown.
    /// Readers that have not got there find what lies between gone.
    pub fn restart(&self, next: Seq) {
        {
            let mut inner = self.inner.lock();
            let next = next.max(Seq(self.visible.load(Ordering::Relaxed)).next());
            inner.first = next;
            inner.entries.clear();
            inner.bytes = 0;
            self.visible.store(next.prev().0, Ordering::Release);
        }
        self.wakers.wake_all();
    }

    /// Returns the number of the newest entry that readers may see.
    pub fn visible(&self) -> Seq {
        Seq(self.visible.load(Ordering::Acquire))
    }

    /// Returns the number of the newest entry, shown or not.
    pub fn appended(&self) -> Seq {
        let inner = self.inner.lock();
        Seq(inner.first.0 + inner.entries.len() as u64 - 1)
    }

    /// Returns the number of the oldest entry in memory, or of the next one when there is none.
    pub fn first(&self) -> Seq {
        self.inner.lock().first
    }

    /// Reads shown entries from `next` on: at least one if there is one, and no more than `max_bytes`.
    pub fn read(&self, next: Seq, max_bytes: usize) -> Read<T> {
        let visible = self.visible();
        if next > visible {
            return Read::Entries {
                entries: Vec::new(),
                next,
            };
        }
        let inner = self.inner.lock();
        if next < inner.first {
            return Read::Gone { first: inner.first };
        }
        let start = usize::try_from(next.0 - inner.first.0).unwrap_or(usize::MAX);
        let count = usize::try_from(visible.0 - next.0 + 1).unwrap_or(usize::MAX);
        let mut entries = Vec::new();
        let mut bytes = 0;
        for entry in inner.entries.iter().skip(start).take(count) {
            bytes += entry.bytes();
            if bytes > max_bytes && !entries.is_empty() {
                break;
            }
            entries.push(entry.clone());
        }
        let next = Seq(next.0 + entries.len() as u64);
        Read::Entries { entries, next }
    }

    /// Hangs a reader's bell into the log.
    pub fn watch(&self, waker: &Waker) {
        self.wakers.add(waker);
    }

    /// Takes it out again.
    pub fn unwatch(&self, waker: &Waker) {
        self.wakers.remove(waker);
    }

    /// Returns how many readers watch.
    pub fn watchers(&self) -> usize {
        self.wakers.len()
    }

    /// Returns entries and bytes in memory.
    pub fn depth(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.entries.len(), inner.bytes)
    }

    /// Ends the log: nothing more will be shown. Readers are woken to see it.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wakers.wake_all();
    }

    /// Whether the log has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
