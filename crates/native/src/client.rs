//! One client that has finished its handshake, as handlers see it, with steps that many handlers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_agent_api::tool::ToolEnvironment;
use bobbin_agent_api::{Once, Services};
use bobbin_core::{Command, CoreError, StartedTurn, ThreadHandle, Threads};
use bobbin_model::state::StartTurn;
use bobbin_model::{Actor, ClientKeys, InputPart, Sender, ThreadId, ThreadState, TurnFeatures};
use bobbin_native_wire::handshake::capabilities::ClientCapabilities;
use bobbin_native_wire::handshake::types::ClientRequestId;
use bobbin_native_wire::thread::types::Thread;
use bobbin_native_wire::{RpcError, lenient};
use bobbin_peer::{CallContext, NotificationContext, PeerHandle, Responder};
use bobbin_session::{Lifetime, Session, Start, SubscribeOptions, until_answered};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::answers::AnswerPermit;
use crate::call::{Call, Notified};
use crate::connection::{Endpoint, Server};
use crate::dialect::Native;
use crate::errors;
use crate::groups::mcp_runtime::elicitation::Asked;
use crate::groups::serving::connection::Serving;
use crate::own_turns::OwnTurns;
pub use crate::repeats::Answer;

/// Most characters of a client's own id of a message.
const MAX_MESSAGE_ID: usize = 128;

/// Counts one answer as delayed while it exists.
struct HeldBack(Arc<AtomicUsize>);

impl HeldBack {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One client that has finished its handshake.
#[derive(Clone)]
pub struct Client {
    pub(crate) server: Arc<Server>,
    pub(crate) native: Arc<Native>,
    pub(crate) endpoint: Endpoint,
    pub(crate) serving: Arc<Serving>,
    /// The connection as MCP servers ask it, if its client takes their questions.
    pub(crate) asked: Option<Arc<Asked>>,
    pub(crate) session: Arc<Session>,
    pub(crate) peer: PeerHandle,
    pub(crate) reads: TaskTracker,
    /// The connection makes one large answer at a time.
    pub(crate) one_answer: Arc<Semaphore>,
    /// Answers of the connection that wait for its other answers.
    pub(crate) held_back: Arc<AtomicUsize>,
    /// The Turns that the client has started, if they end with its connection.
    pub(crate) own_turns: Option<Arc<OwnTurns>>,
    /// The client's name for the request at hand.
    pub(crate) once: Option<Once>,
}

impl Client {
    /// Returns the Threads of the workspace.
    pub fn threads(&self) -> &Arc<Threads> {
        &self.server.threads
    }

    /// Returns the features of the server.
    pub fn services(&self) -> &Services {
        &self.server.services
    }

    /// Returns the endpoint that the client came through.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns on whose behalf the client acts.
    pub fn actor(&self) -> &Actor {
        self.endpoint.actor()
    }

    /// Returns the client's session, which has its subscriptions.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Returns the connection.
    pub fn peer(&self) -> &PeerHandle {
        &self.peer
    }

    /// Returns the capabilities that the client declared in `initialize`.
    pub fn capabilities(&self) -> &ClientCapabilities {
        self.native.capabilities()
    }

    /// Returns the features of the Turns that the client starts.
    pub fn turn_features(&self) -> TurnFeatures {
        let keys = match &self.endpoint {
            Endpoint::Local(local) => local.keys.clone(),
            Endpoint::Stdio | Endpoint::WebSocket { .. } | Endpoint::Adapter(_) => ClientKeys::default(),
        };
        TurnFeatures {
            keys,
            ..self.native.features()
        }
    }

    /// Returns the external channel for which the client says it is the adapter.
    pub fn adapter_of(&self) -> Option<String> {
        self.capabilities().channel_name()
    }

    /// Whether the client receives the notifications of this name.
    pub fn wants(&self, notification: &str) -> bool {
        self.native.wants_notification(notification)
    }

    /// Returns the client's name for the request at hand.
    pub fn once(&self) -> Option<&Once> {
        self.once.as_ref()
    }

    /// Runs a task that the connection waits for when it ends. The task must end soon after the connection closes.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.reads.spawn(task);
    }

    /// Notes that this connection started a Thread that comes through a channel.
    pub fn started(&self, thread: ThreadId, channel: String) {
        self.native.channels().started(thread, channel);
    }

    /// Returns the request for a Turn of this client. `message` is the client's own id of the input; else the id of the
    /// request is.
    ///
    /// # Errors
    /// The id is too long.
    pub fn turn(
        &self,
        thread: &ThreadId,
        input: Vec<InputPart>,
        sender: Option<Sender>,
        message: Option<String>,
    ) -> Result<StartTurn, RpcError> {
        if message
            .as_ref()
            .is_some_and(|id| id.chars().count() > MAX_MESSAGE_ID)
        {
            let detail = format!("'clientUserMessageId' has more than {MAX_MESSAGE_ID} characters.");
            return Err(RpcError::invalid_params(detail));
        }
        let named = || self.once.as_ref().map(|once| once.id.clone());
        Ok(StartTurn {
            client_message_id: message.or_else(named),
            trigger: None,
            input,
            sender,
            channel: Some(self.native.channels().of(thread)),
            features: self.turn_features(),
        })
    }

    /// Sends the client a Turn that it started, even if it has not subscribed to the Thread.
    pub fn follow(&self, handle: Arc<ThreadHandle>, started: &StartedTurn) {
        if let Some(own) = &self.own_turns {
            own.add(handle.clone(), started);
        }
        if let Some(asked) = &self.asked {
            asked.started(handle.id(), started.turn.id);
        }
        self.session.subscribe(&SubscribeOptions {
            handle,
            start: Start::At(started.seq),
            lifetime: Lifetime::TurnEnds(started.turn.id),
        });
    }

    /// Waits until the client has the answers to its other requests, for an answer that must not come first. Waits at
    /// least 100 ms, for requests that it sends meanwhile, and at most 2 s.
    pub async fn answered_otherwise(&self) {
        let _held_back = HeldBack::new(self.held_back.clone());
        until_answered(&self.peer, || self.held_back.load(Ordering::Relaxed)).await;
    }

    /// Waits for permission to make a large answer.
    ///
    /// # Errors
    /// Too many bytes wait to be read.
    pub(crate) async fn large_answer(&self) -> Result<AnswerPermit, RpcError> {
        let connection = self.one_answer.clone();
        self.server.answers.permit(connection, &self.peer).await
    }

    /// Makes a large answer once this connection may make one. Refuses the request if too many bytes wait to be read.
    pub fn answer_large<F>(&self, responder: Responder, answer: impl FnOnce(Responder) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let client = self.clone();
        self.reads.spawn(async move {
            match client.large_answer().await {
                Ok(_permit) => answer(responder).await,
                Err(error) => refuse(responder, error),
            }
        });
    }

    /// Returns a Thread as this client is shown it, without its Turns.
    pub fn shown(&self, state: &ThreadState) -> Thread {
        self.native.thread(state)
    }

    /// Returns the receiver of the answer if the current request must be executed, for a request that changes something
    /// outside of a Thread's record. Returns `None` for a repeated request, which gets the first one's answer.
    pub fn first_time(&self, responder: Responder) -> Option<Answer> {
        self.server.repeats.first(self.once.as_ref(), responder)
    }

    /// Sends a command, under the request's name if it has one.
    pub async fn command(&self, thread: &ThreadHandle, command: Command) {
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
    // The handler decodes the params whole and answers their errors.
    let id = lenient::params::<Named>(Some(params)).ok()?.client_request_id?;
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

/// Serves one notification.
pub(crate) async fn notification(client: &Client, notification: NotificationContext) {
    Notified::serve(client, &notification).await;
}

/// Finds a Thread, or answers why it cannot be used.
pub async fn handle(
    client: &Client,
    id: &str,
    responder: Responder,
) -> Option<(Arc<ThreadHandle>, Responder)> {
    if id.trim().is_empty() {
        refuse_params(responder, "'threadId' must not be blank.");
        return None;
    }
    match client.threads().thread(&ThreadId::new(id)).await {
        Ok(handle) => Some((handle, responder)),
        Err(error) => {
            fail(responder, &error);
            None
        }
    }
}

/// Returns the environment of a Thread's calls, or that of the workspace without one; or answers why it cannot be used.
pub async fn environment(
    client: &Client,
    thread: Option<&str>,
    responder: Responder,
) -> Option<(ToolEnvironment, Responder)> {
    let settings = client.threads().settings();
    let Some(thread) = thread else {
        return Some((settings.environment_of(None, &TurnFeatures::default()), responder));
    };
    let (thread, responder) = handle(client, thread, responder).await?;
    match client.threads().snapshot(&thread).await {
        Ok(snapshot) => {
            let config = snapshot.state.header.config.as_ref();
            Some((
                settings.environment_of(config, &TurnFeatures::default()),
                responder,
            ))
        }
        Err(error) => {
            fail(responder, &error);
            None
        }
    }
}

/// Answers with an error.
pub fn refuse(responder: Responder, error: RpcError) {
    responder.err(errors::object(error));
}

/// Answers a request whose params cannot be used, with the reason.
pub fn refuse_params(responder: Responder, detail: impl Into<String>) {
    refuse(responder, RpcError::invalid_params(detail));
}

/// Answers with an error of the core.
pub fn fail(responder: Responder, error: &CoreError) {
    refuse(responder, errors::of(error));
}
