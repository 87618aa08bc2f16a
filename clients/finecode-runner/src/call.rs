//! What a handler gets: payload, current result, configuration, and ways to send partial results and progress.

use std::marker::PhantomData;
use std::sync::Arc;

use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::Json;
use crate::action::{ActionResult, Failure};
use crate::execute::Partials;
use crate::manager::{Manager, Meta};
use crate::methods::Documents;

/// One run as all its handlers share it.
pub(crate) struct Run {
    pub(crate) peer: PeerHandle,
    pub(crate) manager: Manager,
    pub(crate) documents: Arc<Documents>,
    pub(crate) payload: Json,
    pub(crate) progress_token: Option<Value>,
    pub(crate) partials: Partials,
    pub(crate) context: Mutex<Map<String, Value>>,
}

/// One call of one handler, without types.
pub(crate) struct RawCall {
    pub(crate) run: Arc<Run>,
    /// Handlers of concurrent actions have no current result.
    pub(crate) concurrent: bool,
    pub(crate) current: Option<Json>,
    pub(crate) config: Value,
    /// The partial results that this handler has sent.
    pub(crate) sent: Arc<Mutex<Vec<Json>>>,
}

/// One call of a handler.
pub struct Call<P, R> {
    raw: RawCall,
    types: PhantomData<fn(P) -> R>,
}

impl<P: DeserializeOwned + JsonSchema, R: ActionResult> Call<P, R> {
    pub(crate) fn new(raw: RawCall) -> Self {
        Self {
            raw,
            types: PhantomData,
        }
    }

    /// Returns the payload.
    ///
    /// # Errors
    /// A sentence that says what does not fit.
    pub fn payload(&self) -> Result<P, Failure> {
        let payload = serde_json::from_str(self.raw.run.payload.get());
        payload.map_err(|error| Failure(format!("invalid payload: {error}")))
    }

    /// Returns the payload as it was sent.
    pub fn raw_payload(&self) -> &RawValue {
        &self.raw.run.payload
    }

    /// Returns the result of the handlers before this one.
    ///
    /// # Errors
    /// The action is concurrent, or the result does not fit.
    pub fn current(&self) -> Result<Option<R>, Failure> {
        if self.raw.concurrent {
            let why = "handlers of a concurrent action have no current result";
            return Err(Failure(why.to_owned()));
        }
        let current = self
            .raw
            .current
            .as_ref()
            .map(|current| serde_json::from_str(current.get()));
        Ok(current.transpose()?)
    }

    /// Returns the configuration of the handler.
    ///
    /// # Errors
    /// It does not fit.
    pub fn config<C: DeserializeOwned>(&self) -> Result<C, Failure> {
        let config = C::deserialize(&self.raw.config);
        config.map_err(|error| Failure(format!("invalid configuration: {error}")))
    }

    /// Returns what handlers of this run share, later environments included.
    pub fn context(&self) -> &Mutex<Map<String, Value>> {
        &self.raw.run.context
    }

    /// Sends a partial result if the caller asked for them. It is part of the result either way.
    ///
    /// # Errors
    /// The manager is gone.
    pub async fn partial(&self, result: &R) -> Result<(), Failure> {
        let result = to_raw_value(result)?;
        self.raw.run.partials.send(&self.raw.run.peer, &result).await?;
        self.raw.sent.lock().push(result);
        Ok(())
    }

    /// Says that work starts. `total` is its amount, where it is known.
    ///
    /// # Errors
    /// The manager is gone.
    pub async fn begin(&self, title: &str, total: Option<u64>) -> Result<(), Failure> {
        let begin = json!({
            "type": "begin", "title": title, "message": null, "percentage": 0, "cancellable": true, "total": total,
        });
        self.progress(&begin).await
    }

    /// Says how far it is.
    ///
    /// # Errors
    /// The manager is gone.
    pub async fn report(&self, message: &str, percentage: u8) -> Result<(), Failure> {
        let report = json!({ "type": "report", "message": message, "percentage": percentage });
        self.progress(&report).await
    }

    /// Says that it is done.
    ///
    /// # Errors
    /// The manager is gone.
    pub async fn end(&self, message: Option<&str>) -> Result<(), Failure> {
        let end = json!({ "type": "end", "message": message });
        self.progress(&end).await
    }

    async fn progress(&self, value: &Value) -> Result<(), Failure> {
        let Some(token) = &self.raw.run.progress_token else {
            return Ok(());
        };
        Ok(notify_progress(&self.raw.run.peer, token, &value.to_string()).await?)
    }

    /// Returns the manager, to ask it for other actions, configuration and edits.
    pub fn manager(&self) -> &Manager {
        &self.raw.run.manager
    }

    /// Returns what the manager said of this run: who started it and how deep it is.
    pub fn meta(&self) -> &Meta {
        self.raw.run.manager.meta()
    }

    /// Returns the text of an open document.
    pub fn open_document(&self, uri: &str) -> Option<String> {
        self.raw.run.documents.text(uri)
    }
}

/// Sends one value for a token.
pub(crate) async fn notify_progress(
    peer: &PeerHandle,
    token: &Value,
    value: &str,
) -> Result<(), bobbin_peer::SendError> {
    #[derive(Serialize)]
    struct Progress<'a> {
        token: &'a Value,
        value: &'a str,
    }
    peer.notify("$/progress", Progress { token, value }).await
}
