//! The methods. Messages of one connection are served in their order. No request waits for a model, a server of tools or
//! a user.

mod cancel;
mod commands;
mod leave;
mod list;
mod open;
mod prompt;
mod select;

use std::path::Path;
use std::sync::Arc;

use bobbin_acp_wire::{SessionUpdate, method};
use bobbin_agent_api::tool_server::ServerPrompt;
use bobbin_core::{ThreadHandle, Threads, WireMessage};
use bobbin_editor_kit::EditorServices;
use bobbin_model::ThreadId;
use bobbin_peer::{CallContext, ErrorObject, NotificationContext, PeerHandle, Responder};
use bobbin_session::Session;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_util::task::TaskTracker;

use crate::dialect::Acp;
use crate::errors;
use crate::files::Files;
use crate::options::Choices;
use crate::sessions::encoded;
use crate::view::{Facts, View, model_of};

/// The channel of sessions that this dialect starts.
pub(crate) const CHANNEL: &str = "acp";

/// A client that has greeted.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) offer: Arc<EditorServices>,
    pub(crate) acp: Arc<Acp>,
    pub(crate) session: Arc<Session>,
    pub(crate) files: Arc<Files>,
    pub(crate) peer: PeerHandle,
    pub(crate) tasks: TaskTracker,
}

/// Serves one request.
pub(crate) async fn request(client: &Client, request: &CallContext, responder: Responder) {
    match &*request.method {
        method::SESSION_NEW => open::new(client, request, responder).await,
        method::SESSION_LOAD => open::load(client, request, responder).await,
        method::SESSION_RESUME => open::resume(client, request, responder).await,
        method::SESSION_LIST => list::list(client, request, responder),
        method::SESSION_CLOSE => leave::close(client, request, responder).await,
        method::SESSION_DELETE => leave::delete(client, request, responder).await,
        method::SESSION_PROMPT => prompt::prompt(client, request, responder),
        method::SESSION_SET_MODE => select::mode(client, request, responder).await,
        method::SESSION_SET_CONFIG_OPTION => select::option(client, request, responder).await,
        method::SESSION_SET_MODEL => select::model(client, request, responder).await,
        method::AUTHENTICATE => responder.err(errors::no_login()),
        other => responder.err(errors::method_not_found(other)),
    }
}

/// Serves one notification. An invalid one is ignored and logged, since it has no answer.
pub(crate) async fn notification(client: &Client, notification: &NotificationContext) {
    match &*notification.method {
        method::SESSION_CANCEL => cancel::cancel(client, notification).await,
        other => tracing::debug!(method = other, "a notification is not served"),
    }
}

impl Client {
    pub(crate) fn threads(&self) -> &Arc<Threads> {
        &self.offer.threads
    }

    pub(crate) fn root(&self) -> &Path {
        &self.threads().settings().workspace
    }

    /// Returns the prompts of servers.
    pub(crate) fn prompts(&self) -> Vec<ServerPrompt> {
        let servers = self.offer.services.tool_servers.as_ref();
        servers.map_or_else(Vec::new, |servers| servers.prompts())
    }

    /// Returns a session that is open on this connection.
    pub(crate) async fn open_session(&self, id: &str) -> Result<Arc<ThreadHandle>, ErrorObject> {
        let thread = ThreadId::new(id);
        if !self.acp.sessions.is_open(&thread) {
            return Err(errors::no_session(id));
        }
        let handle = self.threads().thread(&thread).await;
        handle.map_err(|error| errors::of(&error))
    }

    /// Returns the choices of a configuration.
    pub(crate) fn choices(&self, config: Option<&bobbin_model::ThreadConfig>) -> Choices {
        Choices::new(config, &*self.offer.models, self.offer.services.others.get())
    }

    /// Returns a view of a session with this configuration, and its choices.
    pub(crate) fn view(&self, config: Option<&bobbin_model::ThreadConfig>) -> (View, Choices) {
        let models = &self.offer.models;
        let choices = self.choices(config);
        let limit = match model_of(config) {
            Some(model) => models.limit(model),
            None => models.limit(&models.usual()),
        };
        let facts = Facts {
            root: Arc::new(self.root().to_owned()),
            window: limit.map(|limit| limit.context),
            currency: models.currency(),
        };
        (View::new(facts, self.acp.shows()), choices)
    }

    /// Sends updates of a session and waits until they are written.
    pub(crate) async fn send(&self, thread: &ThreadId, updates: Vec<SessionUpdate>) {
        let messages = encoded(thread, None, None, updates);
        let frames: Vec<Bytes> = messages
            .into_iter()
            .map(|WireMessage { json, .. }| json)
            .collect();
        if let Err(error) = self.peer.send_batch(frames).await {
            tracing::debug!(%error, "updates were not sent");
        }
    }
}

/// Decodes params; absent ones are an empty object. Null members count as absent where a type says so.
///
/// # Errors
/// `-32602` with the reason.
pub(crate) fn params<T: DeserializeOwned>(raw: Option<&RawValue>) -> Result<T, ErrorObject> {
    serde_json::from_str(raw.map_or("{}", RawValue::get))
        .map_err(|error| errors::invalid(format!("The parameters cannot be read: {error}.")))
}

/// Decodes the parameters of a request, or answers with an error.
fn decoded<T: DeserializeOwned>(request: &CallContext, responder: Responder) -> Option<(T, Responder)> {
    match params(request.params.as_deref()) {
        Ok(params) => Some((params, responder)),
        Err(error) => {
            responder.err(error);
            None
        }
    }
}
