//! Forwarded ports: the contract between the dialects and the relay of bytes.
//!
//! Commands of a Thread can have their own network. A forward lets the user's programs connect to one port there.

use std::io;
use std::net::SocketAddr;

use bobbin_model::ThreadId;
use futures_util::future::BoxFuture;

/// Longest part of a host name, in letters.
const MAX_LABEL: usize = 63;

/// A port of a Thread's commands, forwarded to the machine's loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Its id.
    pub id: String,
    /// The Thread.
    pub thread: ThreadId,
    /// The port in the network of the Thread's commands.
    pub port: u16,
    /// Address at which the server listens.
    pub address: SocketAddr,
}

impl Forward {
    /// Returns the address for a browser. Its origin belongs to the Thread alone, so its pages share no storage with other
    /// services on ports of this machine.
    pub fn url(&self) -> String {
        format!("http://{}/", self.authority())
    }

    /// Returns the host and the port of [`Self::url`].
    pub fn authority(&self) -> String {
        let letters = self.thread.as_str().chars().map(|letter| match letter {
            'a'..='z' | '0'..='9' => letter,
            'A'..='Z' => letter.to_ascii_lowercase(),
            _ => '-',
        });
        let label: String = letters.take(MAX_LABEL).collect();
        let label = label.trim_matches('-');
        format!("{label}.localhost:{}", self.address.port())
    }
}

/// Broadcast: a forward has ended. Every client gets it, whichever Threads it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardEnded(pub Forward);

/// Reason why a port is not forwarded. The texts are for the user.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// No command of the Thread had its own network.
    #[error(
        "no command of this thread had a network of its own since the server was started: what they serve, if anything, \
         is on the machine's own loopback"
    )]
    NoNetwork,
    /// The Thread has its maximum of forwards.
    #[error("this thread has {0} forwards, the most there may be; end one first")]
    ThreadFull(usize),
    /// The named port is or was that of a Bobbin page, perhaps of an earlier server.
    #[error(
        "port {0} is or was that of a Bobbin page: your browser would give what answers there the secret of that page. \
         Name another port, or none"
    )]
    PagePort(u16),
    /// The server cannot listen at the named port, or at any.
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
    /// Returns the forwards of a Thread, or of all Threads.
    fn list(&self, thread: Option<&ThreadId>) -> Vec<Forward>;

    /// Forwards a port of a Thread's commands to `to`. Without `to`, takes the same port; takes a free one if that port is
    /// in use, or is or was that of a Bobbin page. Dropping the future starts no forward.
    fn start(
        &self,
        thread: ThreadId,
        port: u16,
        to: Option<u16>,
    ) -> BoxFuture<'static, Result<Forward, ForwardError>>;

    /// Ends a forward and its connections. Returns whether it existed. Clients are notified once it has ended.
    fn stop(&self, id: &str) -> bool;

    /// Waits until a forward has ended.
    fn ended(&self, id: &str) -> BoxFuture<'static, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_ports_have_an_origin_of_its_own() {
        let url = |thread: &str| {
            let forward = Forward {
                id: "forward_1".to_owned(),
                thread: ThreadId::new(thread),
                port: 80,
                address: ([127, 0, 0, 1], 5173).into(),
            };
            forward.url()
        };
        for (thread, expected) in [
            (
                "thread_20270301_Ab12cd",
                "http://thread-20270301-ab12cd.localhost:5173/",
            ),
            ("_te.a/x_", "http://te-a-x.localhost:5173/"),
        ] {
            assert_eq!(url(thread), expected);
        }
        assert_eq!(
            url(&"a".repeat(99)).len(),
            "http://.localhost:5173/".len() + MAX_LABEL
        );
    }
}
