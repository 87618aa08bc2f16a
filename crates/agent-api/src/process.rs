//! What a server knows of itself as a process: its age, its connections, its memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The figures of one server. Connections count themselves.
#[derive(Debug)]
pub struct ServerProcess {
    started: Instant,
    connections: watch::Sender<usize>,
    memory: fn() -> Option<u64>,
}

impl ServerProcess {
    /// Starts the measurement. `memory` returns the bytes that the process occupies, where the system says so.
    #[must_use]
    pub fn start(memory: fn() -> Option<u64>) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            connections: watch::Sender::new(0),
            memory,
        })
    }

    /// Counts a connection as long as the value lives.
    #[must_use]
    pub fn connection(self: &Arc<Self>) -> OpenConnection {
        self.connections.send_modify(|open| *open += 1);
        OpenConnection(self.clone())
    }

    /// Returns how long the server runs.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns how many clients are connected.
    pub fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    /// Returns how many clients are connected, now and after each change.
    pub fn watch_connections(&self) -> watch::Receiver<usize> {
        self.connections.subscribe()
    }

    /// Returns the bytes of memory that the process occupies, where the system says so.
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
