//! One module for each wire: how a request is written and how a reply is read. Pure, no HTTP.

mod back;
mod body;
mod chat;
mod effort;
mod messages;
mod responses;

use bobbin_agent_api::model::ModelRequest;
use serde_json::Value;

use self::body::Body;
use crate::assembler::{Assembler, MAX_CALLS};
use crate::memory::{Recalled, ReplyState};
use crate::{ProviderSettings, Wire, refusal};

/// Reads the events of one reply.
pub(crate) trait Decoder: Send {
    /// Passes one event's data to the assembler.
    fn event(&mut self, data: &str, reply: &mut Assembler) -> Result<Flow, Fault>;

    /// Returns the data that the model wants back with the calls of the finished reply, if any.
    fn reply_state(&mut self) -> Option<ReplyState> {
        None
    }
}

/// Whether more events belong to the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Over,
}

/// Why an event is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not follow the wire's format.
    Malformed(String),
    /// It is the provider's error, with kind or code and words.
    Provider { kind: String, said: String },
    /// The provider filtered the reply.
    Filtered,
}

impl Fault {
    /// Reads a provider's error; the error may be a member of the value.
    fn of(value: &Value) -> Self {
        let (kind, said) = refusal::words_of(value);
        Self::Provider { kind, said }
    }

    /// Returns the fault of a reply with more calls than the engine runs.
    pub(crate) fn too_many_calls() -> Self {
        Self::Malformed(format!("it has more than {} calls", MAX_CALLS - 1))
    }
}

impl Wire {
    /// Returns the path after the base URL.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat/completions",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// Returns the header for a key, and the prefix of its value.
    pub(crate) fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::ChatCompletions | Self::Responses => ("authorization", "Bearer "),
            Self::Messages => ("x-api-key", ""),
        }
    }

    /// Returns the headers that the wire requires besides the key.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::ChatCompletions | Self::Responses => &[],
            Self::Messages => &[("anthropic-version", "2023-06-01")],
        }
    }

    /// Returns the query that requests the whole list of models at once.
    pub(crate) fn models_query(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::ChatCompletions | Self::Responses => None,
            Self::Messages => Some(("limit", "1000")),
        }
    }

    /// Returns a request's body.
    pub(crate) fn body<'a>(
        self,
        settings: &ProviderSettings,
        model: &str,
        request: &ModelRequest<'a>,
        recalled: &Recalled,
    ) -> Body<'a> {
        let mut body = match self {
            Self::ChatCompletions => chat::body(settings, model, request, recalled),
            Self::Messages => messages::body(settings, model, request, recalled),
            Self::Responses => responses::body(settings, model, request, recalled),
        };
        for (name, value) in &settings.body {
            body.replace(name, value.clone());
        }
        if let Some(effort) = request.effort {
            effort::write(&mut body.members, settings, model, effort);
        }
        if self == Self::Messages {
            messages::think_only_where_possible(&mut body.members);
        }
        body
    }

    /// Returns a reader for one reply.
    pub(crate) fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::ChatCompletions => Box::new(chat::Chat::default()),
            Self::Messages => Box::new(messages::Messages::default()),
            Self::Responses => Box::new(responses::Responses::default()),
        }
    }
}

/// Returns the limit of a reply's tokens, where the settings or the request give one.
pub(crate) fn output_limit(settings: &ProviderSettings, model: &str) -> Option<u64> {
    let asked = || (settings.wire == Wire::Messages).then(|| messages::max_output_tokens(model));
    settings.max_output_tokens.or_else(asked)
}
