//! The methods. Messages of one connection are served in their order; no request waits for a model or a user.

mod exec;
mod list;
mod thread;
mod turn;

use std::sync::Arc;

use bobbin_agent_api::elicitation::ElicitingClient;
use bobbin_core::{Snapshot, ThreadHandle, Threads};
use bobbin_editor_kit::EditorServices;
use bobbin_model::{ThreadId, TurnId};
use bobbin_peer::{CallContext, ErrorObject, PeerHandle, Responder};
use bobbin_session::Session;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::dialect::Codex;
use crate::{errors, settings};

/// The channel of Threads that this dialect starts.
const CHANNEL: &str = "codex";

/// A client that has greeted.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) offer: Arc<EditorServices>,
    pub(crate) codex: Arc<Codex>,
    pub(crate) session: Arc<Session>,
    pub(crate) peer: PeerHandle,
    pub(crate) tasks: TaskTracker,
    /// The connection as MCP servers ask it.
    pub(crate) asked: Arc<dyn ElicitingClient>,
}

/// The result of a request.
type Answer = Result<Value, ErrorObject>;

/// Serves one request.
pub(crate) async fn request(client: &Client, request: &CallContext, responder: Responder) {
    let params: Value = request.decode().unwrap_or_default();
    match &*request.method {
        // These answer before their news, which come from the log.
        "thread/start" => return thread::start(client, &params, responder).await,
        "thread/resume" => return thread::resume(client, &params, responder).await,
        "thread/fork" => return thread::fork(client, &params, responder).await,
        "turn/start" => return turn::start(client, &params, responder).await,
        "turn/steer" => return turn::steer(client, &params, responder).await,
        _ => {}
    }
    match answer(client, &request.method, &params).await {
        Ok(result) => responder.ok(result),
        Err(error) => responder.err(error),
    }
}

async fn answer(client: &Client, method: &str, params: &Value) -> Answer {
    match method {
        // With that the client shows no login screen.
        "account/read" => Ok(json!({ "requiresOpenaiAuth": false, "account": null })),
        "model/list" => Ok(settings::models(&*client.codex.models)),
        "config/read" => Ok(json!({ "config": {}, "origins": {} })),
        "configRequirements/read" => Ok(json!({ "requirements": null })),
        "config/batchWrite" => list::write_config(params),
        "collaborationMode/list" => Ok(list::modes()),
        "skills/list" | "thread/backgroundTerminals/list" => Ok(json!({ "data": [] })),
        "permissionProfile/list" => Ok(list::profiles()),
        "mcpServerStatus/list" => Ok(list::servers(client)),
        "thread/goal/get" => Ok(json!({ "goal": null })),
        "thread/list" => list::threads(client, params).await,
        "thread/loaded/list" => list::loaded(client).await,
        "thread/read" => thread::read(client, params).await,
        "thread/turns/list" => thread::turns(client, params).await,
        "thread/items/list" => thread::items(client, params).await,
        "thread/unsubscribe" => Ok(thread::unsubscribe(client, params)),
        "thread/name/set" => thread::rename(client, params).await,
        "thread/archive" => thread::archive(client, params).await,
        "thread/unarchive" => thread::unarchive(client, params).await,
        "thread/delete" => thread::delete(client, params).await,
        "thread/revert" => thread::revert(client, params).await,
        "thread/settings/update" => thread::settings(client, params).await,
        "thread/compact/start" => turn::compact(client, params).await,
        "command/exec" => exec::run(client, params).await,
        "review/start" => turn::review(client, params).await,
        "thread/shellCommand" => turn::shell_command(client, params).await,
        "thread/queue/add" => turn::enqueue(client, params).await,
        "turn/interrupt" => turn::interrupt(client, params).await,
        other => Err(ErrorObject::method_not_found(other)),
    }
}

/// Decodes the parameters of a request; absent ones are an empty object.
///
/// # Errors
/// `-32602` with the reason.
pub(crate) fn params<T: DeserializeOwned>(request: &CallContext) -> Result<T, ErrorObject> {
    let raw = request.params.as_deref().map_or("{}", RawValue::get);
    serde_json::from_str(raw)
        .map_err(|error| errors::params(format!("The parameters cannot be read: {error}.")))
}

impl Client {
    fn threads(&self) -> &Arc<Threads> {
        &self.offer.threads
    }

    fn thread_id(&self, params: &Value) -> Result<ThreadId, ErrorObject> {
        let uuid = params["threadId"].as_str().unwrap_or_default();
        self.codex.ids.thread(uuid).ok_or_else(|| errors::no_thread(uuid))
    }

    /// Returns the Thread that a request names.
    async fn handle(&self, params: &Value) -> Result<Arc<ThreadHandle>, ErrorObject> {
        let id = self.thread_id(params)?;
        let handle = self.threads().thread(&id).await;
        handle.map_err(|error| errors::of(&error))
    }

    async fn snapshot(&self, handle: &ThreadHandle) -> Result<Snapshot, ErrorObject> {
        let snapshot = self.threads().snapshot(handle).await;
        snapshot.map_err(|error| errors::of(&error))
    }
}

/// Returns the Turn that a member names.
fn turn_id(value: &Value) -> Result<TurnId, ErrorObject> {
    let text = value.as_str().unwrap_or_default();
    text.parse()
        .map_err(|_| errors::invalid(format!("there is no turn {text}")))
}
