//! One question to a model, outside of any conversation.

use std::time::Duration;

use bobbin_agent_api::suggest::SuggestError;
use bobbin_model::{ClientKeys, Effort, InputPart, TokenUsage, TurnId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use bobbin_agent_api::model::{
    Instructions, Message, Model, ModelError, ModelEvent, ModelRequest, ModelSink, ModelUsage, Pictures, Stop,
};

/// The instructions of the model.
const INSTRUCTIONS: &str = "You help a person in an editor with one small text. There are no tools. Answer with what is asked for and \
                    nothing else.";
/// Longest wait for an answer.
pub(super) const LONGEST: Duration = Duration::from_mins(1);
/// Longest answer.
const MAX_ANSWER_BYTES: usize = 16 << 10;
/// The reason that an empty answer is unusable.
pub(super) const EMPTY: &str = "The model gave an empty answer.";

/// An answer of a model, and what it used.
pub(crate) struct HelperAnswer {
    /// The text of the answer.
    pub(crate) text: String,
    /// Its tokens; none where they are not known.
    pub(crate) usage: TokenUsage,
    /// Its cost, in millionths of the currency of the prices; 0 where no price is known.
    pub(crate) cost_micros: u64,
}

/// A question to a model.
pub(crate) struct Question<'a> {
    /// The model; `None` means the default model.
    pub(crate) model: Option<&'a str>,
    /// Keys of the client.
    pub(crate) keys: Option<&'a ClientKeys>,
    /// Reasoning effort; `None` leaves it to the model.
    pub(crate) effort: Option<Effort>,
    /// The instructions of the model.
    pub(crate) instructions: &'a str,
    /// The question.
    pub(crate) parts: Vec<InputPart>,
    /// Longest wait for the whole answer.
    pub(crate) longest: Duration,
    /// Longest answer.
    pub(crate) max_bytes: usize,
}

/// Receives the pieces of an answer.
pub(crate) trait Listener: Send {
    /// Takes more of the text.
    fn text<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()>;

    /// Takes a sign that the model reasons.
    fn reasoning(&mut self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

impl Listener for String {
    fn text<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()> {
        self.push_str(text);
        std::future::ready(()).boxed()
    }
}

/// Asks a model for a small text and returns its answer.
///
/// # Errors
/// [`SuggestError::Unusable`]: the model did not answer, or its answer is unusable.
pub(crate) async fn ask(
    model: &dyn Model,
    name: Option<&str>,
    keys: Option<&ClientKeys>,
    question: String,
) -> Result<HelperAnswer, SuggestError> {
    let question = Question {
        model: name,
        keys,
        effort: None,
        instructions: INSTRUCTIONS,
        parts: vec![InputPart::Text { text: question }],
        longest: LONGEST,
        max_bytes: MAX_ANSWER_BYTES,
    };
    let mut text = String::new();
    let usage = listen(model, question, &mut text).await?;
    if text.trim().is_empty() {
        return Err(SuggestError::Unusable(EMPTY.to_owned()));
    }
    Ok(HelperAnswer {
        text,
        usage: usage.map(|usage| usage.tokens).unwrap_or_default(),
        cost_micros: usage.and_then(|usage| usage.cost_micros).unwrap_or(0),
    })
}

/// Asks a model and passes its answer on, piece by piece. Returns what the answer used, if that is known.
///
/// # Errors
/// [`SuggestError::Unusable`]: the model did not answer, or its answer is too long. Pieces may have been passed on.
pub(crate) async fn listen(
    model: &dyn Model,
    question: Question<'_>,
    listener: &mut dyn Listener,
) -> Result<Option<ModelUsage>, SuggestError> {
    let messages = [Message::User {
        parts: question.parts,
    }];
    let instructions = Instructions {
        standing: question.instructions.to_owned(),
        current: String::new(),
    };
    let request = ModelRequest {
        is_first: true,
        // The request belongs to no Turn.
        turn: TurnId(0),
        conversation: None,
        model: question.model,
        keys: question.keys,
        effort: question.effort,
        instructions: &instructions,
        messages: &messages,
        pictures: &Pictures::default(),
        tools: &[],
        web_search: false,
    };
    let mut ears = Ears {
        room: question.max_bytes,
        listener,
    };
    let unusable = |text: &str| SuggestError::Unusable(text.to_owned());
    let reply = timeout(question.longest, model.respond(request, &mut ears))
        .await
        .map_err(|_| unusable("The model did not answer in time."))?
        .map_err(|error| match error {
            ModelError::Failed(text) | ModelError::Refused(text) | ModelError::ContextExceeded(text) => {
                SuggestError::Unusable(text)
            }
            ModelError::Gone(_) => unusable("The model's answer was given up."),
        })?;
    match reply.stop {
        Stop::Done => Ok(reply.usage),
        Stop::Length => Err(unusable("The model's answer was cut at its limit of tokens.")),
    }
}

/// Passes the text of an answer on, within a bound, and ignores everything else.
struct Ears<'a> {
    /// The bytes that may still come.
    room: usize,
    listener: &'a mut dyn Listener,
}

impl ModelSink for Ears<'_> {
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>> {
        let failed = |text: &str| Err(ModelError::Failed(text.to_owned()));
        async move {
            match event {
                ModelEvent::Text(text) => {
                    let Some(room) = self.room.checked_sub(text.len()) else {
                        return failed("The model's answer is too long.");
                    };
                    self.room = room;
                    self.listener.text(&text).await;
                }
                ModelEvent::Reasoning(_) => self.listener.reasoning().await,
                // A model chain can fall back to the offline model, which cannot write such texts.
                ModelEvent::Note {
                    code: "model_fallback",
                    ..
                } => return failed("The model's provider failed; try again later."),
                ModelEvent::Waiting(_)
                | ModelEvent::CallStarted { .. }
                | ModelEvent::CallArguments { .. }
                | ModelEvent::Note { .. }
                | ModelEvent::ProviderState(_)
                | ModelEvent::WebSearch(_)
                | ModelEvent::CallEnded { .. } => {}
            }
            Ok(())
        }
        .boxed()
    }
}
