//! A route that upgrades to a WebSocket and hands the connection over.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use bobbin_framing::{BinaryFrames, Counted, Transport, WebSocketOptions, websocket_config};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Private;
use crate::cut::Cut;
use crate::{Admitted, Caller, Connections};

/// How long a client that may no longer be connected has, to read the reason.
const FAREWELL: Duration = Duration::from_millis(250);

/// The WebSockets of one listener: how many may be open, and their tasks.
#[derive(Debug, Clone)]
pub struct WebSockets {
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
    cut: CancellationToken,
}

impl WebSockets {
    pub(crate) fn new(most: usize, tasks: TaskTracker, cut: CancellationToken) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(most)),
            tasks,
            cut,
        }
    }
}

/// Returns a route that hands each WebSocket to `connections`. A message over `max_message_bytes` closes its connection
/// with 1009.
pub fn web_socket(max_message_bytes: usize, connections: Arc<dyn Connections>) -> MethodRouter<WebSockets> {
    get(
        move |State(sockets): State<WebSockets>, request: Request| async move {
            upgrade(&sockets, request, max_message_bytes, connections)
        },
    )
}

/// As [`web_socket`], for connections that the path of a request chooses. Where it chooses none, the answer is 404.
pub fn web_socket_by<Choose>(max_message_bytes: usize, choose: Choose) -> MethodRouter<WebSockets>
where
    Choose: Fn(&str) -> Option<Arc<dyn Connections>> + Clone + Send + Sync + 'static,
{
    get(
        move |State(sockets): State<WebSockets>, request: Request| async move {
            match choose(request.uri().path()) {
                Some(connections) => upgrade(&sockets, request, max_message_bytes, connections),
                None => (StatusCode::NOT_FOUND, "Nothing is served here.\n").into_response(),
            }
        },
    )
}

fn upgrade(
    sockets: &WebSockets,
    mut request: Request,
    max_message_bytes: usize,
    connections: Arc<dyn Connections>,
) -> Response {
    let Some(accept) = accept_key(request.headers()) else {
        return (StatusCode::BAD_REQUEST, "A WebSocket upgrade is required.\n").into_response();
    };
    let Ok(permit) = sockets.permits.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many connections.\n").into_response();
    };
    let upgraded = hyper::upgrade::on(&mut request);
    let is_private = request.extensions().get::<Private>().is_some();
    let Some(Admitted { actor, until }) = request.extensions_mut().remove() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let caller = Caller {
        actor,
        until: until.clone(),
        is_private,
    };
    let (gone, cut) = (CancellationToken::new(), sockets.cut.clone());
    let cuts = (gone.clone(), cut);
    sockets.tasks.spawn(async move {
        let _permit = permit;
        let farewell = async {
            until.cancelled().await;
            tokio::time::sleep(FAREWELL).await;
            gone.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = serve(upgraded, cuts, max_message_bytes, (&*connections, caller)) => {}
            () = farewell => {}
        }
    });
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
    let has = |name: HeaderName, wanted: &str| {
        let value = headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok());
        value.is_some_and(|value| {
            value
                .split(',')
                .any(|part| part.trim().eq_ignore_ascii_case(wanted))
        })
    };
    let is_handshake =
        has(UPGRADE, "websocket") && has(CONNECTION, "upgrade") && has(SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_handshake)?;
    Some(derive_accept_key(key.as_bytes()))
}

async fn serve(
    upgraded: impl Future<Output = Result<hyper::upgrade::Upgraded, hyper::Error>>,
    (gone, cut): (CancellationToken, CancellationToken),
    max_message_bytes: usize,
    (connections, caller): (&dyn Connections, Caller),
) {
    let upgraded = match upgraded.await {
        Ok(upgraded) => upgraded,
        Err(error) => return tracing::debug!(%error, "an upgrade did not happen"),
    };
    let config = websocket_config(max_message_bytes);
    // Counted: a client that takes a large answer slowly is not one that takes nothing.
    let socket = Counted::new(Cut::new(Cut::new(TokioIo::new(upgraded), gone), cut));
    let stream = WebSocketStream::from_raw_socket(socket, Role::Server, Some(config)).await;
    let options = WebSocketOptions {
        binary: BinaryFrames::Ignore,
        ..WebSocketOptions::default()
    };
    connections
        .serve(Transport::counted_websocket(stream, options), caller)
        .await;
}
