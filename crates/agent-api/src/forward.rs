//! Forwarded ports as clients see them: the contract between the dialects and what relays the bytes.
//!
//! Commands of a Thread can have a network of their own. A forward lets the user's programs connect to one port there.

use std::io;
use std::net::SocketAddr;

use bobbin_model::ThreadId;
use futures_util::future::BoxFuture;

/// Most letters of a part of a host name.
const MAX_LABEL: usize = 63;

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

impl Forward {
    /// Returns the address for a browser: an origin of the Thread's own, so that its pages share no storage with what else
    /// is or was on a port of this machine.
    pub fn url(&self) -> String {
        format!("http://{}/", self.authority())
    }

    /// Returns the host and the port of [`Self::url`]: where browsers are answered.
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
    /// The port that the user named belongs to a page of Bobbin, also of an earlier server.
    #[error(
        "port {0} is or was that of a Bobbin page: your browser would give what answers there the secret of that page. \
         Name another port, or none"
    )]
    PagePort(u16),
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

    /// Forwards a port of a Thread's commands to `to`. Without it, to the same port, or to a free one if that is taken or
    /// is or was that of a Bobbin page.
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
