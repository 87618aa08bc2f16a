//! The seam that models implement: a conversation in, a streamed reply out.

use std::collections::BTreeMap;
use std::fmt;

use bobbin_model::{ClientKeys, ContextWindow, Effort, InputPart, Json, TokenUsage, TurnId};
use futures_util::future::BoxFuture;

use crate::TurnGone;
use crate::tool::ToolSpec;

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

impl fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
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
    /// Whether this is the first request of the Turn.
    pub begins: bool,
    /// A name of the conversation: a provider can send requests of one name to where their beginning is cached.
    pub conversation: Option<&'a str>,
    /// The Thread's choice among several models; none means the usual one.
    pub model: Option<&'a str>,
    /// The keys that the client of the Turn has, for a provider whose key the server lacks.
    pub keys: Option<&'a ClientKeys>,
    /// How much the model is to reason; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// The text before the conversation.
    pub instructions: &'a Instructions,
    /// The conversation, oldest first; it ends with a user's message or with results of calls.
    pub messages: &'a [Message],
    /// The pictures that its messages name, as far as they are there and the usual model sees pictures.
    pub pictures: &'a Pictures,
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// Whether its provider may search the web for it, where the provider's settings say that it does.
    pub web_search: bool,
}

/// A piece of a reply. Empty texts mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    /// It thinks aloud.
    Reasoning(String),
    /// It speaks.
    Text(String),
    /// It begins a call. `id` names the call in the reply's further pieces; in the conversation it may be another.
    CallStarted {
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
    /// Nothing has come yet; a line says what it waits for. Shown for the moment, never recorded.
    Waiting(String),
    /// Something the user should know about how the reply came to be; no part of it.
    Note {
        /// Short name of what it is about.
        code: &'static str,
        /// A sentence or two.
        text: String,
    },
    /// What the provider wants back with this reply and nobody else reads. It comes behind the arguments of its calls and before
    /// their ends, and comes back with the first of them.
    ProviderState(Json),
    /// The provider has searched the web, or opened a page there.
    WebSearch(WebSearch),
    /// A call is complete. Calls still open at the end of the reply are completed by it.
    CallEnded {
        /// The call.
        id: String,
    },
}

/// A search of the web by a model's provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSearch {
    /// What it searched for, or the address that it opened.
    pub query: String,
    /// What it found, the best first.
    pub found: Vec<WebPage>,
    /// Why it found nothing, as the provider's word.
    pub error: Option<String>,
}

/// A page that a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// Its address.
    pub url: String,
    /// Its title; may be empty.
    pub title: String,
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
    /// The provider refuses the request itself, and will refuse the same one again; the text is for the user.
    #[error("{0}")]
    Refused(String),
    /// The conversation is longer than the model takes; the text is for the user.
    #[error("{0}")]
    ContextExceeded(String),
    /// The Turn takes nothing more.
    #[error(transparent)]
    Gone(#[from] TurnGone),
}

/// The text that a model gets before the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    /// What stays the same for a Thread as long as its project does.
    pub standing: String,
    /// What may be different in each Turn.
    pub current: String,
}

impl Instructions {
    /// Returns both as one text.
    pub fn whole(&self) -> String {
        [self.standing.as_str(), self.current.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the user said.
    User {
        /// The parts, as a model gets them.
        parts: Vec<InputPart>,
    },
    /// What the agent said and the calls it made then.
    Agent {
        /// The text; may be empty beside calls.
        text: String,
        /// The calls.
        calls: Vec<Call>,
    },
    /// What a call gave.
    Result {
        /// The call.
        call_id: String,
        /// Text for the model.
        text: String,
        /// Whether it went well.
        success: bool,
    },
}

/// A call that a model made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id, unique in the Turn.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, an object; `None` when the model wrote none that can be read.
    pub arguments: Option<Json>,
    /// What the provider of the reply wants back with it, on the first of its calls. Only that provider can read it.
    pub provider_state: Option<Json>,
}

impl Message {
    /// Returns the bytes of its text. The state of a provider does not count: it fills no window of another model, and its
    /// own model counts it by other measures.
    pub fn bytes(&self) -> usize {
        match self {
            Self::User { parts } => parts
                .iter()
                .map(|part| match part {
                    InputPart::Context { label, text } => label.len() + text.len(),
                    other => other.display().len(),
                })
                .sum(),
            Self::Agent { text, calls } => {
                let call = |call: &Call| {
                    let arguments = call.arguments.as_ref().map_or(0, |json| json.get().len());
                    call.tool.len() + arguments
                };
                text.len() + calls.iter().map(call).sum::<usize>()
            }
            Self::Result { text, .. } => text.len(),
        }
    }

    /// Returns the bytes it takes in memory, the state of a provider included.
    pub fn bytes_in_memory(&self) -> usize {
        let state = match self {
            Self::Agent { calls, .. } => {
                let state = calls.iter().filter_map(|call| call.provider_state.as_ref());
                state.map(|state| state.get().len()).sum()
            }
            Self::User { .. } | Self::Result { .. } => 0,
        };
        self.bytes() + state
    }
}

/// A picture as the wires write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its media type.
    pub media_type: &'static str,
    /// Its bytes.
    pub base64: String,
}

/// The pictures of a conversation, by where each comes from.
#[derive(Debug, Clone, Default)]
pub struct Pictures(BTreeMap<PictureSource, Option<Picture>>);

/// Where a picture comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PictureSource {
    /// A file, by its path.
    File(String),
    /// An address of the web.
    Web(String),
}

impl PictureSource {
    /// Returns where the picture of a part comes from, if it has one.
    pub fn of(part: &InputPart) -> Option<Self> {
        match part {
            InputPart::LocalImage { path, .. } => Some(Self::File(path.clone())),
            InputPart::Image { url } => Some(Self::Web(url.clone())),
            _ => None,
        }
    }

    /// Returns the path or the address.
    pub fn name(&self) -> &str {
        match self {
            Self::File(name) | Self::Web(name) => name,
        }
    }
}

impl Pictures {
    /// Returns the picture that a part names, if it is there to be shown.
    pub fn of(&self, part: &InputPart) -> Option<&Picture> {
        self.0.get(&PictureSource::of(part)?)?.as_ref()
    }

    /// Whether this one was read or tried before.
    pub fn knows(&self, source: &PictureSource) -> bool {
        self.0.contains_key(source)
    }

    /// Adds one; `None` for a picture that cannot be shown.
    pub fn insert(&mut self, source: PictureSource, picture: Option<Picture>) {
        self.0.insert(source, picture);
    }

    /// Returns how many can be shown.
    pub fn count(&self) -> usize {
        self.0.values().flatten().count()
    }

    /// Returns the bytes of their files together.
    pub fn bytes(&self) -> usize {
        let shown = self.0.values().flatten();
        shown.map(|picture| picture.base64.len() / 4 * 3).sum()
    }
}
