//! A Session: the handle that a dialect's methods work with.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::{Threads, Waker};
use bobbin_model::ThreadId;
use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::flushes::Flushes;
use crate::pending_requests::PendingRequests;
use crate::subscriptions::Subscriptions;
use crate::{Dialect, SubscribeOptions, pump};

/// How long a client is sent nothing while an answer is made: longer than a Turn takes to stop.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// A client is sent nothing until this is dropped.
#[must_use]
pub struct Held {
    session: Arc<Session>,
    until: Instant,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.session.subscriptions.lock().release(self.until);
    }
}

/// One connected client that has finished its handshake.
pub struct Session {
    pub(crate) peer: PeerHandle,
    pub(crate) threads: Arc<Threads>,
    pub(crate) dialect: Arc<dyn Dialect>,
    pub(crate) subscriptions: Mutex<Subscriptions>,
    pub(crate) waker: Waker,
    pub(crate) pending: PendingRequests,
    pub(crate) flushes: Flushes,
}

impl Session {
    /// Starts to serve a client: from here on it is sent the workspace's broadcasts. The task ends with the
    /// connection; join it.
    pub fn start(
        peer: PeerHandle,
        threads: Arc<Threads>,
        dialect: Arc<dyn Dialect>,
    ) -> (Arc<Self>, JoinHandle<()>) {
        let waker = Waker::default();
        let subscriptions = Mutex::new(Subscriptions::new(&*dialect, waker.clone()));
        let session = Arc::new(Self {
            peer,
            threads,
            dialect,
            subscriptions,
            waker,
            pending: PendingRequests::default(),
            flushes: Flushes::default(),
        });
        session.subscriptions.lock().open(session.threads.broadcasts());
        let pump = tokio::spawn(pump::run(session.clone()));
        (session, pump)
    }

    /// Returns the core.
    pub fn threads(&self) -> &Arc<Threads> {
        &self.threads
    }

    /// Subscribes to a Thread. Never waits, so that an answer's closure may call it right after queueing the answer. A
    /// Thread that is read already keeps its one cursor.
    pub fn subscribe(&self, options: &SubscribeOptions) {
        self.subscriptions.lock().subscribe(options);
    }

    /// Has what is open in a Thread that is read, and below it, shown and asked once more: the client has forgotten what
    /// it was shown. What it was asked and has not answered is not asked twice.
    pub fn ask_again(&self, thread: &ThreadId) {
        self.subscriptions.lock().ask_again(thread);
        self.waker.wake();
    }

    /// Sends nothing more of Threads and broadcasts until the guard is dropped, for five seconds at most: for an answer
    /// that comes before what its request causes.
    pub fn hold(self: &Arc<Self>) -> Held {
        let until = Instant::now() + LONGEST_HOLD;
        self.subscriptions.lock().hold(until);
        Held {
            session: self.clone(),
            until,
        }
    }

    /// Ends a Subscription. Nothing happens where there is none.
    pub fn unsubscribe(&self, thread: &ThreadId) {
        if self
            .subscriptions
            .lock()
            .unsubscribe(thread, self.threads.broadcasts())
        {
            self.pending.leave(thread);
        }
    }

    /// Whether the client has subscribed to a Thread.
    pub fn is_subscribed(&self, thread: &ThreadId) -> bool {
        self.subscriptions.lock().is_subscribed(thread)
    }
}
