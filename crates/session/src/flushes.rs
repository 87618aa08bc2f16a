//! Waiting until a client has been sent what has happened in a Thread so far.
//!
//! A request about something in a Thread's log goes to the client behind what the log says of it. Only the sender of that
//! request waits; the pump only says that it has written what it took.

use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_model::ThreadId;
use tokio::sync::Notify;

use crate::Session;

#[derive(Default)]
pub(crate) struct Flushes {
    waiting: AtomicUsize,
    progress: Notify,
}

impl Flushes {
    /// Whether a request waits.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    pub(crate) fn notify(&self) {
        self.progress.notify_waiters();
    }
}

/// Counts one request that waits, as long as it does.
struct Waiting<'a>(&'a Flushes);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Session {
    /// Returns once the client has been sent all that has been shown of a Thread by now: at once when it does not
    /// follow the Thread, and when the connection ends.
    ///
    /// # Cancel safety
    /// May be dropped at any time.
    pub async fn flushed(&self, thread: &ThreadId) {
        let Some(until) = self.subscriptions.lock().visible(thread) else {
            return;
        };
        self.flushes.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.flushes);
        let closed = self.peer.closed();
        tokio::pin!(closed);
        loop {
            let progress = self.flushes.progress.notified();
            tokio::pin!(progress);
            progress.as_mut().enable();
            if self.subscriptions.lock().has_sent(thread, until) {
                return;
            }
            self.waker.wake();
            tokio::select! {
                () = &mut progress => {}
                () = &mut closed => return,
            }
        }
    }
}
