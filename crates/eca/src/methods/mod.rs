//! The methods, by group. Messages of one connection are served in their order. No request waits for a model, a
//! server of tools or a user (2.4), except a completion, whose answer a model writes.

mod begin;
mod chats;
mod decide;
mod flag;
mod fork;
mod history;
mod jobs;
mod prompt;
mod providers;
mod query;
mod rollback;
mod select;
mod servers;
mod steer;
mod writing;

pub(crate) use chats::listed_chats;
pub(crate) use query::MAX_FOLDERS;

use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::tool::ToolSpec;
use bobbin_agent_api::tool_server::ServerPrompt;
use bobbin_core::{CoreError, ListFilter, Snapshot, ThreadHandle, Threads, WireMessage};
use bobbin_editor_kit::{Editor, EditorServices, EditorTools, sentence};
use bobbin_model::state::NewThread;
use bobbin_model::{HistoryMode, Identity, Mode, Refusal, ThreadConfig, ThreadId};
use bobbin_peer::{CallContext, ErrorObject, NotificationContext, PeerHandle, Responder};
use bobbin_session::{Lifetime, Session, Start, SubscribeOptions};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use crate::chats::{alias, may_be_made_up, stored_id};
use crate::dialect::{Chosen, Eca};
use crate::errors;
use crate::wire::config::{ChatConfig, ConfigUpdated, NativeServer};
use crate::wire::content::ChatContent;
use crate::wire::lifecycle::{Progress, ShowMessage};
use crate::wire::{self, ChatId, Notification};

/// The channel of chats that this dialect starts.
pub(crate) const CHANNEL: &str = "eca";
/// The text of an empty chat.
pub(crate) const WELCOME: &str = "# Bobbin\n\nAsk for a change, or type `/` for commands.\n";

/// A client that has initialized.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) offer: Arc<EditorServices>,
    pub(crate) eca: Arc<Eca>,
    pub(crate) session: Arc<Session>,
    /// The editor, if it answers requests for diagnostics.
    pub(crate) editor: Option<Arc<Editor>>,
    pub(crate) peer: PeerHandle,
    pub(crate) tasks: TaskTracker,
}

/// The methods of later versions. A client that sends one speaks a later version (20.8).
const LATER: [&str; 31] = [
    "chat/addFlag",
    "chat/clear",
    "chat/fork",
    "chat/history",
    "chat/list",
    "chat/open",
    "chat/promptSteer",
    "chat/promptSteerRemove",
    "chat/queryFiles",
    "chat/removeFlag",
    "chat/rollback",
    "chat/selectedAgentChanged",
    "chat/selectedModelChanged",
    "chat/update",
    "completion/inline",
    "jobs/kill",
    "jobs/list",
    "jobs/readOutput",
    "mcp/addServer",
    "mcp/connectServer",
    "mcp/disableServer",
    "mcp/enableServer",
    "mcp/logoutServer",
    "mcp/removeServer",
    "mcp/updateServer",
    "providers/list",
    "providers/login",
    "providers/loginInput",
    "providers/logout",
    "rewrite/prompt",
    "workspace/didChangeWorkspaceFolders",
];

/// Serves one request.
pub(crate) async fn request(client: &Client, request: &CallContext, responder: Responder) {
    if LATER.contains(&&*request.method) {
        client.eca.speaks_currently();
    }
    match &*request.method {
        "chat/prompt" => prompt::prompt(client, request, responder).await,
        "chat/delete" => chats::delete(client, request, responder).await,
        "chat/clear" => chats::clear(client, request, responder).await,
        "chat/list" => chats::list(client, request, responder),
        "chat/open" => chats::open(client, request, responder).await,
        "chat/update" => chats::update(client, request, responder).await,
        "chat/rollback" => rollback::rollback(client, request, responder).await,
        "chat/addFlag" => flag::add(client, request, responder).await,
        "chat/removeFlag" => flag::remove(client, request, responder).await,
        "chat/fork" => fork::fork(client, request, responder).await,
        "chat/queryContext" => query::contexts(client, request, responder),
        "chat/queryFiles" => query::files(client, request, responder),
        "chat/queryCommands" => query::commands(client, request, responder),
        "providers/list" => providers::list(client, responder),
        "providers/login" => providers::log_in(client, request, responder),
        "providers/loginInput" => providers::log_in_with(client, request, responder),
        "providers/logout" => providers::log_out(client, request, responder),
        "chat/history" => history::history(client, request, responder).await,
        "jobs/list" => jobs::list(client, responder),
        "jobs/kill" => jobs::kill(client, request, responder),
        "jobs/readOutput" => jobs::read_output(client, request, responder),
        "mcp/addServer" => servers::add(client, request, responder),
        "mcp/updateServer" => servers::update(client, request, responder),
        "mcp/removeServer" => servers::remove(client, request, responder),
        "rewrite/prompt" => writing::rewrite(client, request, responder),
        "completion/inline" => writing::complete(client, request, responder),
        other => responder.err(errors::method_not_found(other)),
    }
}

/// Serves one notification. An invalid one is ignored and logged, since it has no answer.
pub(crate) async fn notification(client: &Client, notification: &NotificationContext) {
    if LATER.contains(&&*notification.method) {
        client.eca.speaks_currently();
    }
    let served = match &*notification.method {
        "chat/toolCallApprove" => decide::approve(client, notification).await,
        "chat/toolCallReject" => decide::reject(client, notification).await,
        "chat/promptSteer" => steer::steer(client, notification).await,
        "chat/promptSteerRemove" => steer::remove(client, notification).await,
        "chat/promptStop" => decide::stop(client, notification).await,
        "chat/selectedBehaviorChanged" | "chat/selectedAgentChanged" => {
            select::mode(client, notification).await
        }
        "chat/selectedModelChanged" => select::model(client, notification).await,
        "mcp/startServer" => servers::start(client, notification),
        "mcp/stopServer" => servers::stop(client, notification),
        "mcp/connectServer" => servers::connect(client, notification),
        "mcp/logoutServer" => servers::log_out(client, notification),
        "mcp/enableServer" => servers::enable(client, notification, true).await,
        "mcp/disableServer" => servers::enable(client, notification, false).await,
        "workspace/didChangeWorkspaceFolders" => query::folders_changed(client, notification),
        other => Err(Ignored(format!("{other} is not served"))),
    };
    if let Err(Ignored(why)) = served {
        tracing::info!(method = &*notification.method, why, "a notification was ignored");
    }
}

/// Sends the initial state to a client that has just become ready (4.3).
pub(crate) async fn greet(client: &Client) {
    let offer = &client.offer;
    let (mode, model) = client.chosen();
    let models = client.eca.known_models.lock().clone();
    let effort = client.eca.chosen.lock().effort;
    let variants = client.variants(&model, effort);
    let progress = |kind| Progress {
        kind,
        task_id: "models",
        title: "Models",
    };
    let config = ConfigUpdated {
        chat_id: None,
        chat: ChatConfig::complete(&models, &model, mode, variants, WELCOME),
    };
    let mut messages = vec![
        wire::message("$/progress", &progress("start")),
        wire::message("config/updated", &config),
        wire::message("$/progress", &progress("finish")),
        wire::message("tool/serverUpdated", &NativeServer::new(client.tools(), mode)),
    ];
    messages.extend(offer.notices.iter().map(|notice| {
        let params = ShowMessage {
            kind: notice.kind,
            message: &notice.message,
        };
        wire::message("$/showMessage", &params)
    }));
    client.send(messages.into_iter().flatten().collect()).await;
    servers::tell(client);
    jobs::follow(client);
    providers::follow(client);
    select::refresh_models(client);
}

/// Why a notification had no effect.
pub(crate) struct Ignored(String);

impl Ignored {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl From<ErrorObject> for Ignored {
    fn from(error: ErrorObject) -> Self {
        Self(error.message.into_owned())
    }
}

impl From<CoreError> for Ignored {
    fn from(error: CoreError) -> Self {
        Self(sentence(&error))
    }
}

/// The result of the search for a chat that a client names.
pub(crate) enum Found {
    /// It exists.
    Chat(Arc<ThreadHandle>),
    /// It does not exist; a client may make up this id.
    Free,
    /// It does not exist, and no chat can have this id.
    Bad,
}

impl Client {
    pub(crate) fn threads(&self) -> &Arc<Threads> {
        &self.offer.threads
    }

    /// Returns the mode and the model for new chats, as the client's options or its user have chosen.
    pub(crate) fn chosen(&self) -> (Mode, String) {
        let Chosen { mode, model, .. } = self.eca.chosen.lock().clone();
        let model = model.unwrap_or_else(|| self.offer.models.usual());
        (mode.unwrap_or(Mode::Agent), model)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.threads().settings().workspace
    }

    /// Returns the prompts of servers.
    pub(crate) fn prompts(&self) -> Vec<ServerPrompt> {
        let servers = self.offer.services.tool_servers.as_ref();
        servers.map_or_else(Vec::new, |servers| servers.prompts())
    }

    /// Returns the tools that belong to no server.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        let editors = self.editor.iter().map(|_| EditorTools::spec());
        self.offer.tools.iter().chain(editors)
    }

    /// Returns a chat by the client's id: one of this connection, a Thread's own id, or a stored one. The connection
    /// then knows the chat.
    pub(crate) async fn find(&self, id: &ChatId) -> Result<Found, CoreError> {
        let text = id.text();
        let free = if may_be_made_up(&text) {
            Found::Free
        } else {
            Found::Bad
        };
        let mut thread = self.eca.chats.thread(id);
        // A number has a meaning in this connection only.
        if let (None, ChatId::Text(text)) = (&thread, id) {
            thread = self.stored(text).await?;
            if thread.is_none() && text.starts_with("thread_") {
                thread = Some(ThreadId::new(text.as_str()));
            }
        }
        let Some(thread) = thread else { return Ok(free) };
        match self.threads().thread(&thread).await {
            Ok(handle) => {
                self.know(&thread, id.clone());
                Ok(Found::Chat(handle))
            }
            Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => Ok(free),
            Err(error) => Err(error),
        }
    }

    async fn stored(&self, id: &str) -> Result<Option<ThreadId>, CoreError> {
        if !may_be_made_up(id) {
            return Ok(None);
        }
        let filter = ListFilter {
            workspace_path: self.root().to_string_lossy().into_owned(),
            channel_context: Some(alias(id)),
            include_archived: true,
            ..ListFilter::default()
        };
        let found = self.threads().list(filter).await?;
        Ok(found.into_iter().next().map(|summary| summary.header.id))
    }

    /// Starts a Thread for a chat. Stores its client-made id, if that is a text.
    pub(crate) async fn new_thread(
        &self,
        id: Option<&ChatId>,
        config: Option<ThreadConfig>,
        display_name: Option<String>,
    ) -> Result<Arc<ThreadHandle>, CoreError> {
        let stored = match id {
            Some(ChatId::Text(text)) => Some(alias(text)),
            Some(ChatId::Number(_)) | None => None,
        };
        let thread = self.threads().fresh_thread_id();
        let request = NewThread {
            id: thread.clone(),
            identity: Identity {
                channel_name: CHANNEL.to_owned(),
                channel_context: stored,
                ..Identity::default()
            },
            config,
            history_mode: HistoryMode::Server,
            display_name,
        };
        let (done, started) = oneshot::channel();
        // If the connection has ended, nothing waits for the result.
        let reply = Box::new(move |result| drop(done.send(result)));
        self.threads().start_thread(request, reply);
        started.await.unwrap_or(Err(CoreError::Stopping))?;
        self.threads().thread(&thread).await
    }

    /// Returns a chat that must exist.
    pub(crate) async fn existing(&self, id: &ChatId) -> Result<Arc<ThreadHandle>, Ignored> {
        match self.find(id).await? {
            Found::Chat(handle) => Ok(handle),
            Found::Free | Found::Bad => Err(Ignored::new("there is no such chat")),
        }
    }

    /// Whether a Turn runs in a chat; `false` if the chat cannot be read.
    pub(crate) async fn is_busy(&self, thread: &ThreadId) -> bool {
        let Ok(handle) = self.threads().thread(thread).await else {
            return false;
        };
        let snapshot = self.threads().snapshot(&handle).await;
        snapshot.is_ok_and(|snapshot| snapshot.state.live.is_some())
    }

    /// Adds a chat to the known ones.
    pub(crate) fn know(&self, thread: &ThreadId, id: ChatId) {
        if let Some(gone) = self.eca.chats.know(thread, id) {
            self.session.unsubscribe(&gone);
        }
    }

    /// Returns the id of a Thread: this connection's, else the one for all clients.
    pub(crate) fn id_of(&self, header: &bobbin_model::ThreadHeader) -> ChatId {
        let own = self.eca.chats.with(&header.id, |chat| chat.id.clone());
        own.unwrap_or_else(|| stored_id(header))
    }

    /// Sets the limits of a chat's view to those of its model, or of the default model.
    pub(crate) fn limit(&self, thread: &ThreadId, model: Option<&str>) {
        let models = &self.offer.models;
        let limit = match model {
            Some(model) => models.limit(model),
            None => models.limit(&models.usual()),
        };
        self.eca.chats.with(thread, |chat| chat.view.limit = limit);
    }

    /// Follows a chat from a snapshot on. Does not change a chat that is already followed.
    pub(crate) async fn follow_on(
        &self,
        handle: Arc<ThreadHandle>,
        snapshot: &Snapshot,
    ) -> Result<(), CoreError> {
        let chats = &self.eca.chats;
        let is_new = chats.with(handle.id(), |chat| chat.view.spent.is_none());
        if is_new == Some(true) {
            let spent = self.threads().spent(snapshot).await?;
            let tokens = snapshot.state.context.tokens;
            chats.with(handle.id(), |chat| {
                chat.view.spent.get_or_insert(spent);
                chat.view.in_window = tokens;
            });
        }
        self.follow(handle, snapshot.at.next());
        Ok(())
    }

    /// Follows a chat from a Seq on.
    pub(crate) fn follow(&self, handle: Arc<ThreadHandle>, from: bobbin_model::Seq) {
        self.session.subscribe(&SubscribeOptions {
            handle,
            start: Start::At(from),
            lifetime: Lifetime::Unsubscribed,
        });
    }

    /// Sends contents of a chat and waits until they are written.
    pub(crate) async fn tell(&self, thread: &ThreadId, told: &[ChatContent]) {
        let notifications = self.eca.notifications(thread, told).into_iter();
        self.send(notifications.map(Notification::into_message).collect())
            .await;
    }

    /// Sends contents of a chat by its client's id, known or not, and waits until they are written.
    pub(crate) async fn tell_as(&self, id: &ChatId, told: &[ChatContent]) {
        let notifications = told.iter().filter_map(|told| told.notification(id));
        self.send(notifications.map(Notification::into_message).collect())
            .await;
    }

    /// Queues contents of a chat without waiting. Returns whether there was room for all of them.
    pub(crate) fn tell_now(&self, thread: &ThreadId, told: &[ChatContent]) -> bool {
        let notifications = self.eca.notifications(thread, told);
        notifications
            .into_iter()
            .all(|one| self.peer.try_notify(one.method, one.params).is_ok())
    }

    pub(crate) async fn send(&self, messages: Vec<WireMessage>) {
        let frames: Vec<Bytes> = messages.into_iter().map(|message| message.json).collect();
        if let Err(error) = self.peer.send_batch(frames).await {
            tracing::debug!(%error, "notifications were not sent");
        }
    }

    pub(crate) async fn notify(&self, method: &'static str, params: &(impl Serialize + Sync)) {
        self.send(wire::message(method, params).into_iter().collect())
            .await;
    }
}

/// Decodes the parameters, or answers with an error.
fn params<T: DeserializeOwned>(request: &CallContext, responder: Responder) -> Option<(T, Responder)> {
    match wire::params(request.params.as_deref()) {
        Ok(params) => Some((params, responder)),
        Err(error) => {
            responder.err(error);
            None
        }
    }
}

fn fail(responder: Responder, error: &CoreError) {
    responder.err(errors::of(error));
}
