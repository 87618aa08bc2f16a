//! One provider: sends a request, passes its reply to the sink, and retries after a passing failure.
//!
//! The only state between replies is which of its models want data back ([`Memory`]). The provider retries a request
//! only while the sink has got nothing, so the user sees nothing twice.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::model::{
    ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, ModelUsage, Pictures,
};
use bobbin_model::Effort;
use bytes::Bytes;
use tokio::time::Instant;

use crate::assembler::Assembler;
use crate::events::Events;
use crate::http::{Exchange, Http, Network};
use crate::memory::Memory;
use crate::refusal::Refusal;
use crate::wires::{Fault, Flow};
use crate::{Key, ProviderError, ProviderSettings, retry, schema};

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;

/// Shortest pause with a note for the user; a shorter pause looks like the model's thinking.
const WORTH_A_NOTE: Duration = Duration::from_secs(5);

/// How long a finished reply waits for its token figures and the end of its connection.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// One provider. Cheap to clone.
#[derive(Clone)]
pub struct Provider {
    http: Arc<Http>,
    exchange: Arc<dyn Exchange>,
    memory: Arc<Memory>,
}

/// Why a reply is incomplete.
pub(crate) enum Ended {
    /// The provider failed, before or after the sink got a part of the reply.
    Provider(ProviderError, Shown),
    /// The sink refused an event.
    Sink(ModelError),
}

/// Whether the sink got a part of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Nothing,
    Something,
}

impl From<Ended> for ModelError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Provider(error, _) => error.into(),
            Ended::Sink(error) => error,
        }
    }
}

impl Provider {
    /// Returns a provider; opens no connection.
    ///
    /// # Errors
    /// [`ProviderError::Settings`].
    pub fn new(settings: ProviderSettings, network: &Network) -> Result<Self, ProviderError> {
        let http = Arc::new(Http::new(settings, network)?);
        Ok(Self {
            exchange: http.clone(),
            http,
            memory: Arc::default(),
        })
    }

    /// Returns its settings.
    pub fn settings(&self) -> &ProviderSettings {
        self.http.settings()
    }

    /// Returns its address without the parts that may be secret.
    pub fn place(&self) -> String {
        self.http.place()
    }

    /// Whether requests send its key unencrypted over a network.
    pub fn shows_its_key(&self) -> bool {
        self.http.is_open()
    }

    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    /// Returns the reply of one of its models. The sink gets each piece as it arrives.
    ///
    /// # Errors
    /// [`ModelError::Failed`] with the words of a [`ProviderError`], or the sink's error.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection, and with it the request.
    pub async fn answer(
        &self,
        model: &str,
        request: ModelRequest<'_>,
        sink: &mut dyn ModelSink,
    ) -> Result<ModelReply, ModelError> {
        self.reply(model, request, sink).await.map_err(ModelError::from)
    }

    /// As [`Provider::answer`], but a failure also says whether the sink got a part of the reply.
    pub(crate) async fn reply(
        &self,
        model: &str,
        request: ModelRequest<'_>,
        sink: &mut dyn ModelSink,
    ) -> Result<ModelReply, Ended> {
        let settings = self.settings();
        let unseen = Pictures::default();
        let wanted = request.effort;
        let effort = wanted.and_then(|wanted| settings.facts_of(model).efforts().nearest(wanted));
        if request.is_first
            && let Some(note) = self.note_of_effort(model, wanted, effort)
        {
            sink.event(note).await.map_err(Ended::Sink)?;
        }
        let request = ModelRequest {
            // The pictures may have been read for another model.
            pictures: if settings.facts_of(model).sees_images() {
                request.pictures
            } else {
                &unseen
            },
            effort,
            web_search: request.web_search && settings.web_search,
            ..request
        };
        let recalled = self.memory.recall(settings, model, request.messages);
        let body = settings.wire.body(settings, model, &request, &recalled).write();
        let body = body.map_err(|error| self.unwritten(&error))?;
        let (_, left_out) = schema::taken(settings.wire, request.tools);
        // One note for each Turn is enough: nearly always, each round of calls has the same tools.
        if request.is_first && !left_out.is_empty() {
            let note = ModelEvent::Note {
                code: "tools_left_out",
                text: schema::left_out(&self.http.shown(model), left_out),
            };
            sink.event(note).await.map_err(Ended::Sink)?;
        }
        let key = self.key_of_client(&request);
        let mut attempt = 1;
        loop {
            let error = match self
                .attempt(model, body.clone(), &request, key.as_ref(), sink)
                .await
            {
                Err(Ended::Provider(error, Shown::Nothing)) => error,
                Err(ended) => return Err(ended),
                Ok(reply) => return Ok(reply),
            };
            let Some(pause) = retry::pause(&error, attempt, &settings.limits, retry::jitter()) else {
                return Err(Ended::Provider(error, Shown::Nothing));
            };
            tracing::info!(attempt, ?pause, %error, "asking the model again");
            if pause >= WORTH_A_NOTE {
                let text = format!("{error} It is asked again in {} seconds.", pause.as_secs());
                let note = ModelEvent::Note {
                    code: "model_retry",
                    text,
                };
                sink.event(note).await.map_err(Ended::Sink)?;
            }
            let line = retry::line(&error, attempt, &settings.limits, pause);
            sink.event(ModelEvent::Waiting(line)).await.map_err(Ended::Sink)?;
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// Returns the key of the Turn's client, if the settings name a variable for it.
    fn key_of_client(&self, request: &ModelRequest<'_>) -> Option<Key> {
        let settings = self.settings();
        let variable = settings.key_variable.as_deref()?;
        let key = Key::new(request.keys?.get(variable)?);
        (!key.is_empty()).then_some(key)
    }

    async fn attempt(
        &self,
        model: &str,
        body: Bytes,
        request: &ModelRequest<'_>,
        key: Option<&Key>,
        sink: &mut dyn ModelSink,
    ) -> Result<ModelReply, Ended> {
        let settings = self.settings();
        let name = self.http.shown(model);
        let mut shown = Shown::Nothing;
        let body = self.exchange.post(model, body, key).await;
        let mut events = Events::new(
            body.map_err(|error| Ended::Provider(error, shown))?,
            &name,
            &settings.limits,
        );
        let mut decoder = settings.wire.decoder();
        let mut reply = Assembler::new(request.turn);
        let mut over_at: Option<Instant> = None;
        loop {
            let event = match over_at {
                None => events.next().await,
                Some(at) => afterwards(&mut events, at).await,
            };
            let event = event.map_err(|error| Ended::Provider(error, shown))?;
            // Some servers leave out the last event and close the connection after the last piece.
            let flow = match &event {
                None => Ok(Flow::Over),
                Some(data) => decoder.event(data, &mut reply),
            };
            for piece in reply.take() {
                shown = Shown::Something;
                sink.event(piece).await.map_err(Ended::Sink)?;
            }
            match flow {
                Ok(Flow::More) if reply.is_stopped() => {
                    over_at.get_or_insert_with(|| Instant::now() + AFTERWARDS);
                }
                Ok(Flow::More) => {}
                Ok(Flow::Over) => break,
                Err(fault) => return Err(Ended::Provider(self.error(fault, model, key), shown)),
            }
        }
        let Some((last, end)) = reply.end() else {
            return Err(Ended::Provider(ProviderError::Truncated { name }, shown));
        };
        let state = decoder.reply_state();
        let state = state.and_then(|state| self.memory.record(settings, model, state));
        let (pieces, ends): (Vec<_>, Vec<_>) = last
            .into_iter()
            .partition(|piece| !matches!(piece, ModelEvent::CallEnded { .. }));
        let state = state.map(ModelEvent::ProviderState);
        for piece in pieces.into_iter().chain(state).chain(ends) {
            sink.event(piece).await.map_err(Ended::Sink)?;
        }
        let price = settings.facts_of(model).price;
        let usage = end.usage.map(|usage| ModelUsage {
            cost_micros: price.map(|price| price.of(usage.tokens)),
            ..usage
        });
        Ok(ModelReply { usage, ..end })
    }

    /// Returns the note for the user if the request asks for another effort than the wanted one.
    fn note_of_effort(
        &self,
        model: &str,
        wanted: Option<Effort>,
        asked: Option<Effort>,
    ) -> Option<ModelEvent> {
        let wanted = wanted.filter(|_| wanted != asked)?.name();
        let model = self.http.shown(model);
        let text = match asked {
            Some(asked) => format!(
                "{model} has no reasoning effort {wanted:?}; it is asked for {:?}.",
                asked.name()
            ),
            None => format!(
                "{model} is not known to have a reasoning effort; it answers without {wanted:?}. If it has one, set \
                 Efforts in its ModelFacts."
            ),
        };
        Some(ModelEvent::Note {
            code: "effort_not_known",
            text,
        })
    }

    fn unwritten(&self, error: &serde_json::Error) -> Ended {
        let error = ProviderError::Settings {
            name: self.settings().name.clone(),
            why: format!("its request cannot be written ({error})"),
        };
        Ended::Provider(error, Shown::Nothing)
    }

    fn error(&self, fault: Fault, model: &str, key: Option<&Key>) -> ProviderError {
        let name = self.http.shown(model);
        match fault {
            Fault::Malformed(why) => ProviderError::Malformed { name, why },
            Fault::Filtered => ProviderError::Filtered { name },
            Fault::Provider { kind, said } => {
                let refusal = Refusal {
                    kind,
                    said: self.http.scrub(&said, key),
                    ..Refusal::default()
                };
                refusal.into_error(name, model, self.settings())
            }
        }
    }
}

/// Returns the next event of a reply whose end is already known, if it comes in time. A connection error counts as
/// the end.
async fn afterwards(events: &mut Events, until: Instant) -> Result<Option<String>, ProviderError> {
    match tokio::time::timeout_at(until, events.next()).await {
        Err(_)
        | Ok(Err(
            ProviderError::Stalled { .. } | ProviderError::Truncated { .. } | ProviderError::Endless { .. },
        )) => Ok(None),
        Ok(event) => event,
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provider").field(self.settings()).finish()
    }
}
