//! A Session: the handle by which a dialect's methods serve one client.

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

/// Longest time that a client is sent nothing while an answer is made: longer than a Turn takes to stop.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// A guard: its client is sent nothing until it is dropped.
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
    /// Starts to serve a client, which is sent the workspace's broadcasts from now on. The task ends with the
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
        session
            .subscriptions
            .lock()
            .open(session.threads.broadcasts().log());
        let pump = tokio::spawn(pump::run(session.clone()));
        (session, pump)
    }

    /// Returns the Threads of the workspace.
    pub fn threads(&self) -> &Arc<Threads> {
        &self.threads
    }

    /// Subscribes to a Thread. Never waits, so an answer's closure may call it right after queueing the answer. A
    /// Thread has one cursor, however often it is subscribed to.
    pub fn subscribe(&self, options: &SubscribeOptions) {
        self.subscriptions.lock().subscribe(options);
    }

    /// Sends the open questions of a Thread and its subagents again, for a client that has lost its state. Questions
    /// that are still waiting for its answer are not asked twice.
    pub fn ask_again(&self, thread: &ThreadId) {
        self.subscriptions.lock().ask_again(thread);
        self.waker.wake();
    }

    /// Sends no frames of Threads or broadcasts until the guard is dropped, for five seconds at most. Use it for an
    /// answer that must come before the effects of its request.
    pub fn hold(self: &Arc<Self>) -> Held {
        let until = Instant::now() + LONGEST_HOLD;
        self.subscriptions.lock().hold(until);
        Held {
            session: self.clone(),
            until,
        }
    }

    /// Ends a Subscription. Does nothing if there is none.
    pub fn unsubscribe(&self, thread: &ThreadId) {
        if self
            .subscriptions
            .lock()
            .unsubscribe(thread, self.threads.broadcasts().log())
        {
            self.pending.leave(thread);
        }
    }

    /// Whether the client has subscribed to a Thread.
    pub fn is_subscribed(&self, thread: &ThreadId) -> bool {
        self.subscriptions.lock().is_subscribed(thread)
    }
}
