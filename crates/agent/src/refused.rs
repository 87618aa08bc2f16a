//! Requests that a model's provider refuses: a conversation that is too long is shortened, and pictures are left out.
//!
//! Providers refuse some pictures that their wire allows, and the whole request with them. A refused request with pictures
//! is sent once more without any, whatever the provider's words. The record has a note of it: once an answer follows that
//! note, the pictures before it are left out of all later requests of the Thread.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::{Call, Message, ModelError, PictureSource, Pictures};
use bobbin_core::engine::EngineFailure;
use bobbin_model::{CompactionTrigger, InputPart, Item, ItemBody, ItemId};

use super::compaction::Compacted;
use super::turn::TurnRun;

/// Code of the note that a request is sent again without its pictures.
const PICTURES_REFUSED: &str = "pictures_refused";
/// The text that the model gets in place of a picture.
const REFUSED_PICTURE: &str = "[a picture that the model's provider refused]";

impl TurnRun {
    /// Asks the model, without pictures if its provider refuses a request that has some. Returns its calls.
    pub(super) async fn ask_model(&mut self) -> Result<Vec<Call>, EngineFailure> {
        loop {
            match self.ask_in_window().await {
                Ok(calls) => return Ok(calls),
                Err(Refused::Request(why) | Refused::TooLong(why)) if self.sends_pictures() => {
                    self.leave_pictures_out(&why).await?;
                }
                Err(refused) => return Err(refused.into_failure()),
            }
        }
    }

    /// Asks the model, after making room in its window if necessary. Returns its calls.
    async fn ask_in_window(&mut self) -> Result<Vec<Call>, Refused> {
        self.make_room().await?;
        let too_long = match self.ask_once().await {
            Err(Refused::TooLong(why)) => why,
            answered => return answered,
        };
        // A client that has the history shortens it by itself.
        let is_stored_here = self.turn.at_start().history.is_none();
        if self.settings.compaction && is_stored_here && !std::mem::replace(&mut self.full.reacted, true) {
            let window = self.full.window.unwrap_or_default();
            if self.compact(CompactionTrigger::Reactive, window).await? == Compacted::Done {
                match self.ask_once().await {
                    Err(Refused::TooLong(_)) => {}
                    answered => return answered,
                }
            }
        }
        // The window is smaller than stated, or the estimate too low.
        if !self.cut_results(self.occupancy() / 2) {
            return Err(Refused::TooLong(too_long));
        }
        self.ask_once().await
    }

    /// Whether a request has pictures.
    fn sends_pictures(&self) -> bool {
        let parts = self.messages.iter().flat_map(|message| match message {
            Message::User { parts } => parts.as_slice(),
            Message::Agent { .. } | Message::Result { .. } => &[],
        });
        parts.into_iter().any(|part| self.pictures.of(part).is_some())
    }

    /// Takes all pictures out of the conversation, and says so.
    async fn leave_pictures_out(&mut self, why: &str) -> Result<(), TurnGone> {
        self.messages.iter_mut().for_each(without_pictures);
        // A file that is shown later may be another picture of the same name.
        self.pictures = Pictures::default();
        let note = ItemBody::Error {
            message: format!(
                "{why} The request is sent again without its pictures. If that is answered, the model does not get them \
                 again in this thread."
            ),
            code: PICTURES_REFUSED.to_owned(),
            fatal: false,
        };
        self.turn.add(note).await
    }
}

/// Returns the last note in a Turn's Items that its pictures were refused, if the model has answered without them. Without
/// an answer, the pictures may not have been the reason.
pub(super) fn refused_pictures(items: &[Item]) -> Option<ItemId> {
    let (mut noted, mut answered) = (None, None);
    for item in items {
        match &item.body {
            ItemBody::Error { code, .. } if code == PICTURES_REFUSED => noted = Some(item.id),
            ItemBody::AgentMessage { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::ToolCall { .. }
            | ItemBody::DynamicToolCall(_) => answered = noted,
            _ => {}
        }
    }
    answered
}

/// Replaces the pictures of a message with a text.
pub(super) fn without_pictures(message: &mut Message) {
    let Message::User { parts } = message else {
        return;
    };
    for part in parts {
        if PictureSource::of(part).is_some() {
            *part = InputPart::Text {
                text: REFUSED_PICTURE.to_owned(),
            };
        }
    }
}

/// Why a request to the model failed.
pub(super) enum Refused {
    /// The conversation does not fit; the text is for the user.
    TooLong(String),
    /// The provider refuses it; the text is for the user.
    Request(String),
    Failure(EngineFailure),
}

impl Refused {
    fn into_failure(self) -> EngineFailure {
        match self {
            Self::TooLong(why) | Self::Request(why) => EngineFailure::Failed(why),
            Self::Failure(failure) => failure,
        }
    }
}

impl<E: Into<EngineFailure>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

pub(super) fn failure(error: ModelError) -> EngineFailure {
    match error {
        ModelError::Failed(text) | ModelError::Refused(text) | ModelError::ContextExceeded(text) => {
            EngineFailure::Failed(text)
        }
        ModelError::Gone(gone) => gone.into(),
    }
}
