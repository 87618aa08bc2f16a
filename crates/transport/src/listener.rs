//! The WebSocket listener: `/healthz`, `/readyz` and the [`Route`]s it is given.
//!
//! Owns every connection's task and joins them. At most [`MAX_CONNECTIONS`] are served at once; one more is answered 503.
//! Before its upgrade a connection has [`UPGRADE_TIMEOUT`], and is one of [`MAX_WAITING`]: one more takes the place of
//! the oldest, so that a silent crowd keeps nobody out.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bobbin_framing::{BinaryFrames, Counted, Transport, WebSocketOptions, websocket_config};
use futures_util::future::BoxFuture;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Access;
use crate::access::Denied;

/// Connections at once: far above what a workspace sees, far below what a machine bears.
const MAX_CONNECTIONS: usize = 4096;
/// Connections that wait for their upgrade at once. A client takes a few milliseconds for its own; so many new ones in
/// that time are an attack, and take a quarter of the usual 1,024 descriptors.
const MAX_WAITING: usize = 256;
/// How long a connection has from its acceptance to its upgrade, or to the end of its answer.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);

const FOREIGN_HOST: &str = "The Host header names another server. Use the address that Bobbin prints, or list the \
                            host in AppServer.AllowedHosts of your own ~/.craft/config.json.\n";
const FOREIGN_ORIGIN: &str = "Pages of this origin may not connect. List the origin in AppServer.AllowedOrigins of your \
                              own ~/.craft/config.json.\n";
const NO_TOKEN: &str = "A token is required: ?token=TOKEN, or the header 'Authorization: Bearer TOKEN'. \
                        `bobbin token` prints it.\n";
const WRONG_TOKEN: &str = "The token is another one. `bobbin token` prints the one to use.\n";

/// Takes accepted connections.
pub trait Connections: Send + Sync + 'static {
    /// Serves one connection to its end.
    fn serve(&self, transport: Transport) -> BoxFuture<'static, ()>;
}

/// A path and who takes the connections that are made there.
#[derive(Clone)]
pub struct Route {
    /// The path, beginning with a slash.
    pub path: &'static str,
    /// Longest message in bytes that a client may send; longer ones close with 1009.
    pub max_message_bytes: usize,
    /// Who takes them.
    pub connections: Arc<dyn Connections>,
}

/// Why nobody can be listened to.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// A bound address.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    most: usize,
}

#[derive(Clone)]
struct Shared {
    access: Access,
    route: Route,
    room: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Listener {
    /// Binds an address; port 0 takes a free one.
    ///
    /// # Errors
    /// [`ListenError::Bind`].
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Bind { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self {
            socket,
            address,
            most: MAX_CONNECTIONS,
        })
    }

    /// Serves no more connections at once than this, where it is less than `MAX_CONNECTIONS`: a process may have few
    /// descriptors.
    #[must_use]
    pub fn with_most(mut self, connections: usize) -> Self {
        self.most = self.most.min(connections);
        self
    }

    /// Returns the address as bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts until told to stop, then waits for the connections to end. Who may connect is the same on
    /// every route.
    pub async fn run(self, access: Access, routes: Vec<Route>, stop: CancellationToken) {
        let tasks = TaskTracker::new();
        let room = Arc::new(Semaphore::new(self.most));
        let mut waiting = VecDeque::new();
        let mut router = Router::new()
            .route("/healthz", get(probe))
            .route("/readyz", get(probe));
        for route in routes {
            let path = route.path;
            let shared = Shared {
                access: access.clone(),
                route,
                room: room.clone(),
                tasks: tasks.clone(),
            };
            router = router.route(path, get(upgrade).with_state(shared));
        }
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Small answers must not wait for more: 40 ms stalls otherwise.
                    drop(stream.set_nodelay(true));
                    make_room(&mut waiting);
                    let serving = tasks.spawn(http(stream, router.clone(), stop.clone()));
                    waiting.push_back(serving.abort_handle());
                }
                Err(error) => {
                    // Out of descriptors, most likely: others may be given back in a moment.
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.socket);
        tasks.close();
        tasks.wait().await;
    }
}

/// Forgets connections that wait no more. Ends the oldest when the others are as many as may wait.
fn make_room(waiting: &mut VecDeque<AbortHandle>) {
    if waiting.len() >= MAX_WAITING {
        waiting.retain(|serving| !serving.is_finished());
    }
    if waiting.len() >= MAX_WAITING
        && let Some(oldest) = waiting.pop_front()
    {
        tracing::debug!("too many connections wait for their upgrade; the oldest is closed");
        oldest.abort();
    }
}

/// Serves the HTTP side of one socket: a probe, or the way to an upgrade. Ends with the upgrade.
async fn http(stream: tokio::net::TcpStream, router: Router, stop: CancellationToken) {
    let service = TowerToHyperService::new(router);
    let served = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        result = tokio::time::timeout(UPGRADE_TIMEOUT, served) => match result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "an HTTP connection ended badly"),
            Err(_) => tracing::debug!("a connection took too long to its upgrade"),
        },
        () = stop.cancelled() => {}
    }
}

async fn probe() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#)
}

async fn upgrade(State(shared): State<Shared>, mut request: Request) -> Response {
    if let Err(denied) = shared.access.check(request.uri(), request.headers()) {
        let (status, text) = match denied {
            Denied::Host => (StatusCode::FORBIDDEN, FOREIGN_HOST),
            Denied::Origin => (StatusCode::FORBIDDEN, FOREIGN_ORIGIN),
            Denied::NoToken => (StatusCode::UNAUTHORIZED, NO_TOKEN),
            Denied::WrongToken => {
                tokio::time::sleep(shared.access.delay()).await;
                (StatusCode::UNAUTHORIZED, WRONG_TOKEN)
            }
        };
        return (status, [(CONNECTION, "close")], text).into_response();
    }
    let Some(accept) = accept_key(request.headers()) else {
        return (StatusCode::BAD_REQUEST, "A WebSocket upgrade is required.\n").into_response();
    };
    let Ok(permit) = shared.room.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many connections.\n").into_response();
    };
    let upgraded = hyper::upgrade::on(&mut request);
    shared.tasks.clone().spawn(serve(upgraded, shared, permit));
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, accept)
        .body(Body::empty())
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// Returns the answer to a WebSocket handshake, if the request is one (RFC 6455 §4.2.1).
fn accept_key(headers: &HeaderMap) -> Option<String> {
    let holds = |name, wanted: &str| {
        let value = headers
            .get(name)
            .and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
        value.is_some_and(|value| {
            value
                .split(',')
                .any(|part| part.trim().eq_ignore_ascii_case(wanted))
        })
    };
    let asked =
        holds(UPGRADE, "websocket") && holds(CONNECTION, "upgrade") && holds(SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| asked)?;
    Some(derive_accept_key(key.as_bytes()))
}

async fn serve(
    upgraded: impl Future<Output = Result<hyper::upgrade::Upgraded, hyper::Error>>,
    shared: Shared,
    _permit: OwnedSemaphorePermit,
) {
    match upgraded.await {
        Ok(upgraded) => {
            let config = websocket_config(shared.route.max_message_bytes);
            // Counted: a far end that takes a large answer slowly is not one that takes nothing.
            let socket = Counted::new(TokioIo::new(upgraded));
            let stream = WebSocketStream::from_raw_socket(socket, Role::Server, Some(config)).await;
            let options = WebSocketOptions {
                binary: BinaryFrames::Ignore,
                ..WebSocketOptions::default()
            };
            shared
                .route
                .connections
                .serve(Transport::counted_websocket(stream, options))
                .await;
        }
        Err(error) => tracing::debug!(%error, "an upgrade did not happen"),
    }
}
