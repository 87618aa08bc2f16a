//! What a dialect adds to a Session.

use bobbin_core::{Encoded, Frame, WireMessage};
use bobbin_model::{Approval, Decision, Question, QuestionAnswer, ThreadId};
use bobbin_peer::PeerHandle;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

/// The log that a frame comes to a client through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSource {
    /// Its Thread's: numbered, complete, to be read on from where one stopped.
    Thread,
    /// The workspace's: broadcasts, and news of a Thread that the client does not follow.
    Workspace,
}

/// What came of putting a model's question to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionReply {
    /// It has answered.
    Answered(QuestionAnswer),
    /// It cannot answer this: others may.
    Passed,
    /// It never will: the connection is gone.
    Gone,
}

/// One dialect as one connection speaks it, with that client's capabilities.
pub trait Dialect: Send + Sync + 'static {
    /// Returns where in a frame this connection's encoding is kept: connections with the same slot share
    /// one encoding, so the slot says everything that [`Dialect::encode`] depends on besides the frame.
    /// `source` is the log that the frame comes through.
    fn slot(&self, source: LogSource) -> usize;

    /// Returns the notifications of a frame; none is fine.
    fn encode(&self, frame: &Frame, source: LogSource) -> Encoded;

    /// Whether this client wants a notification about a Thread.
    fn wants(&self, message: &WireMessage, thread: &ThreadId) -> bool;

    /// Whether this client answers Approvals.
    fn approves(&self) -> bool;

    /// Whether this client, which answers Approvals, also takes what a model wants to know.
    fn is_asked(&self) -> bool {
        false
    }

    /// Whether this client drops a question that comes before it has handled the answer to its `thread/read`.
    fn drops_early_questions(&self) -> bool {
        false
    }

    /// Returns the client's name, recorded with its answers.
    fn client_name(&self) -> String;

    /// Puts an open question to the client and waits for its answer. `None` means that it never will:
    /// the connection is gone. The question stays open for others and for later.
    fn ask<'a>(
        &'a self,
        peer: &'a PeerHandle,
        thread: &'a ThreadId,
        approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>>;

    /// Returns what shows the client a question of a subagent that was open before the client came to the Thread at the
    /// top; nothing where asking it is enough. One question may come here more than once.
    fn remind(&self, _root: &ThreadId, _approval: &Approval) -> Encoded {
        Encoded::default()
    }

    /// Puts a model's question to the client and waits for its answer. Not called where [`Dialect::is_asked`] says no.
    fn inquire<'a>(&'a self, _peer: &'a PeerHandle, _question: &'a Question) -> BoxFuture<'a, QuestionReply> {
        std::future::ready(QuestionReply::Passed).boxed()
    }
}
