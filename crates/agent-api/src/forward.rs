//! Forwarded ports as clients see them: the contract between the dialects and what relays the bytes.
//!
//! Commands of a Thread can have a network of their own. A forward lets the user's programs connect to one port there.

use std::io;
use std::net::SocketAddr;

use bobbin_model::ThreadId;
use futures_util::future::BoxFuture;

/// A port of a Thread's commands that is reached on the machine's loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Its id.
    pub id: String,
    /// The Thread.
    pub thread: ThreadId,
    /// The port in the network of the Thread's commands.
    pub port: u16,
    /// Where the server listens for it.
    pub address: SocketAddr,
}

/// Broadcast: a forward has ended. Sent to every client, whatever Threads it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardEnded(pub Forward);

/// Why a port is not forwarded. The texts are for the user.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// No command of the Thread had a network apart from the machine's.
    #[error(
        "no command of this thread had a network of its own since the server was started: what they serve, if anything, \
         is on the machine's own loopback"
    )]
    NoNetwork,
    /// The Thread has its maximum of forwards.
    #[error("this thread has {0} forwards, the most there may be; end one first")]
    ThreadFull(usize),
    /// The server cannot listen at the port that the user named, or at any.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
}

/// Forwards ports of Threads to the machine's loopback.
pub trait Forwards: Send + Sync + 'static {
    /// Returns those of a Thread, or all.
    fn list(&self, thread: Option<&ThreadId>) -> Vec<Forward>;

    /// Forwards a port of a Thread's commands to `to`. Without it, to the same port, or to a free one if that is taken.
    /// Dropping the future leaves nothing behind.
    fn start(
        &self,
        thread: ThreadId,
        port: u16,
        to: Option<u16>,
    ) -> BoxFuture<'static, Result<Forward, ForwardError>>;

    /// Ends one, with its connections. Returns whether there was one. Clients are notified once it has ended.
    fn stop(&self, id: &str) -> bool;

    /// Waits until one has ended.
    fn ended(&self, id: &str) -> BoxFuture<'static, ()>;
}
