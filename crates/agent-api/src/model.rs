//! The model contract: a conversation in, a streamed reply out.

use std::collections::BTreeMap;
use std::fmt;

use bobbin_model::{ClientKeys, ContextWindow, Effort, InputPart, Json, TokenUsage, TurnId};
use futures_util::future::BoxFuture;

use crate::TurnGone;
use crate::tool::ToolSpec;

/// A model that replies in a conversation.
pub trait Model: Send + Sync + 'static {
    /// Returns how many ended Turns it wants to see before the present one. `model` is the Thread's choice.
    fn history_turns(&self, model: Option<&str>) -> u32;

    /// Returns the context window for conversations; `None` if their length does not matter.
    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        let _ = model;
        None
    }

    /// Whether it gets pictures.
    fn sees_pictures(&self, model: Option<&str>) -> bool {
        let _ = model;
        false
    }

    /// Whether it only follows plain instructions, and so cannot write summaries, titles and the like. The argument is the
    /// Thread's choice.
    fn is_offline(&self, _model: Option<&str>) -> bool {
        false
    }

    /// Replies, and sends each piece to `sink` as it comes. The caller runs the reply's calls afterwards and asks again with
    /// their results.
    ///
    /// # Errors
    /// [`ModelError`]; pieces that were sent stay part of the Turn.
    ///
    /// # Cancel safety
    /// An interrupted Turn drops the future at any await; a running request must end with it.
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

/// Receives a reply, piece by piece.
pub trait ModelSink: Send {
    /// Takes one piece. Waits while the Turn's recording lags.
    ///
    /// # Errors
    /// [`ModelError::Gone`] if the Turn accepts nothing more, [`ModelError::Failed`] if the reply exceeds a bound. The model
    /// ends its reply then.
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>>;
}

/// Request to a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The present Turn.
    pub turn: TurnId,
    /// Whether this is the first request of the Turn.
    pub is_first: bool,
    /// Id of the conversation, so that a provider can route its requests to a machine with the cached prefix.
    pub conversation: Option<&'a str>,
    /// The Thread's choice of a model; `None` means the default model.
    pub model: Option<&'a str>,
    /// Keys from the Turn's client, for providers whose key the server lacks.
    pub keys: Option<&'a ClientKeys>,
    /// Reasoning effort; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// The text before the conversation.
    pub instructions: &'a Instructions,
    /// The conversation, oldest first; the last message is a user's or a result of a call.
    pub messages: &'a [Message],
    /// The pictures that the messages name, if they can be read and the default model sees pictures.
    pub pictures: &'a Pictures,
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// Whether the provider may search the web, if its settings enable that.
    pub web_search: bool,
}

/// A piece of a reply. An empty text has no meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    /// Text of the model's reasoning.
    Reasoning(String),
    /// Text for the user.
    Text(String),
    /// A call starts. `id` names it in the further pieces of this reply; the conversation may use another id.
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
    /// Nothing has come yet; the line says what the model waits for. Shown for the moment and never recorded.
    Waiting(String),
    /// A note for the user about the reply; not part of it.
    Note {
        /// Short name of the subject.
        code: &'static str,
        /// A sentence or two.
        text: String,
    },
    /// State that the provider wants back with this reply and that only the provider can read. Comes after the arguments of
    /// the reply's calls and before their ends; the first call carries it.
    ProviderState(Json),
    /// The provider has searched the web or opened a page.
    WebSearch(WebSearch),
    /// A call is complete. The end of the reply also completes its open calls.
    CallEnded {
        /// The call.
        id: String,
    },
}

/// A search of the web by a model's provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSearch {
    /// The query, or the address of the opened page.
    pub query: String,
    /// The pages found, best first.
    pub found: Vec<WebPage>,
    /// The provider's error code, if the search failed.
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
    /// The reason of the end.
    pub stop: Stop,
    /// Its tokens, if known.
    pub usage: Option<ModelUsage>,
}

/// Reason for the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model has finished.
    Done,
    /// The limit of tokens cut the reply.
    Length,
}

/// Usage of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelUsage {
    /// Billed tokens.
    pub tokens: TokenUsage,
    /// Tokens of the context window in use after the reply.
    pub context_tokens: u64,
    /// Cost in millionths of the currency of the prices, if a price is known.
    pub cost_micros: Option<u64>,
}

/// Error of a reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model cannot reply; the text is for the user.
    #[error("{0}")]
    Failed(String),
    /// The provider refuses this request and would refuse it again; the text is for the user.
    #[error("{0}")]
    Refused(String),
    /// The conversation exceeds the model's window; the text is for the user.
    #[error("{0}")]
    ContextExceeded(String),
    /// The Turn accepts nothing more.
    #[error(transparent)]
    Gone(#[from] TurnGone),
}

/// Text that a model gets before the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    /// Part that stays the same for a Thread while its project does.
    pub standing: String,
    /// Part that may differ in each Turn.
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
    /// A user's message.
    User {
        /// The parts, as a model gets them.
        parts: Vec<InputPart>,
    },
    /// A message of the agent with its calls.
    Agent {
        /// The text; may be empty if there are calls.
        text: String,
        /// The calls.
        calls: Vec<Call>,
    },
    /// The result of a call.
    Result {
        /// The call.
        call_id: String,
        /// Text for the model.
        text: String,
        /// Whether the call succeeded.
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
    /// Its arguments, an object; `None` if the model's text is invalid.
    pub arguments: Option<Json>,
    /// State of the reply for its provider, on the reply's first call. Only that provider can read it.
    pub provider_state: Option<Json>,
}

impl Message {
    /// Returns the bytes of its text. A provider's state does not count: it fills no other model's window, and its own model
    /// counts it differently.
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

    /// Returns its bytes in memory, including a provider's state.
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

/// A picture as the wire formats write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its media type.
    pub media_type: &'static str,
    /// Its bytes, in Base64.
    pub base64: String,
}

/// The pictures of a conversation, by source.
#[derive(Debug, Clone, Default)]
pub struct Pictures(BTreeMap<PictureSource, Option<Picture>>);

/// Source of a picture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PictureSource {
    /// The path of a file.
    File(String),
    /// A web address.
    Web(String),
}

impl PictureSource {
    /// Returns the source of a part's picture, if it has one.
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
    /// Returns the picture of a part, if it can be shown.
    pub fn of(&self, part: &InputPart) -> Option<&Picture> {
        self.0.get(&PictureSource::of(part)?)?.as_ref()
    }

    /// Whether the picture was read, or failed to be read, before.
    pub fn knows(&self, source: &PictureSource) -> bool {
        self.0.contains_key(source)
    }

    /// Adds a picture; `None` if it cannot be shown.
    pub fn insert(&mut self, source: PictureSource, picture: Option<Picture>) {
        self.0.insert(source, picture);
    }

    /// Returns the number of pictures that can be shown.
    pub fn count(&self) -> usize {
        self.0.values().flatten().count()
    }

    /// Returns the total bytes of their files.
    pub fn bytes(&self) -> usize {
        let shown = self.0.values().flatten();
        shown.map(|picture| picture.base64.len() / 4 * 3).sum()
    }
}
