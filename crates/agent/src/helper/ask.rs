//! One question to a model, outside of any conversation.

use std::time::Duration;

use bobbin_agent_api::suggest::SuggestError;
use bobbin_model::{ClientKeys, InputPart, TokenUsage, TurnId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use bobbin_agent_api::model::{
    Instructions, Message, Model, ModelError, ModelEvent, ModelRequest, ModelSink, Pictures, Stop,
};

/// The instructions of the model.
const INSTRUCTIONS: &str = "You help a person in an editor with one small text. There are no tools. Answer with what is asked for and \
                    nothing else.";
/// Longest wait for an answer.
pub(super) const LONGEST: Duration = Duration::from_mins(1);
/// Longest answer.
const MAX_ANSWER_BYTES: usize = 16 << 10;

/// An answer of a model, and what it used.
pub(crate) struct HelperAnswer {
    /// The text of the answer.
    pub(crate) text: String,
    /// Its tokens; none where they are not known.
    pub(crate) usage: TokenUsage,
    /// Its cost, in millionths of the currency of the prices; 0 where no price is known.
    pub(crate) cost_micros: u64,
}

/// Asks a model and returns its answer.
///
/// # Errors
/// [`SuggestError::Unusable`]: the model did not answer, or its answer is unusable.
pub(crate) async fn ask(
    model: &dyn Model,
    name: Option<&str>,
    keys: Option<&ClientKeys>,
    question: String,
) -> Result<HelperAnswer, SuggestError> {
    let messages = [Message::User {
        parts: vec![InputPart::Text { text: question }],
    }];
    let instructions = Instructions {
        standing: INSTRUCTIONS.to_owned(),
        current: String::new(),
    };
    let request = ModelRequest {
        is_first: true,
        // The request belongs to no Turn.
        turn: TurnId(0),
        conversation: None,
        model: name,
        keys,
        effort: None,
        instructions: &instructions,
        messages: &messages,
        pictures: &Pictures::default(),
        tools: &[],
        web_search: false,
    };
    let mut ears = Ears(String::new());
    let unusable = |text: &str| SuggestError::Unusable(text.to_owned());
    let reply = timeout(LONGEST, model.respond(request, &mut ears))
        .await
        .map_err(|_| unusable("The model did not answer in time."))?
        .map_err(|error| match error {
            ModelError::Failed(text) | ModelError::Refused(text) | ModelError::ContextExceeded(text) => {
                SuggestError::Unusable(text)
            }
            ModelError::Gone(_) => unusable("The model's answer was given up."),
        })?;
    match reply.stop {
        Stop::Done if !ears.0.trim().is_empty() => Ok(HelperAnswer {
            text: ears.0,
            usage: reply.usage.map(|usage| usage.tokens).unwrap_or_default(),
            cost_micros: reply.usage.and_then(|usage| usage.cost_micros).unwrap_or(0),
        }),
        Stop::Done => Err(unusable("The model gave an empty answer.")),
        Stop::Length => Err(unusable("The model's answer was cut at its limit of tokens.")),
    }
}

/// Collects the text of an answer and ignores everything else.
struct Ears(String);

impl ModelSink for Ears {
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>> {
        let result = match event {
            ModelEvent::Text(text) if self.0.len() + text.len() > MAX_ANSWER_BYTES => {
                Err(ModelError::Failed("The model's answer is too long.".to_owned()))
            }
            ModelEvent::Text(text) => {
                self.0.push_str(&text);
                Ok(())
            }
            // A model chain can fall back to the offline model, which cannot write such texts.
            ModelEvent::Note {
                code: "model_fallback",
                ..
            } => Err(ModelError::Failed(
                "The model's provider failed; try again later.".to_owned(),
            )),
            ModelEvent::Reasoning(_)
            | ModelEvent::Waiting(_)
            | ModelEvent::CallStarted { .. }
            | ModelEvent::CallArguments { .. }
            | ModelEvent::Note { .. }
            | ModelEvent::ProviderState(_)
            | ModelEvent::WebSearch(_)
            | ModelEvent::CallEnded { .. } => Ok(()),
        };
        std::future::ready(result).boxed()
    }
}
