//! The Hub's HTTP connections: accepted, bounded, checked, ended.
//!
//! Owns the task of each connection and joins it. At most [`MAX_CONNECTIONS`] are open. One more ends the oldest of
//! those that have not shown the token, so that other users of the machine cannot occupy all connections.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use bobbin_transport::{Access, Denied};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::HubError;

/// Connections at once (guess: a quarter of the usual open files).
const MAX_CONNECTIONS: usize = 256;
/// How long a request's head may take, or the next one on an open connection.
const HEAD: Duration = Duration::from_secs(10);
/// Pause after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(50);

/// One connection, for the handlers of its requests.
#[derive(Clone)]
pub(crate) struct Connection {
    /// Cancelled when the connection has to go.
    pub(crate) ended: CancellationToken,
    admitted: Arc<AtomicBool>,
}

/// Decides which clients the Hub answers: every user of this machine for the status, and holders of the token for all
/// else.
#[derive(Clone)]
pub(crate) struct Admission {
    pub(crate) status: Access,
    pub(crate) rest: Access,
}

/// Passes a request on if its client may make it.
pub(crate) async fn admit(
    State(admission): State<Admission>,
    Extension(connection): Extension<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let is_status = request.uri().path() == "/v1/status";
    let access = if is_status {
        &admission.status
    } else {
        &admission.rest
    };
    let denied = match access.check(request.uri(), request.headers()) {
        Ok(()) => {
            if !is_status {
                connection.admitted.store(true, Ordering::Relaxed);
            }
            return next.run(request).await;
        }
        Err(denied) => denied,
    };
    access.guesses().denied(denied).await;
    match denied {
        Denied::Host | Denied::Origin | Denied::PageHost | Denied::NoRole => {
            HubError::Forbidden.into_response()
        }
        Denied::NoToken | Denied::WrongToken | Denied::WrongTicket => HubError::Unauthorized.into_response(),
    }
}

/// Serves connections until `stop`; then each answers what it was asked and ends. Returns the tasks of the connections.
pub(crate) async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) -> TaskTracker {
    let tasks = TaskTracker::new();
    let mut open: VecDeque<Connection> = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        open.retain(|connection| !connection.ended.is_cancelled());
        if open.len() >= MAX_CONNECTIONS {
            let silent = open
                .iter()
                .position(|other| !other.admitted.load(Ordering::Relaxed));
            let Some(other) = silent.and_then(|place| open.remove(place)) else {
                continue;
            };
            other.ended.cancel();
        }
        let connection = Connection {
            ended: CancellationToken::new(),
            admitted: Arc::default(),
        };
        open.push_back(connection.clone());
        tasks.spawn(serve(stream, router.clone(), connection, stop.clone()));
    }
    tasks.close();
    tasks
}

async fn serve(stream: TcpStream, router: Router, connection: Connection, stop: CancellationToken) {
    // Small answers must not wait for more.
    drop(stream.set_nodelay(true));
    let ended = connection.ended.clone();
    let _ends = ended.clone().drop_guard();
    let router = router.layer(Extension(connection));
    let serving = http1::Builder::new()
        // A client may close its side behind its request and read the answer then.
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = ended.cancelled() => return,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                served = serving => served,
                () = ended.cancelled() => return,
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended badly");
    }
}
