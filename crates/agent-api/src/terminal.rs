//! Background terminals: the contract between the dialects and the crate that runs them.
//!
//! A [`Terminal`] is a terminal's state at a moment. Every change is broadcast as [`TerminalNews`], after the answer to the
//! request that caused it.

use std::time::Duration;

use bobbin_model::{Terminal, TerminalChange, ThreadId};
use futures_util::future::BoxFuture;

use crate::Once;

/// Broadcast: a background terminal has changed. Every client gets it, whichever Threads it follows.
#[derive(Debug, Clone, PartialEq)]
pub struct TerminalNews {
    /// The change.
    pub change: TerminalChange,
    /// The terminal as it is now.
    pub terminal: Terminal,
}

/// Error of an operation on a terminal. The texts are for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// No terminal has this id.
    #[error("there is no terminal {0}")]
    NotFound(String),
    /// The terminal does not allow this, or not now.
    #[error("{0}")]
    Invalid(String),
    /// A client used one id for two different requests.
    #[error("the request id {0} was used for another request")]
    RequestIdReused(String),
}

/// Condition and time limit of a read. The protocol's longest wait bounds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Waits for more output or the end.
    News(Duration),
    /// Waits for the end.
    End(Duration),
}

/// Receives the answer to a change. Must not block.
pub type TerminalReply<T> = Box<dyn FnOnce(T) + Send>;

/// Runs the workspace's background terminals.
pub trait Terminals: Send + Sync + 'static {
    /// Returns the terminals of a Thread, or all, oldest first, each with a little of its output.
    fn list(&self, thread: Option<&ThreadId>) -> BoxFuture<'static, Vec<Terminal>>;

    /// Returns a terminal after the wait, with the last `chars` characters of its output (`None` means the default number).
    fn read(
        &self,
        id: &str,
        wait: Wait,
        chars: Option<usize>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>>;

    /// Types into a terminal at once, and returns it after its end or after `wait`. Input that was typed with the same `once`
    /// before is not typed again.
    fn write(
        &self,
        id: &str,
        input: String,
        wait: Duration,
        chars: Option<usize>,
        once: Option<Once>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>>;

    /// Ends a terminal and all its processes. Calls `reply` once they are gone, before clients are notified.
    fn stop(&self, id: &str, reply: TerminalReply<Result<Terminal, TerminalError>>);

    /// Removes the ended terminals of a Thread, with their output. Calls `reply` with them before clients are notified.
    fn clean(&self, thread: &ThreadId, reply: TerminalReply<Vec<Terminal>>) -> BoxFuture<'static, ()>;
}
