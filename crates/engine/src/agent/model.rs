//! The seam that models implement: a conversation in, a streamed reply out.

use bobbin_core::engine::TurnGone;
use bobbin_core::tool::ToolSpec;
use bobbin_model::{ContextWindow, Json, TokenUsage, TurnId};
use futures_util::future::BoxFuture;

use super::{Instructions, Message, Pictures};

/// Something that answers in a conversation.
pub trait Model: Send + Sync + 'static {
    /// Returns how many finished Turns it wants to see before the one at hand. `model` is the Thread's choice.
    fn history_turns(&self, model: Option<&str>) -> u32;

    /// Returns the window that conversations with it are measured against; `None` where length does not matter.
    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        let _ = model;
        None
    }

    /// Whether it is shown pictures.
    fn sees_pictures(&self, model: Option<&str>) -> bool {
        let _ = model;
        false
    }

    /// Whether it only follows plain instructions, so that what asks for words of its own must do without. The
    /// argument is the Thread's choice.
    fn is_offline(&self, _model: Option<&str>) -> bool {
        false
    }

    /// Answers, handing over each piece as it comes. Calls that it makes are run afterwards, and it is asked
    /// again with their results.
    ///
    /// # Errors
    /// [`ModelError`]; what was handed over stays part of the Turn.
    ///
    /// # Cancel safety
    /// Dropped at any await when the Turn is interrupted; a request under way must end with it.
    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;
}

/// Takes a reply piece by piece.
pub trait ModelSink: Send {
    /// Takes one piece; waits as long as its record is behind.
    ///
    /// # Errors
    /// [`ModelError::Gone`] when the Turn takes nothing more, [`ModelError::Failed`] when the reply breaks a
    /// bound. The model gives up then.
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>>;
}

/// What a model is asked with.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The Turn at hand.
    pub turn: TurnId,
    /// Whether it was asked nothing in this Turn before: what is told once a Turn is told now.
    pub begins: bool,
    /// The Thread's choice among several models; none means the usual one.
    pub model: Option<&'a str>,
    /// What it is told before the conversation.
    pub instructions: &'a Instructions,
    /// The conversation, oldest first; it ends with a user's message or with results of calls.
    pub messages: &'a [Message],
    /// The pictures that its messages name, as far as they are there and the usual model sees pictures.
    pub pictures: &'a Pictures,
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
}

/// A piece of a reply. Empty texts mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    /// It thinks aloud.
    Reasoning(String),
    /// It speaks.
    Text(String),
    /// It begins a call. `id` names the call in the reply's further pieces; in the conversation it may be another.
    CallBegun {
        /// The model's own id of the call.
        id: String,
        /// Name of the tool.
        tool: String,
    },
    /// More of a call's arguments, as JSON text. Pieces of several calls may alternate.
    CallArguments {
        /// The call.
        id: String,
        /// The piece.
        text: String,
    },
    /// Something the user should know about how the reply came to be; no part of it.
    Note {
        /// Short name of what it is about.
        code: &'static str,
        /// A sentence or two.
        text: String,
    },
    /// What the provider wants back with this reply and nobody else reads. It comes behind the arguments of its calls and before
    /// their ends, and comes back with the first of them.
    Kept(Json),
    /// A call is complete. Calls still open at the end of the reply are completed by it.
    CallEnded {
        /// The call.
        id: String,
    },
}

/// The end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelReply {
    /// Why it ended.
    pub stop: Stop,
    /// Its tokens, when they are known.
    pub usage: Option<ModelUsage>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model had said everything.
    Done,
    /// It reached its limit of tokens; the reply is cut.
    Length,
}

/// Tokens of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelUsage {
    /// Tokens billed.
    pub tokens: TokenUsage,
    /// Occupancy of the window after the reply.
    pub context_tokens: u64,
    /// What the reply cost, in millionths of the currency of the prices, where a price is known.
    pub cost_micros: Option<u64>,
}

/// Why a reply did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model cannot answer; the text is for the user.
    #[error("{0}")]
    Failed(String),
    /// The conversation is longer than the model takes; the text is for the user.
    #[error("{0}")]
    ContextExceeded(String),
    /// The Turn takes nothing more.
    #[error(transparent)]
    Gone(#[from] TurnGone),
}
