//! Background terminals as clients see them: the contract between the dialects and what runs them.
//!
//! What a terminal is at a moment is a [`Terminal`]; every change is broadcast as [`TerminalNews`], after the answer to
//! the request that caused it.

use std::time::Duration;

use bobbin_model::{Terminal, TerminalChange, ThreadId};
use futures_util::future::BoxFuture;

use crate::Once;

/// Broadcast: a background terminal has changed. Sent to every client, whatever Threads it follows.
#[derive(Debug, Clone, PartialEq)]
pub struct TerminalNews {
    /// What has become of it.
    pub change: TerminalChange,
    /// The terminal as it is now.
    pub terminal: Terminal,
}

/// Why something could not be done with a terminal. The texts are for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// No terminal has this id.
    #[error("there is no terminal {0}")]
    NotFound(String),
    /// It cannot be done with this one, or not now.
    #[error("{0}")]
    Invalid(String),
    /// A client gave one name to two different requests.
    #[error("the request id {0} was used for another request")]
    RequestIdReused(String),
}

/// How long a read waits, and for what. Waits are cut at the protocol's longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until there is more than there was, or it has ended, at most so long.
    News(Duration),
    /// Until it has ended, at most so long.
    End(Duration),
}

/// Takes the answer to a change. Must not wait.
pub type TerminalReply<T> = Box<dyn FnOnce(T) + Send>;

/// Runs the workspace's background terminals.
pub trait Terminals: Send + Sync + 'static {
    /// Returns those of a Thread, or all, oldest first, each with a little of its output.
    fn list(&self, thread: Option<&ThreadId>) -> BoxFuture<'static, Vec<Terminal>>;

    /// Returns one with the last `chars` characters of its output (the usual number when there is none), once
    /// the wait is over.
    fn read(
        &self,
        id: &str,
        wait: Wait,
        chars: Option<usize>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>>;

    /// Types into one, at once, and returns it when it has ended or `wait` is over. What was typed under a name
    /// before is not typed again.
    fn write(
        &self,
        id: &str,
        input: String,
        wait: Duration,
        chars: Option<usize>,
        once: Option<Once>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>>;

    /// Ends one, with everything that it started. `reply` is called once it is gone, before clients are notified.
    fn stop(&self, id: &str, reply: TerminalReply<Result<Terminal, TerminalError>>);

    /// Removes those of a Thread that have ended, with their output. `reply` is called with them, before clients
    /// are notified.
    fn clean(&self, thread: &ThreadId, reply: TerminalReply<Vec<Terminal>>) -> BoxFuture<'static, ()>;
}
