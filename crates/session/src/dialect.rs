//! The interface by which a dialect serves its clients.

use bobbin_core::{Encoded, Frame, WireMessage};
use bobbin_model::{Actor, Approval, Decision, Question, QuestionAnswer, ThreadId};
use bobbin_peer::PeerHandle;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

/// The log through which a frame reaches a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSource {
    /// The Thread's log: numbered and complete; a client can resume at any frame.
    Thread,
    /// The workspace's log: broadcasts, and news of a Thread that the client does not follow.
    Workspace,
}

/// One dialect as one connection speaks it, with that client's capabilities.
pub trait Dialect: Send + Sync + 'static {
    /// Returns the slot of this connection's encoding in a frame. Connections with the same slot share one encoding, so
    /// the slot stands for everything that [`Dialect::encode`] depends on besides the frame. `source` is the log that
    /// the frame comes through.
    fn slot(&self, source: LogSource) -> usize;

    /// Returns the notifications of a frame; there may be none.
    fn encode(&self, frame: &Frame, source: LogSource) -> Encoded;

    /// Whether this client wants a notification about a Thread.
    fn wants(&self, message: &WireMessage, thread: &ThreadId) -> bool;

    /// Whether this client answers Approvals.
    fn approves(&self) -> bool;

    /// Whether this client answers questions of the model.
    fn is_asked(&self) -> bool {
        false
    }

    /// Whether this client drops a question that comes before it has handled the answer to its `thread/read`.
    fn drops_early_questions(&self) -> bool {
        false
    }

    /// Whether the Approvals that were open before this client came are asked one after the other.
    fn asks_one_by_one(&self) -> bool {
        false
    }

    /// Returns on whose behalf the client acts, recorded with its answers.
    fn actor(&self) -> Actor;

    /// Returns the client's name, recorded with its answers.
    fn client_name(&self) -> String;

    /// Puts an open question to the client and waits for its answer. Returns `None` if there is no answer, as from a
    /// connection that is gone; the question then stays open for other and later clients.
    fn ask<'a>(
        &'a self,
        peer: &'a PeerHandle,
        thread: &'a ThreadId,
        approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>>;

    /// Returns the notifications of a subagent's question that was open before the client came to the root Thread; none
    /// if asking is enough. One question may come here more than once.
    fn remind(&self, _root: &ThreadId, _approval: &Approval) -> Encoded {
        Encoded::default()
    }

    /// Puts a model's question to the client and waits for its answer. Returns `None` if the client cannot answer or is
    /// gone; the question then stays open for other and later clients. Not called where [`Dialect::is_asked`] is false.
    fn inquire<'a>(
        &'a self,
        _peer: &'a PeerHandle,
        _question: &'a Question,
    ) -> BoxFuture<'a, Option<QuestionAnswer>> {
        std::future::ready(None).boxed()
    }
}
