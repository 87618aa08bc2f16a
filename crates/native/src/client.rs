//! One client that has finished its handshake, as handlers see it; and the steps that many of them have in common.

use std::sync::Arc;

use bobbin_agent_api::{Once, Services};
use bobbin_core::{Command, CoreError, Hub, ThreadHandle};
use bobbin_model::ThreadId;
use bobbin_peer::{CallContext, NotificationContext, PeerHandle, Responder};
use bobbin_session::Session;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::answers::AnswerPermit;
use crate::connection::Server;
use crate::dialect::Native;
use crate::errors;
use crate::group::Call;
use crate::groups::serving::connection::Serving;
use crate::groups::thread::subscribe;
use crate::repeats::Answer;
use crate::wire::{self, ClientRequestId, RpcError, decode};

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
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.server.hub
    }

    /// Returns the features of the server.
    pub(crate) fn services(&self) -> &Services {
        &self.server.services
    }

    /// Waits for the permission to make a large answer.
    ///
    /// # Errors
    /// Too much waits to be read.
    pub(crate) async fn large_answer(&self) -> Result<AnswerPermit, RpcError> {
        let connection = self.one_answer.clone();
        self.server.answers.permit(connection, &self.peer).await
    }

    /// Returns who is to be answered when the request at hand is to be carried out, where it changes something that is
    /// in no Thread's record.
    pub(crate) fn first_time(&self, responder: Responder) -> Option<Answer> {
        self.server.repeats.first(self.once.as_ref(), responder)
    }

    /// Hands a command over, under the request's name if it has one.
    pub(crate) async fn command(&self, thread: &ThreadHandle, command: Command) {
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
    // The handler, which decodes the params whole, answers what is wrong with them.
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
    Call::serve(client, &request, responder).await;
}

/// Serves one notification. Unknown ones are ignored.
pub(crate) async fn notification(client: &Client, notification: NotificationContext) {
    // After a reconnect one client subscribes without wanting an answer.
    if &*notification.method == wire::THREAD_SUBSCRIBE {
        subscribe::subscribe_quietly(client, notification.params.as_deref()).await;
    }
}

/// Finds a Thread, or answers why it cannot be had.
pub(crate) async fn handle(
    client: &Client,
    id: &str,
    responder: Responder,
) -> Option<(Arc<ThreadHandle>, Responder)> {
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

pub(crate) fn refuse(responder: Responder, error: RpcError) {
    responder.err(errors::object(error));
}

pub(crate) fn fail(responder: Responder, error: &CoreError) {
    refuse(responder, errors::of(error));
}
