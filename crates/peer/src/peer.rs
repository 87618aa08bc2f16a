//! Starting a connection, and the guard that ends it.

use std::ops::Deref;
use std::sync::Arc;

use bobbin_framing::Transport;
use tokio::runtime::Handle;

use crate::connection;
use crate::error::ConfigError;
use crate::handle::PeerHandle;
use crate::handlers::Handlers;
use crate::options::PeerOptions;
use crate::shared::Shared;
use crate::writer::Stopped;

/// One JSON-RPC connection. Dereferences to its [`PeerHandle`]; dropping it starts the shutdown.
#[derive(Debug)]
pub struct Peer {
    handle: PeerHandle,
}

impl Peer {
    /// Starts a connection on `transport`.
    ///
    /// `configure` gets the handle before the first byte is read and returns the handlers, which may own it. Must
    /// be called within a tokio runtime; the connection and its handlers run there.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when the handlers contradict each other; the handle passed to `configure` is stopped then.
    pub fn start(
        transport: Transport,
        options: PeerOptions,
        configure: impl FnOnce(PeerHandle) -> Handlers,
    ) -> Result<Self, ConfigError> {
        let runtime = Handle::current();
        let shared = Arc::new(Shared::new(options, runtime.clone(), transport.writer));
        // From here on every handle sees the end, even if starting fails.
        let stopped = Stopped::new(Arc::clone(&shared));
        let handle = PeerHandle::new(Arc::clone(&shared));
        let handlers = configure(handle.clone());
        handlers.check()?;
        shared.peek(|state| state.set_lanes(handlers.lane_count()));
        // Set here only, so it cannot have been set before.
        let _fresh = shared.layers.set(handlers.layers());
        connection::spawn(&runtime, shared, transport.reader, handlers, stopped);
        Ok(Self { handle })
    }

    /// Starts two peers that are connected in memory.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn pair(
        near: impl FnOnce(PeerHandle) -> Handlers,
        far: impl FnOnce(PeerHandle) -> Handlers,
    ) -> Result<(Self, Self), ConfigError> {
        let (near_end, test_client) = Transport::memory_pair();
        let near = Self::start(near_end, PeerOptions::default(), near)?;
        let far = Self::start(test_client, PeerOptions::default(), far)?;
        Ok((near, far))
    }

    /// Returns a handle that may outlive the guard.
    pub fn handle(&self) -> PeerHandle {
        self.handle.clone()
    }
}

impl Deref for Peer {
    type Target = PeerHandle;

    fn deref(&self) -> &PeerHandle {
        &self.handle
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.handle.start_shutdown();
    }
}
