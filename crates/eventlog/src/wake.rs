//! Waking readers: one bell per reader, hung into every log it reads.
//!
//! A reader with many logs waits at one place. Ringing is cheap and never waits; a bell that rings while
//! its reader is busy is not lost.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A reader's bell.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<Notify>);

impl Waker {
    /// Rings it.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits until it rings, or returns at once if it rang since the last wait.
    ///
    /// # Cancel safety
    /// Safe: a ring that was not consumed is kept.
    pub async fn woken(&self) {
        self.0.notified().await;
    }

    fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The bells hung into one log: one entry per reader, so bounded by the connections.
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
