//! Waiting until a client has been sent everything that has happened in a Thread so far.
//!
//! A request about an event must reach the client after the event. Only the sender of that request waits; the pump
//! reports each write.

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

/// Counts one waiting request while it exists.
struct Waiting<'a>(&'a Flushes);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Session {
    /// Waits until the client has been sent everything that the Thread has shown by now. Returns at once if the client
    /// does not follow the Thread, and when the connection ends.
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
