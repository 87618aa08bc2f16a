//! Figures about the server's process: uptime, connections, memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Figures of one server. Connections count themselves.
#[derive(Debug)]
pub struct ServerProcess {
    started: Instant,
    connections: watch::Sender<usize>,
    memory: fn() -> Option<u64>,
}

impl ServerProcess {
    /// Starts the measurement. `memory` returns the bytes of memory in use, if the system reports them.
    #[must_use]
    pub fn start(memory: fn() -> Option<u64>) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            connections: watch::Sender::new(0),
            memory,
        })
    }

    /// Counts a connection while the returned value lives.
    #[must_use]
    pub fn connection(self: &Arc<Self>) -> OpenConnection {
        self.connections.send_modify(|open| *open += 1);
        OpenConnection(self.clone())
    }

    /// Returns the time since the server's start.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the number of connected clients.
    pub fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    /// Returns a receiver of the number of connected clients.
    pub fn watch_connections(&self) -> watch::Receiver<usize> {
        self.connections.subscribe()
    }

    /// Returns the bytes of memory in use, if the system reports them.
    pub fn memory_bytes(&self) -> Option<u64> {
        (self.memory)()
    }
}

/// One connection in [`ServerProcess::connections`].
#[derive(Debug)]
pub struct OpenConnection(Arc<ServerProcess>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_counts_as_long_as_it_lives() {
        let process = ServerProcess::start(|| None);
        let open = [process.connection(), process.connection()];
        assert_eq!(process.connections(), 2);
        drop(open);
        assert_eq!(process.connections(), 0);
    }
}
