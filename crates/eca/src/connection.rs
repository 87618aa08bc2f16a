//! One connection from its handshake to its end (section 4).
//!
//! Owns the Peer, the Session and the tasks of slow reads, and joins them. `initialize` opens the core, because the
//! client names the workspace there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bobbin_editor_kit::Host;
use bobbin_model::Mode;
use bobbin_peer::{
    CallContext, EofPolicy, ErrorObject, Handlers, Mode as Order, NotificationContext, OversizeReply, Peer,
    PeerHandle, PeerOptions, Responder, Transport,
};
use bobbin_session::Session;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::diagnostics::PeerDiagnostics;
use crate::dialect::Eca;
use crate::methods::{self, Client};
use crate::wire::lifecycle::{InitializeParams, InitializeResult, ServerInfo};
use crate::wire::{self, behavior};
use crate::{errors, handshake};

/// Most unanswered requests of one connection.
const MAX_IN_FLIGHT: usize = 32;
/// Time to answer requests that were read before the end (4.5).
const DRAIN: Duration = Duration::from_secs(2);
/// Longest time that a write may stall.
const WRITE_STALL: Duration = Duration::from_secs(30);
/// Most bytes in the write queue before the client's input is paused.
const MAX_QUEUE_BYTES: usize = 8 << 20;
/// Bytes of messages in one write. With headers they are less than the 32 KiB that some clients read at once (2.3).
const FLUSH_BYTES: usize = 24 << 10;
/// The only lane of a connection, so that messages are served in their order (section 22 rule 5).
const LANE: &str = "eca";

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client sent `exit`.
    Exited {
        /// Whether it came after an answered `shutdown`, as it should.
        after_shutdown: bool,
    },
    /// Its input ended, or the server closed it.
    Closed,
    /// The workspace could not be opened. The client got the reason.
    Refused,
}

/// Serves one connection until it ends.
pub async fn serve(transport: Transport, host: Arc<dyn Host>) -> End {
    let parts = Arc::new(Parts {
        host,
        state: Mutex::new(State::Fresh),
        end: Mutex::new(None),
        ending: CancellationToken::new(),
        tasks: TaskTracker::new(),
    });
    let peer = match Peer::start(transport, options(), |peer| handlers(peer, parts.clone())) {
        Ok(peer) => peer,
        Err(error) => {
            tracing::error!(%error, "a connection cannot be served");
            return End::Closed;
        }
    };
    let handshake = async {
        match parts.host.handshake() {
            None => std::future::pending().await,
            Some(limit) => tokio::time::sleep(limit).await,
        }
        if !parts.is_fresh() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = peer.closed() => {}
        () = handshake => {
            peer.close_with(1008, "initialize did not come in time");
            peer.closed().await;
        }
        () = parts.ending.cancelled() => {
            peer.close_with(1000, "");
            peer.closed().await;
        }
        () = parts.host.ended() => {
            // Before its handshake a client has no pump that would end the connection.
            if parts.is_fresh() {
                peer.close_with(1000, "Server shutting down");
            }
            peer.closed().await;
        }
    }
    let stats = peer.stats();
    tracing::info!(
        endpoint = "Eca",
        ms = stats.uptime_ms,
        messages_read = stats.messages_read,
        messages_written = stats.messages_written,
        "connection ended"
    );
    parts.ending.cancel();
    parts.tasks.close();
    parts.tasks.wait().await;
    let state = std::mem::replace(&mut *parts.state.lock(), State::Fresh);
    if let State::Open { pump, .. } = state
        && let Err(error) = pump.await
    {
        tracing::error!(%error, "a pump ended badly");
    }
    let end = parts.end.lock().take();
    end.unwrap_or(End::Closed)
}

fn options() -> PeerOptions {
    PeerOptions {
        eof_policy: EofPolicy::DrainFirst(DRAIN),
        oversize_reply: OversizeReply::Always,
        max_running_requests: MAX_IN_FLIGHT,
        overload_error: errors::overloaded(),
        max_queue_bytes: MAX_QUEUE_BYTES,
        flush_bytes: FLUSH_BYTES,
        write_stall_timeout: Some(WRITE_STALL),
        drain_timeout: Some(DRAIN),
        ..PeerOptions::default()
    }
}

fn handlers(peer: PeerHandle, parts: Arc<Parts>) -> Handlers {
    let connection = Arc::new(Connection { peer, parts });
    let other = connection.clone();
    Handlers::new()
        .fallback_call_deferred(Order::ordered(LANE), move |cx, responder| {
            let connection = connection.clone();
            async move { connection.request(cx, responder).await }
        })
        .fallback_notification_deferred(Order::ordered(LANE), move |cx| {
            let connection = other.clone();
            async move { connection.notification(cx).await }
        })
}

/// The state that outlives the service of the Peer.
struct Parts {
    host: Arc<dyn Host>,
    state: Mutex<State>,
    end: Mutex<Option<End>>,
    ending: CancellationToken,
    tasks: TaskTracker,
}

impl Parts {
    /// Whether no workspace has been opened for this connection.
    fn is_fresh(&self) -> bool {
        matches!(*self.state.lock(), State::Fresh)
    }

    /// Ends the connection. The first reason counts.
    fn end(&self, end: End) {
        self.end.lock().get_or_insert(end);
        self.ending.cancel();
    }
}

/// The state of a connection (4.1).
enum State {
    /// Accepts `initialize` and `exit` only.
    Fresh,
    /// Accepts everything. Nothing is pushed before `initialized`.
    Open {
        client: Client,
        ready: bool,
        pump: JoinHandle<()>,
    },
}

struct Connection {
    peer: PeerHandle,
    parts: Arc<Parts>,
}

impl Connection {
    async fn request(&self, request: CallContext, responder: Responder) {
        if &*request.method == "initialize" {
            self.initialize(&request, responder).await;
            return;
        }
        let Some(client) = self.client() else {
            return responder.err(errors::not_initialized());
        };
        if client.eca.shutting_down.load(Ordering::Acquire) {
            return responder.err(errors::invalid_request("The server has been shut down"));
        }
        if &*request.method == "shutdown" {
            // The server belongs to the workspace, so it goes on with the client's Turns. The connection stays for
            // `exit`.
            client.eca.shutting_down.store(true, Ordering::Release);
            return responder.ok(());
        }
        methods::request(&client, &request, responder).await;
    }

    async fn notification(&self, notification: NotificationContext) {
        let client = self.client();
        if &*notification.method == "exit" {
            let shut = |client: &Client| client.eca.shutting_down.load(Ordering::Acquire);
            let after_shutdown = client.as_ref().is_some_and(shut);
            self.parts.end(End::Exited { after_shutdown });
            return;
        }
        let Some(client) = client else { return };
        if client.eca.shutting_down.load(Ordering::Acquire) {
            return;
        }
        if &*notification.method == "initialized" {
            if self.becomes_ready() {
                methods::greet(&client).await;
            }
        } else {
            methods::notification(&client, &notification).await;
        }
    }

    async fn initialize(&self, request: &CallContext, responder: Responder) {
        if self.client().is_some() {
            return responder.err(errors::invalid_request("Already initialized"));
        }
        match self.open(request).await {
            Ok(client) => {
                let (mode, model) = client.chosen();
                let models = client.offer.models.known();
                client.eca.known_models.lock().clone_from(&models);
                responder.ok(InitializeResult {
                    chat_welcome_message: methods::WELCOME,
                    models: &models,
                    chat_default_model: &model,
                    chat_behaviors: [behavior(Mode::Agent), behavior(Mode::Plan)],
                    chat_default_behavior: behavior(mode),
                    server_info: ServerInfo {
                        name: "bobbin",
                        version: self.parts.host.version(),
                    },
                });
            }
            Err(error) => responder.err(error),
        }
    }

    async fn open(&self, request: &CallContext) -> Result<Client, ErrorObject> {
        let params: InitializeParams = wire::params(request.params.as_deref())?;
        let wanted = handshake::wanted(&params);
        let mut offer = self.parts.host.open(wanted).await.map_err(|failure| {
            // The connection is useless, so it ends after the answer.
            self.parts.end(End::Refused);
            errors::cannot_open(failure.0)
        })?;
        offer.notices.extend(handshake::notices(&params));
        let folders = params.workspace_folders.as_deref().unwrap_or_default();
        let further = handshake::roots(folders)
            .skip(1)
            .take(methods::MAX_FOLDERS)
            .collect();
        let options = params.initialization_options.unwrap_or_default();
        let capabilities = params.capabilities.unwrap_or_default();
        let is_current = capabilities.are_current() || options.chat_agent.is_some();
        let chosen = handshake::chosen(options, &offer);
        let name = params
            .client_info
            .and_then(|info| info.name)
            .unwrap_or_else(|| "eca".to_owned());
        let eca = Arc::new(Eca::new(name, chosen, capabilities.asks_questions()));
        if is_current {
            eca.speaks_currently();
        }
        *eca.further_folders.lock() = further;
        let (session, pump) = Session::start(self.peer.clone(), offer.threads.clone(), eca.clone());
        let editor = capabilities
            .has_diagnostics()
            .then(|| Arc::new(PeerDiagnostics(self.peer.clone())))
            .map(|editor| Arc::new(offer.editor_tools.clone().connect(editor)));
        let client = Client {
            editor,
            offer: Arc::new(offer),
            eca,
            session,
            peer: self.peer.clone(),
            tasks: self.parts.tasks.clone(),
        };
        *self.parts.state.lock() = State::Open {
            client: client.clone(),
            ready: false,
            pump,
        };
        Ok(client)
    }

    fn client(&self) -> Option<Client> {
        match &*self.parts.state.lock() {
            State::Fresh => None,
            State::Open { client, .. } => Some(client.clone()),
        }
    }

    /// Whether this is the first `initialized`.
    fn becomes_ready(&self) -> bool {
        match &mut *self.parts.state.lock() {
            State::Open { ready, .. } => !std::mem::replace(ready, true),
            State::Fresh => false,
        }
    }
}
