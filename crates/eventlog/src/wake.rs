//! Wakes readers: each reader has one waker, registered in every log it reads.
//!
//! So a reader of many logs waits in one place. Waking is cheap and never waits. A wake while the reader is busy is
//! not lost.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A reader's waker.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<Notify>);

impl Waker {
    /// Wakes the reader.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits for a wake, or returns at once if there was one since the last wait.
    ///
    /// # Cancel safety
    /// Cancel safe: an unconsumed wake stays.
    pub async fn woken(&self) {
        self.0.notified().await;
    }

    fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The wakers registered in one log: one per reader, so the connections bound them.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Mutex<Vec<Waker>>);

impl Wakers {
    pub(crate) fn add(&self, waker: &Waker) {
        let mut all = self.0.lock();
        if !all.iter().any(|known| known.same(waker)) {
            all.push(waker.clone());
        }
    }

    pub(crate) fn remove(&self, waker: &Waker) {
        self.0.lock().retain(|known| !known.same(waker));
    }

    pub(crate) fn wake_all(&self) {
        for waker in self.0.lock().iter() {
            waker.wake();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
