//! The HTTP listener: serves a router to those who may connect, our page to browsers, and two probes to everybody.
//!
//! Owns every connection's task and joins them. A connection is plain HTTP at first, limited as `http` says. At most
//! [`MAX_HTTP`] are open; one more takes the place of the oldest, so that a silent crowd keeps nobody out. An upgrade makes it
//! a WebSocket (`web_socket`): at most [`MAX_WEB_SOCKETS`] are open; one more is answered 503.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::Http;
use crate::{Access, Tls, WebSockets, access};

/// WebSockets at once: far above what a workspace sees, far below what a machine bears.
const MAX_WEB_SOCKETS: usize = 4096;
/// Plain HTTP connections at once. A client takes a few milliseconds to its upgrade; so many new ones in that time are an
/// attack, and take a quarter of the usual 1,024 descriptors.
const MAX_HTTP: usize = 256;
/// How long the server may take to say that it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// Says whether requests can be served now.
pub type Readiness = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// Why an address cannot be listened on.
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
    max_web_sockets: usize,
    page: Router,
    tls: Option<Arc<Tls>>,
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
            max_web_sockets: MAX_WEB_SOCKETS,
            page: Router::new(),
            tls: None,
        })
    }

    /// Serves no more WebSockets at once than this, where it is less than `MAX_WEB_SOCKETS`: a process may have few
    /// descriptors.
    #[must_use]
    pub fn with_max_web_sockets(mut self, most: usize) -> Self {
        self.max_web_sockets = self.max_web_sockets.min(most);
        self
    }

    /// Serves a router to our own page too: without a token, and with the same checks of host and origin. A request that is
    /// not a GET has to name its origin.
    #[must_use]
    pub fn with_page(mut self, page: Router) -> Self {
        self.page = page;
        self
    }

    /// Speaks TLS with other machines. Clients of this machine may do so.
    #[must_use]
    pub fn with_tls(mut self, tls: Option<Tls>) -> Self {
        self.tls = tls.map(Arc::new);
        self
    }

    /// Returns the address as bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `router` to those that `access` lets in, and the probes to everybody, until `stop`. Then waits for the
    /// connections to end.
    ///
    /// `/healthz` answers as long as the process lives, `/readyz` says what `is_ready` says.
    pub async fn run(
        self,
        access: Access,
        router: Router<WebSockets>,
        is_ready: Readiness,
        stop: CancellationToken,
    ) {
        let tasks = TaskTracker::new();
        let mut open = VecDeque::new();
        let router = router
            .with_state(WebSockets::new(self.max_web_sockets, tasks.clone()))
            // A layer covers what was added before it: everything but the page and the probes, unknown paths too.
            .layer(from_fn_with_state(access.clone(), access::require));
        let page = self.page.layer(from_fn_with_state(access, access::require_own));
        // In this order: unknown paths are those of the router that wants a token.
        let router = page
            .merge(router)
            .route("/healthz", get(healthz))
            .route("/readyz", get(move || readyz(is_ready)));
        let http = Arc::new(Http {
            router,
            tls: self.tls,
        });
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Small answers must not wait for more: 40 ms stalls otherwise.
                    drop(stream.set_nodelay(true));
                    close_oldest(&mut open);
                    let serving = tasks.spawn(http.clone().serve(stream, stop.clone()));
                    open.push_back(serving.abort_handle());
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

/// Makes room for one more plain HTTP connection. Ends the oldest when as many are open as may be.
fn close_oldest(open: &mut VecDeque<AbortHandle>) {
    if open.len() >= MAX_HTTP {
        open.retain(|serving| !serving.is_finished());
    }
    if open.len() >= MAX_HTTP
        && let Some(oldest) = open.pop_front()
    {
        tracing::debug!("too many connections wait for their upgrade; the oldest is closed");
        oldest.abort();
    }
}

async fn healthz() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#)
}

async fn readyz(is_ready: Readiness) -> impl IntoResponse {
    let ready = tokio::time::timeout(READY_TIMEOUT, is_ready()).await;
    let (status, body) = match ready {
        Ok(true) => (StatusCode::OK, r#"{"status":"ok"}"#),
        Ok(false) | Err(_) => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"unavailable"}"#),
    };
    (status, [(CONTENT_TYPE, "application/json")], body)
}

#[cfg(test)]
mod tests;
