//! The methods, by group. Each decodes its parameters, hands a command to the core with a closure that
//! will answer, and returns: answers come from the Thread's owner, before what they caused is shown.
//!
//! Messages of one connection are handed over in the order they came. Reads that wait for the disk go to
//! tasks of their own, which the connection joins; there are never more than requests in flight.

mod channel;
mod command;
mod mcp;
mod models;
mod policy;
mod queue;
mod read;
mod revert;
mod rollback;
mod rules;
mod search;
mod skills;
mod stats;
mod subagent;
mod subscribe;
mod suggest;
mod terminal;
mod thread;
pub(crate) mod trust;
mod turn;

use std::sync::Arc;

use bobbin_agent_api::{Once, Services};
use bobbin_core::{Command, CoreError, Hub, ThreadHandle};
use bobbin_model::ThreadId;
use bobbin_peer::{CallContext, NotificationContext, PeerHandle, Responder};
use bobbin_session::Session;
use bobbin_wire::method::{client_notification, request as method};
use bobbin_wire::{ClientRequestId, RpcError, decode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::answers::AnswerPermit;
use crate::connection::Server;
use crate::dialect::Native;
use crate::errors;
use crate::repeats::Answer;
use crate::serving::Serving;

/// One client that has finished its handshake.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) server: Arc<Server>,
    pub(crate) native: Arc<Native>,
    pub(crate) serving: Arc<Serving>,
    pub(crate) session: Arc<Session>,
    pub(crate) peer: PeerHandle,
    pub(crate) reads: TaskTracker,
    /// The connection makes one large answer at a time.
    pub(crate) one_answer: Arc<Semaphore>,
    /// The client's name for the request at hand.
    pub(crate) once: Option<Once>,
}

impl Client {
    /// Returns the core.
    fn hub(&self) -> &Arc<Hub> {
        &self.server.hub
    }

    /// Returns the features of the server.
    fn services(&self) -> &Services {
        &self.server.services
    }

    /// Waits for the permission to make a large answer.
    ///
    /// # Errors
    /// Too much waits to be read.
    async fn large_answer(&self) -> Result<AnswerPermit, RpcError> {
        let connection = self.one_answer.clone();
        self.server.answers.permit(connection, &self.peer).await
    }

    /// Returns who is to be answered when the request at hand is to be carried out, where it changes something that is
    /// in no Thread's record.
    fn first_time(&self, responder: Responder) -> Option<Answer> {
        self.server.repeats.first(self.once.as_ref(), responder)
    }

    /// Hands a command over, under the request's name if it has one.
    async fn command(&self, thread: &ThreadHandle, command: Command) {
        let command = match self.once.clone() {
            Some(once) => Command::Once {
                once,
                command: Box::new(command),
            },
            None => command,
        };
        thread.send(command).await;
    }
}

/// Returns the client's name for a request.
fn named(request: &CallContext) -> Option<Once> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        client_request_id: Option<ClientRequestId>,
    }
    let params = request.params.as_deref()?;
    // What is wrong with the params is told by those who decode them whole.
    let id = decode::params::<Named>(Some(params)).ok()?.client_request_id?;
    Some(Once::new(id.as_str(), &request.method, params.get()))
}

/// Serves one request.
pub(crate) async fn request(client: &Client, request: CallContext, responder: Responder) {
    let named = named(&request).map(|once| Client {
        once: Some(once),
        ..client.clone()
    });
    let client = named.as_ref().unwrap_or(client);
    let name = request.method.clone();
    match &*name {
        method::THREAD_START => thread::start(client, &request, responder).await,
        method::THREAD_RESUME => thread::resume(client, &request, responder).await,
        method::THREAD_RENAME => thread::rename(client, &request, responder).await,
        method::THREAD_PAUSE => thread::pause(client, &request, responder).await,
        method::THREAD_ARCHIVE => thread::archive(client, &request, responder).await,
        method::THREAD_UNARCHIVE => thread::unarchive(client, &request, responder).await,
        method::THREAD_DELETE => thread::delete(client, &request, responder).await,
        method::THREAD_MODE_SET => thread::set_mode(client, &request, responder).await,
        method::THREAD_CONFIG_UPDATE => thread::configure(client, &request, responder).await,
        method::THREAD_LIST => read::list(client, &request, responder),
        method::THREAD_SEARCH => search::search(client, &request, responder),
        method::THREAD_READ => read::read(client, &request, responder).await,
        method::THREAD_SUBSCRIBE => subscribe::subscribe(client, &request, responder).await,
        method::THREAD_UNSUBSCRIBE => subscribe::unsubscribe(client, &request, responder),
        method::CHANNEL_LIST => channel::list(responder),
        method::TURN_START => turn::start(client, &request, responder).await,
        method::TURN_INTERRUPT => turn::interrupt(client, &request, responder).await,
        method::TURN_ENQUEUE => queue::enqueue(client, &request, responder).await,
        method::TURN_QUEUE_REMOVE => queue::remove(client, &request, responder).await,
        method::TURN_STEER => queue::steer(client, &request, responder).await,
        method::THREAD_ROLLBACK => rollback::rollback(client, &request, responder).await,
        method::TURN_REVERT => revert::revert(client, &request, responder).await,
        method::POLICY_EXPLAIN => policy::explain(client, &request, responder).await,
        method::APPROVAL_RULES_LIST => rules::list(client, &request, responder),
        method::APPROVAL_RULES_REMOVE => rules::remove(client, &request, responder).await,
        method::WORKSPACE_TRUST_GET => trust::get(client, &request, responder),
        method::WORKSPACE_TRUST_SET => trust::set(client, &request, responder).await,
        method::MODEL_LIST => models::list(client, &request, responder),
        method::SERVER_STATS => stats::stats(client, responder),
        method::MCP_LIST => mcp::list(client, &request, responder),
        method::MCP_GET => mcp::get(client, &request, responder),
        method::MCP_UPSERT => mcp::upsert(client, &request, responder).await,
        method::MCP_REMOVE => mcp::remove(client, &request, responder).await,
        method::MCP_STATUS_LIST => mcp::status(client, &request, responder),
        method::MCP_TEST => mcp::test(client, &request, responder),
        method::SKILLS_LIST => skills::list(client, &request, responder),
        method::SKILLS_READ => skills::read(client, &request, responder),
        method::SKILLS_VIEW => skills::view(client, &request, responder),
        method::SKILLS_RESTORE_ORIGINAL => skills::restore_original(client, &request, responder),
        method::SKILLS_SET_ENABLED => skills::set_enabled(client, &request, responder).await,
        method::SKILLS_UNINSTALL => skills::uninstall(client, &request, responder).await,
        method::COMMAND_LIST => command::list(client, &request, responder),
        method::COMMAND_EXECUTE => command::execute(client, &request, responder).await,
        method::WORKSPACE_COMMIT_MESSAGE_SUGGEST => {
            suggest::commit_message(client, &request, responder).await;
        }
        method::WELCOME_SUGGESTIONS => suggest::welcome(client, &request, responder),
        method::SUBAGENT_CHILDREN_LIST => subagent::children(client, &request, responder),
        method::SUBAGENT_CLOSE => subagent::close(client, &request, responder).await,
        method::SUBAGENT_RESUME => subagent::resume(client, &request, responder).await,
        method::TERMINAL_LIST => terminal::list(client, &request, responder),
        method::TERMINAL_READ => terminal::read(client, &request, responder),
        method::TERMINAL_WRITE => terminal::write(client, &request, responder),
        method::TERMINAL_STOP => terminal::stop(client, &request, responder),
        method::TERMINAL_CLEAN => terminal::clean(client, &request, responder),
        other => refuse(responder, RpcError::method_not_found(other)),
    }
}

/// Serves one notification. Unknown ones are ignored.
pub(crate) async fn notification(client: &Client, notification: NotificationContext) {
    // After a reconnect one client subscribes without wanting an answer.
    if &*notification.method == client_notification::THREAD_SUBSCRIBE {
        subscribe::subscribe_quietly(client, notification.params.as_deref()).await;
    }
}

/// Decodes the parameters, or answers why they cannot be used.
fn params<T: DeserializeOwned>(request: &CallContext, responder: Responder) -> Option<(T, Responder)> {
    match decode::params(request.params.as_deref()) {
        Ok(params) => Some((params, responder)),
        Err(error) => {
            refuse(responder, error.into());
            None
        }
    }
}

/// Finds a Thread, or answers why it cannot be had.
async fn handle(client: &Client, id: &str, responder: Responder) -> Option<(Arc<ThreadHandle>, Responder)> {
    if id.trim().is_empty() {
        refuse(
            responder,
            RpcError::invalid_params("'threadId' must not be blank."),
        );
        return None;
    }
    match client.hub().thread(&ThreadId::new(id)).await {
        Ok(handle) => Some((handle, responder)),
        Err(error) => {
            fail(responder, &error);
            None
        }
    }
}

fn refuse(responder: Responder, error: RpcError) {
    responder.err(errors::object(error));
}

fn fail(responder: Responder, error: &CoreError) {
    refuse(responder, errors::of(error));
}
