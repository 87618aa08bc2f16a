//! One connection from its handshake to its end (AppServer protocol 01 §4).
//!
//! The Session starts to pump at the client's `initialized`; nothing is sent before that.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use bobbin_agent_api::{ServerProcess, Services};
use bobbin_core::Threads;
use bobbin_model::{Actor, ClientKeys};
use bobbin_native_wire::handshake::capabilities::ServerCapabilities;
use bobbin_native_wire::handshake::types::{
    InitializeParams, InitializeResult, PROTOCOL_VERSION, ServerInfo,
};
use bobbin_native_wire::{RpcError, lenient};
use bobbin_peer::{
    Batches, CallContext, EofPolicy, NotificationContext, NullId, OversizeReply, ParseErrorReply,
    PeerOptions, Responder, Transport,
};
use bobbin_session::{Connection, ConnectionOptions, Handler};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::answers::Answers;
use crate::client::{self, Client};
use crate::dialect::Native;
use crate::errors;
use crate::group::Groups;
use crate::groups::handshake::{INITIALIZE, INITIALIZED};
use crate::groups::mcp_runtime::elicitation::Asked;
use crate::groups::serving::connection::Serving;
use crate::own_turns::OwnTurns;
use crate::repeats::Repeats;

/// Requests of one connection that may be unanswered at once (01 §11).
const MAX_IN_FLIGHT: usize = 32;
/// The delay that an overloaded client is asked to make.
pub(crate) const RETRY_AFTER_MS: u64 = 250;
/// Time to answer requests that were read before the end of input.
const DRAIN: Duration = Duration::from_secs(5);
/// Time that a WebSocket client has for its handshake. The process that started the server on its stdio has no limit:
/// the server ends with it.
const HANDSHAKE: Duration = Duration::from_secs(30);
/// Longest time that a write may make no progress.
const WRITE_STALL: Duration = Duration::from_secs(30);
/// Bytes that may wait to be written before reading of the client's input pauses.
const MAX_QUEUE_BYTES: usize = 8 << 20;

/// The endpoint through which a client came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The server's stdin and stdout. All requests read are answered before the end.
    Stdio,
    /// The workspace's socket, for programs of its user. All requests read are answered before the end.
    Local(LocalClient),
    /// A WebSocket. A client that is gone needs no answer.
    WebSocket {
        /// Whether no other machine can read or change its bytes on their way.
        is_private: bool,
        /// On whose behalf its client acts.
        actor: Actor,
    },
    /// The pipes of an adapter that the server started for the external channel of this name.
    Adapter(Arc<str>),
}

impl Endpoint {
    /// Returns on whose behalf the clients of this endpoint act.
    pub fn actor(&self) -> &Actor {
        match self {
            Self::WebSocket { actor, .. } => actor,
            Self::Stdio | Self::Local(_) | Self::Adapter(_) => &Actor::Owner,
        }
    }
}

/// The declaration of a program of the server's user, sent before its handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalClient {
    /// Whether the Turns that it starts end with its connection.
    pub ends_turns: bool,
    /// The keys of model providers in its environment.
    pub keys: ClientKeys,
}

/// The state that the connections of one server share.
pub struct Server {
    pub(crate) threads: Arc<Threads>,
    pub(crate) services: Services,
    pub(crate) groups: Arc<Groups>,
    /// Answers to named requests that are in no Thread's record.
    pub(crate) repeats: Arc<Repeats>,
    /// Bounds the answers that clients do not read.
    pub(crate) answers: Answers,
}

impl Server {
    /// Creates the dialect of a server with these method groups.
    pub fn new(threads: Arc<Threads>, services: Services, groups: Groups) -> Self {
        Self {
            threads,
            services,
            groups: Arc::new(groups),
            repeats: Arc::default(),
            answers: Answers::default(),
        }
    }

    /// Returns the Threads of the workspace.
    pub fn threads(&self) -> &Arc<Threads> {
        &self.threads
    }

    /// Returns the features of the server.
    pub fn services(&self) -> &Services {
        &self.services
    }
}

/// Serves one connection until it ends.
pub async fn serve(transport: Transport, endpoint: Endpoint, server: Arc<Server>) {
    serve_until(transport, endpoint, server, CancellationToken::new()).await;
}

/// As [`serve`]. Once `until` is cancelled, the client may no longer be connected.
pub async fn serve_until(
    transport: Transport,
    endpoint: Endpoint,
    server: Arc<Server>,
    until: CancellationToken,
) {
    let process = server.services.process.clone();
    let _open = process.as_ref().map(ServerProcess::connection);
    let options = ConnectionOptions {
        peer: options(&endpoint, &server.answers),
        handshake: match &endpoint {
            Endpoint::Stdio => None,
            Endpoint::Local(_) | Endpoint::WebSocket { .. } | Endpoint::Adapter(_) => Some(HANDSHAKE),
        },
        endpoint: format!("{endpoint:?}"),
        until,
    };
    let threads = server.threads.clone();
    let handler = Arc::new(NativeHandler {
        server,
        native: Mutex::new(None),
        one_answer: Arc::new(Semaphore::new(1)),
        held_back: Arc::default(),
        own_turns: matches!(&endpoint, Endpoint::Local(local) if local.ends_turns).then(Arc::default),
        endpoint,
    });
    bobbin_session::serve(transport, options, threads.ended(), handler).await;
}

fn options(endpoint: &Endpoint, answers: &Answers) -> PeerOptions {
    PeerOptions {
        eof_policy: match endpoint {
            Endpoint::Stdio | Endpoint::Local(_) => EofPolicy::DrainFirst(DRAIN),
            Endpoint::WebSocket { .. } | Endpoint::Adapter(_) => EofPolicy::CancelNow,
        },
        null_id: NullId::Notification,
        batches: Batches::Reject,
        parse_error_reply: ParseErrorReply::Always,
        oversize_reply: OversizeReply::Always,
        invalid_request_message: "Invalid request",
        max_running_requests: MAX_IN_FLIGHT,
        overload_error: errors::object(RpcError::overloaded(RETRY_AFTER_MS)),
        max_queue_bytes: MAX_QUEUE_BYTES,
        answer_budget: Some(answers.budget.clone()),
        write_stall_timeout: Some(WRITE_STALL),
        drain_timeout: Some(DRAIN),
        // An Item's question that was answered elsewhere is not taken back (04 §6); a dialog of an extension is.
        cancel_on_abandon: |method| method.starts_with("hermes/ui/"),
        ..PeerOptions::default()
    }
}

/// The state of one connection.
struct NativeHandler {
    server: Arc<Server>,
    endpoint: Endpoint,
    /// Present once `initialize` is answered. `initialized` comes next.
    native: Mutex<Option<Arc<Native>>>,
    /// The connection makes one large answer at a time.
    one_answer: Arc<Semaphore>,
    /// Answers that wait for other answers.
    held_back: Arc<AtomicUsize>,
    /// The Turns that the client has started, if they end with the connection.
    own_turns: Option<Arc<OwnTurns>>,
}

impl Handler for NativeHandler {
    type Client = Client;

    async fn request(&self, connection: &Connection<Client>, request: CallContext, responder: Responder) {
        if &*request.method == INITIALIZE {
            return self.initialize(connection, &request, responder);
        }
        match connection.client() {
            Some(client) => client::request(&client, request, responder).await,
            None => responder.err(errors::object(self.refusal())),
        }
    }

    async fn notification(&self, connection: &Connection<Client>, notification: NotificationContext) {
        match connection.client() {
            Some(client) => client::notification(&client, notification).await,
            None if &*notification.method == INITIALIZED => self.initialized(connection),
            None => {}
        }
    }

    async fn left(&self, client: Client) {
        if let Some(own) = &self.own_turns {
            own.end().await;
        }
        if let Some(asked) = &client.asked {
            asked.leave(&self.server.threads);
        }
        client.serving.leave(self.server.threads.clients());
    }
}

impl NativeHandler {
    fn initialize(&self, connection: &Connection<Client>, request: &CallContext, responder: Responder) {
        let native = match self.greet(request) {
            Ok(native) => native,
            Err(error) => return responder.err(errors::object(error)),
        };
        responder.ok(self.answer());
        for group in self.server.groups.iter() {
            (group.greeted)(
                &self.server,
                native.capabilities(),
                &self.endpoint,
                connection.peer(),
            );
        }
    }

    /// Reads a client's `initialize`. After a failure the client can try again.
    fn greet(&self, request: &CallContext) -> Result<Arc<Native>, RpcError> {
        let mut answered = self.native.lock();
        if answered.is_some() {
            return Err(RpcError::already_initialized());
        }
        let params: InitializeParams = lenient::params(request.params.as_deref())?;
        let name = &params.client_info.name;
        tracing::info!(client = &name[..name.floor_char_boundary(64)], "client connected");
        let native = Arc::new(Native::new(
            params,
            self.server.groups.clone(),
            self.endpoint.actor().clone(),
        ));
        *answered = Some(native.clone());
        Ok(native)
    }

    fn answer(&self) -> InitializeResult {
        let mut capabilities = ServerCapabilities::default();
        for group in self.server.groups.iter() {
            (group.capabilities)(&self.server, &mut capabilities);
        }
        InitializeResult {
            server_info: ServerInfo {
                name: "bobbin".to_owned(),
                version: self.server.services.version.to_owned(),
                protocol_version: PROTOCOL_VERSION.to_owned(),
                extensions: Some(vec!["acp".to_owned()]),
            },
            capabilities,
            dashboard_url: None,
            actor: self.endpoint.actor().person().cloned(),
        }
    }

    fn initialized(&self, connection: &Connection<Client>) {
        let Some(native) = self.native.lock().clone() else {
            return;
        };
        let peer = connection.peer().clone();
        let client = connection.open(self.server.threads.clone(), native.clone(), |session| Client {
            server: self.server.clone(),
            endpoint: self.endpoint.clone(),
            serving: Serving::new(peer.clone(), session.clone(), native.editor()),
            asked: Asked::of(native.capabilities(), &peer, &session),
            native,
            session,
            peer,
            reads: connection.tasks().clone(),
            one_answer: self.one_answer.clone(),
            held_back: self.held_back.clone(),
            own_turns: self.own_turns.clone(),
            once: None,
        });
        if let Some(asked) = &client.asked {
            asked.join(&self.server.threads);
        }
        for group in self.server.groups.iter() {
            (group.ready)(&client);
        }
    }

    /// Returns the error of a request that comes before the handshake is complete.
    fn refusal(&self) -> RpcError {
        match &*self.native.lock() {
            None => RpcError::not_initialized(),
            Some(_) => RpcError::invalid_request(
                "The handshake is incomplete: send the 'initialized' notification first.",
            ),
        }
    }
}
