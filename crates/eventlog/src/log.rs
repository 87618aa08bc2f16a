//! The log itself: assigns numbers, retains the newest frames, shows committed ones.
//!
//! Generic over the entry, because the workspace's log numbers frames of many Threads again. Limited in entries and
//! bytes. At a limit the oldest *shown* entries are removed; hidden ones are never removed (the owner's commits in
//! flight bound them). One short mutex, never held across a wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bobbin_model::Seq;
use parking_lot::Mutex;

use crate::wake::Wakers;
use crate::{Frame, Waker};

/// Limits of one log.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most retained entries.
    pub entries: usize,
    /// Most retained bytes, by the entries' own estimate.
    pub bytes: usize,
}

impl Default for Limits {
    /// Returns 4,096 entries or 1 MiB, whichever comes first (initial values, configurable).
    fn default() -> Self {
        Self {
            entries: 4096,
            bytes: 1 << 20,
        }
    }
}

/// An entry of a log.
pub trait Entry: Send + Sync {
    /// Estimated size in bytes.
    fn bytes(&self) -> usize;
}

impl Entry for Frame {
    fn bytes(&self) -> usize {
        Frame::bytes(self)
    }
}

/// The result of a read.
#[derive(Debug)]
pub enum Read<T> {
    /// Entries in order, and the cursor after them. Empty when there is nothing new.
    Entries {
        /// The entries.
        entries: Vec<T>,
        /// Where to read next.
        next: Seq,
    },
    /// The entry at the cursor is no longer in memory.
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

    /// Appends the entry that `make` builds for its number. Hidden until shown.
    pub fn append(&self, make: impl FnOnce(Seq) -> T) -> T {
        let mut inner = self.inner.lock();
        let seq = Seq(inner.first.0 + inner.entries.len() as u64);
        let entry = make(seq);
        inner.bytes += entry.bytes();
        inner.entries.push_back(entry.clone());
        entry
    }

    /// Shows everything up to and including `seq`, then removes entries over the limit that were shown before.
    pub fn show(&self, seq: Seq) {
        {
            let mut inner = self.inner.lock();
            let appended = inner.first.0 + inner.entries.len() as u64 - 1;
            let visible = seq.0.min(appended);
            if visible <= self.visible.load(Ordering::Relaxed) {
                return;
            }
            let before = self.visible.swap(visible, Ordering::Release);
            // Newly shown entries stay at least until the next call: otherwise an entry over the limit would be
            // removed before any reader could read it.
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

    /// Removes all entries, shown or not, and continues with the number `next`, which is above all shown numbers.
    /// Readers that have not reached it get [`Read::Gone`] for the numbers in between.
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

    /// Returns the number of the newest entry, shown or hidden.
    pub fn appended(&self) -> Seq {
        let inner = self.inner.lock();
        Seq(inner.first.0 + inner.entries.len() as u64 - 1)
    }

    /// Returns the number of the oldest entry in memory, or of the next entry if there is none.
    pub fn first(&self) -> Seq {
        self.inner.lock().first
    }

    /// Reads shown entries from `next` on: at least one if there is any, and otherwise at most `max_bytes`.
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

    /// Registers a reader's waker.
    pub fn watch(&self, waker: &Waker) {
        self.wakers.add(waker);
    }

    /// Removes a reader's waker.
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

    /// Ends the log: no more entries will be shown. Readers are woken.
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
