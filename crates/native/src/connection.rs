//! One connection from its handshake to its end (AppServer protocol 01 §4).
//!
//! It owns the Peer, the Session and the tasks of slow reads, and joins them. The Session starts to pump at the
//! client's `initialized`; nothing is sent before that.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use bobbin_agent_api::{ServerProcess, Services};
use bobbin_core::Threads;
use bobbin_model::ClientKeys;
use bobbin_peer::{
    Batches, CallContext, EofPolicy, Handlers, Mode, NotificationContext, NullId, OversizeReply,
    ParseErrorReply, Peer, PeerHandle, PeerOptions, Responder, Transport,
};
use bobbin_session::Session;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::answers::Answers;
use crate::client::{self, Client};
use crate::dialect::Native;
use crate::errors;
use crate::group::Groups;
use crate::groups::handshake::capabilities::ServerCapabilities;
use crate::groups::handshake::types::{InitializeParams, InitializeResult, PROTOCOL_VERSION, ServerInfo};
use crate::groups::handshake::{INITIALIZE, INITIALIZED};
use crate::groups::serving::connection::Serving;
use crate::own_turns::OwnTurns;
use crate::repeats::Repeats;
use crate::wire::{RpcError, decode};

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
/// The one lane of a connection: requests and notifications are served in the order they came.
const LANE: &str = "native";

/// The endpoint through which a client came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The server's stdin and stdout. All requests read are answered before the end.
    Stdio,
    /// The workspace's socket, for programs of its user. All requests read are answered before the end.
    Local(LocalClient),
    /// A WebSocket. A client that is gone needs no answer.
    WebSocket,
    /// The pipes of an adapter that the server started for the external channel of this name.
    Adapter(Arc<str>),
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
    let process = server.services.process.clone();
    let _open = process.as_ref().map(ServerProcess::connection);
    let parts = Arc::new(Parts {
        server,
        endpoint: endpoint.clone(),
        state: Mutex::new(State::Fresh),
        reads: TaskTracker::new(),
        one_answer: Arc::new(Semaphore::new(1)),
        held_back: Arc::default(),
        own_turns: matches!(&endpoint, Endpoint::Local(local) if local.ends_turns).then(Arc::default),
    });
    let started = Peer::start(transport, options(&endpoint, &parts.server.answers), |peer| {
        handlers(peer, parts.clone())
    });
    let peer = match started {
        Ok(peer) => peer,
        Err(error) => return tracing::error!(%error, "a connection cannot be served"),
    };
    let handshake = async {
        match &endpoint {
            Endpoint::Stdio => std::future::pending().await,
            Endpoint::Local(_) | Endpoint::WebSocket | Endpoint::Adapter(_) => {
                tokio::time::sleep(HANDSHAKE).await;
            }
        }
        if parts.is_ready() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = peer.closed() => {}
        () = handshake => {
            peer.close_with(1008, "initialize and initialized did not come within 30 seconds");
            peer.closed().await;
        }
        () = parts.server.threads.ended() => {
            // A client in the middle of its handshake has no pump to end it.
            if !parts.is_ready() {
                peer.close_with(1000, "Server shutting down");
            }
            peer.closed().await;
        }
    }
    let stats = peer.stats();
    tracing::info!(
        ?endpoint,
        ms = stats.uptime_ms,
        messages_read = stats.messages_read,
        messages_written = stats.messages_written,
        "connection ended"
    );
    if let Some(own) = &parts.own_turns {
        own.end().await;
    }
    parts.reads.close();
    parts.reads.wait().await;
    let state = std::mem::replace(&mut *parts.state.lock(), State::Fresh);
    if let State::Ready { pump, serving, .. } = state {
        serving.leave(parts.server.threads.clients());
        if let Err(error) = pump.await {
            tracing::error!(%error, "a pump ended badly");
        }
    }
}

fn options(endpoint: &Endpoint, answers: &Answers) -> PeerOptions {
    PeerOptions {
        eof_policy: match endpoint {
            Endpoint::Stdio | Endpoint::Local(_) => EofPolicy::DrainFirst(DRAIN),
            Endpoint::WebSocket | Endpoint::Adapter(_) => EofPolicy::CancelNow,
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

fn handlers(peer: PeerHandle, parts: Arc<Parts>) -> Handlers {
    let connection = Arc::new(Connection { peer, parts });
    let other = connection.clone();
    Handlers::new()
        .fallback_call_deferred(Mode::ordered(LANE), move |cx, responder| {
            let connection = connection.clone();
            async move { connection.request(cx, responder).await }
        })
        .fallback_notification_deferred(Mode::ordered(LANE), move |cx| {
            let connection = other.clone();
            async move { connection.notification(cx).await }
        })
}

/// The state that outlives the service of the Peer.
struct Parts {
    server: Arc<Server>,
    endpoint: Endpoint,
    state: Mutex<State>,
    reads: TaskTracker,
    /// The connection makes one large answer at a time.
    one_answer: Arc<Semaphore>,
    /// Answers that wait for other answers.
    held_back: Arc<AtomicUsize>,
    /// The Turns that the client has started, if they end with the connection.
    own_turns: Option<Arc<OwnTurns>>,
}

impl Parts {
    /// Whether the handshake is done.
    fn is_ready(&self) -> bool {
        matches!(*self.state.lock(), State::Ready { .. })
    }
}

enum State {
    /// Takes `initialize` only.
    Fresh,
    /// Waits for `initialized`.
    Answered(Arc<Native>),
    /// Takes everything else.
    Ready {
        native: Arc<Native>,
        serving: Arc<Serving>,
        session: Arc<Session>,
        pump: JoinHandle<()>,
    },
}

struct Connection {
    peer: PeerHandle,
    parts: Arc<Parts>,
}

impl Connection {
    async fn request(&self, request: CallContext, responder: Responder) {
        if &*request.method == INITIALIZE {
            match self.initialize(&request) {
                Ok(result) => {
                    responder.ok(result);
                    self.greeted();
                }
                Err(error) => responder.err(errors::object(error)),
            }
            return;
        }
        match self.client() {
            Ok(client) => client::request(&client, request, responder).await,
            Err(error) => responder.err(errors::object(error)),
        }
    }

    async fn notification(&self, notification: NotificationContext) {
        if &*notification.method == INITIALIZED {
            self.initialized();
        } else if let Ok(client) = self.client() {
            client::notification(&client, notification).await;
        }
    }

    fn initialize(&self, request: &CallContext) -> Result<InitializeResult, RpcError> {
        let mut state = self.parts.state.lock();
        if !matches!(*state, State::Fresh) {
            return Err(RpcError::already_initialized());
        }
        // A failure leaves the connection fresh, so the client can try again.
        let params: InitializeParams = decode::params(request.params.as_deref())?;
        let name = &params.client_info.name;
        tracing::info!(client = &name[..name.floor_char_boundary(64)], "client connected");
        let server = &self.parts.server;
        *state = State::Answered(Arc::new(Native::new(params, server.groups.clone())));
        let mut capabilities = ServerCapabilities::default();
        for group in server.groups.iter() {
            (group.capabilities)(server, &mut capabilities);
        }
        Ok(InitializeResult {
            server_info: ServerInfo {
                name: "bobbin".to_owned(),
                version: server.services.version.to_owned(),
                protocol_version: PROTOCOL_VERSION.to_owned(),
                extensions: Some(vec!["acp".to_owned()]),
            },
            capabilities,
            dashboard_url: None,
        })
    }

    /// Calls each group's `greeted`, after `initialize` has been answered.
    fn greeted(&self) {
        let native = match &*self.parts.state.lock() {
            State::Answered(native) => native.clone(),
            State::Fresh | State::Ready { .. } => return,
        };
        let server = &self.parts.server;
        for group in server.groups.iter() {
            (group.greeted)(server, native.capabilities(), &self.parts.endpoint, &self.peer);
        }
    }

    fn initialized(&self) {
        let mut state = self.parts.state.lock();
        let State::Answered(native) = &*state else { return };
        let native = native.clone();
        let (session, pump) = Session::start(
            self.peer.clone(),
            self.parts.server.threads.clone(),
            native.clone(),
        );
        let serving = Serving::new(self.peer.clone(), session.clone(), native.editor());
        *state = State::Ready {
            native,
            serving,
            session,
            pump,
        };
        drop(state);
        if let Ok(client) = self.client() {
            for group in self.parts.server.groups.iter() {
                (group.ready)(&client);
            }
        }
    }

    fn client(&self) -> Result<Client, RpcError> {
        match &*self.parts.state.lock() {
            State::Fresh => Err(RpcError::not_initialized()),
            State::Answered(_) => Err(RpcError::invalid_request(
                "The handshake is incomplete: send the 'initialized' notification first.",
            )),
            State::Ready {
                native,
                serving,
                session,
                ..
            } => Ok(Client {
                server: self.parts.server.clone(),
                native: native.clone(),
                endpoint: self.parts.endpoint.clone(),
                serving: serving.clone(),
                session: session.clone(),
                peer: self.peer.clone(),
                reads: self.parts.reads.clone(),
                one_answer: self.parts.one_answer.clone(),
                held_back: self.parts.held_back.clone(),
                own_turns: self.parts.own_turns.clone(),
                once: None,
            }),
        }
    }
}
