//! A Session: the handle that a dialect's methods work with.

use std::sync::Arc;

use bobbin_core::{Hub, Waker};
use bobbin_model::ThreadId;
use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::asks::Asks;
use crate::readers::Readers;
use crate::told::Told;
use crate::{Attach, Dialect, pump};

/// One connected client that has finished its handshake.
pub struct Session {
    pub(crate) peer: PeerHandle,
    pub(crate) hub: Arc<Hub>,
    pub(crate) dialect: Arc<dyn Dialect>,
    pub(crate) readers: Mutex<Readers>,
    pub(crate) waker: Waker,
    pub(crate) asks: Asks,
    pub(crate) told: Told,
}

impl Session {
    /// Begins to serve a client: from here on it is told what concerns everyone. The task ends with the
    /// connection and is to be joined.
    pub fn start(peer: PeerHandle, hub: Arc<Hub>, dialect: Arc<dyn Dialect>) -> (Arc<Self>, JoinHandle<()>) {
        let waker = Waker::default();
        let readers = Mutex::new(Readers::new(&*dialect, waker.clone()));
        let session = Arc::new(Self {
            peer,
            hub,
            dialect,
            readers,
            waker,
            asks: Asks::default(),
            told: Told::default(),
        });
        session.readers.lock().open(session.hub.everyone());
        let pump = tokio::spawn(pump::run(session.clone()));
        (session, pump)
    }

    /// Returns the core.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Begins to read a Thread. Never waits, so that an answer's closure may call it right after queueing
    /// the answer. A Thread that is read already keeps its one cursor.
    pub fn attach(&self, attach: &Attach) {
        self.readers.lock().attach(attach);
    }

    /// Has what is open in a Thread that is read, and below it, shown and asked once more: the client has forgotten what
    /// it was shown. What it was asked and has not answered is not asked twice.
    pub fn ask_again(&self, thread: &ThreadId) {
        self.readers.lock().ask_again(thread);
        self.waker.wake();
    }

    /// Ends a Subscription. Nothing happens where there is none.
    pub fn unsubscribe(&self, thread: &ThreadId) {
        if self.readers.lock().detach(thread, self.hub.everyone()) {
            self.asks.leave(thread);
        }
    }

    /// Whether the client has subscribed to a Thread.
    pub fn is_subscribed(&self, thread: &ThreadId) -> bool {
        self.readers.lock().is_subscribed(thread)
    }
}
