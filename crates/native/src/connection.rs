//! One connection from its handshake to its end (AppServer protocol 01 §4).
//!
//! Owns the Peer, the Session and the tasks of slow reads, and joins them. Nothing is sent before the
//! client has said `initialized`: only then does the Session begin to pump.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::Hub;
use bobbin_framing::{Framing, Transport};
use bobbin_peer::{
    EofPolicy, Notification, NullId, Options, ParseErrorReply, Peer, PeerHandle, Request, Responder, Service,
    VersionCheck,
};
use bobbin_session::Session;
use bobbin_wire as wire;
use bobbin_wire::{RpcError, decode, method};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::dialect::Native;
use crate::errors;
use crate::methods::{self, Client};

/// Requests of one connection that may be unanswered at once (01 §11).
const MAX_IN_FLIGHT: usize = 32;
/// What an overloaded client is told to wait.
const RETRY_AFTER_MS: u64 = 250;
/// How long requests that were read before the end of input have to be answered.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a write may stand still.
const WRITE_STALL: Duration = Duration::from_secs(30);

/// What the server says about itself.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    /// Its version.
    pub version: String,
}

/// Serves one connection until it ends.
pub async fn serve(transport: Transport, hub: Arc<Hub>, identity: Arc<ServerIdentity>) {
    let parts = Arc::new(Parts {
        hub,
        identity,
        state: Mutex::new(State::Fresh),
        reads: TaskTracker::new(),
    });
    let options = options(transport.framing);
    let peer = Peer::start(transport, options, |peer| Connection {
        peer,
        parts: parts.clone(),
    });
    peer.closed().await;
    parts.reads.close();
    parts.reads.wait().await;
    let state = std::mem::replace(&mut *parts.state.lock(), State::Fresh);
    if let State::Ready { pump, .. } = state
        && let Err(error) = pump.await
    {
        tracing::error!(%error, "a pump ended badly");
    }
}

fn options(framing: Framing) -> Options {
    Options {
        eof: match framing {
            Framing::Lines | Framing::ContentLength => EofPolicy::DrainFirst(DRAIN),
            // The client is gone: nobody is left to answer.
            Framing::WebSocket => EofPolicy::CancelNow,
        },
        version: VersionCheck::Lenient,
        null_id: NullId::Notification,
        parse_error_reply: ParseErrorReply::AtMost(8),
        max_running_requests: MAX_IN_FLIGHT,
        overloaded: errors::object(RpcError::overloaded(RETRY_AFTER_MS)),
        write_stall: Some(WRITE_STALL),
        max_queue_bytes: 8 << 20,
        ..Options::default()
    }
}

/// What outlives the service of the Peer.
struct Parts {
    hub: Arc<Hub>,
    identity: Arc<ServerIdentity>,
    state: Mutex<State>,
    reads: TaskTracker,
}

enum State {
    /// Takes `initialize` only.
    Fresh,
    /// Waits for `initialized`.
    Answered(Arc<Native>),
    /// Takes everything else.
    Ready {
        native: Arc<Native>,
        session: Arc<Session>,
        pump: JoinHandle<()>,
    },
}

struct Connection {
    peer: PeerHandle,
    parts: Arc<Parts>,
}

impl Service for Connection {
    fn request(&self, request: Request, responder: Responder) -> BoxFuture<'_, ()> {
        async move {
            if request.method == method::request::INITIALIZE {
                match self.initialize(&request) {
                    Ok(result) => responder.ok(&result),
                    Err(error) => responder.err(&errors::object(error)),
                }
                return;
            }
            match self.client() {
                Ok(client) => methods::request(&client, request, responder).await,
                Err(error) => responder.err(&errors::object(error)),
            }
        }
        .boxed()
    }

    fn notification(&self, notification: Notification) -> BoxFuture<'_, ()> {
        async move {
            if notification.method == method::client_notification::INITIALIZED {
                self.initialized();
            } else if let Ok(client) = self.client() {
                methods::notification(&client, notification).await;
            }
        }
        .boxed()
    }
}

impl Connection {
    fn initialize(&self, request: &Request) -> Result<wire::InitializeResult, RpcError> {
        let mut state = self.parts.state.lock();
        if !matches!(*state, State::Fresh) {
            return Err(RpcError::already_initialized());
        }
        // A failure leaves the connection fresh, so that it can be tried again.
        let params: wire::InitializeParams = decode::params(request.params.as_deref())?;
        *state = State::Answered(Arc::new(Native::new(params)));
        Ok(wire::InitializeResult {
            server_info: wire::ServerInfo {
                name: "bobbin".to_owned(),
                version: self.parts.identity.version.clone(),
                protocol_version: wire::PROTOCOL_VERSION.to_owned(),
                extensions: None,
            },
            capabilities: wire::ServerCapabilities {
                thread_management: true,
                thread_subscriptions: true,
                approval_flow: true,
                mode_switch: true,
                config_override: true,
                server_stats: true,
                ..wire::ServerCapabilities::default()
            },
            dashboard_url: None,
        })
    }

    fn initialized(&self) {
        let mut state = self.parts.state.lock();
        let State::Answered(native) = &*state else { return };
        let native = native.clone();
        let (session, pump) = Session::start(self.peer.clone(), self.parts.hub.clone(), native.clone());
        *state = State::Ready {
            native,
            session,
            pump,
        };
    }

    fn client(&self) -> Result<Client, RpcError> {
        match &*self.parts.state.lock() {
            State::Fresh => Err(RpcError::not_initialized()),
            State::Answered(_) => Err(RpcError::invalid_request(
                "The handshake is incomplete: send the 'initialized' notification first.",
            )),
            State::Ready { native, session, .. } => Ok(Client {
                hub: self.parts.hub.clone(),
                native: native.clone(),
                session: session.clone(),
                peer: self.peer.clone(),
                reads: self.parts.reads.clone(),
            }),
        }
    }
}
