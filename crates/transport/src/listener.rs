//! The HTTP listener: serves a router to admitted clients, our page to browsers, and two probes to all.
//!
//! Owns every connection's task and joins them. A connection is plain HTTP at first, limited as `http` says. At most
//! [`MAX_HTTP`] are open. One more takes the place of the oldest that has had its time, so that many silent connections
//! cannot exclude others. An upgrade makes it a WebSocket (`web_socket`): at most [`MAX_WEB_SOCKETS`] are open; one
//! more is answered 503.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::future::BoxFuture;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::Http;
use crate::{Access, Tls, WebSockets, access, bind_loopbacks};

/// WebSockets at once: far more than a workspace has, far fewer than a machine can serve.
const MAX_WEB_SOCKETS: usize = 4096;
/// Plain HTTP connections at once. A client takes a few milliseconds to its upgrade; so many new ones in that time are an
/// attack, and take a quarter of the usual 1,024 descriptors.
const MAX_HTTP: usize = 256;
/// How long a connection has its place, however many wait: a client on a busy machine sends its request within that time.
/// A silent crowd is passed at 1,000 connections a second.
const GRACE: Duration = Duration::from_millis(250);
/// How long the server may take to say that it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// Says whether requests can be served now.
pub type Readiness = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// A bound address.
pub struct Listener {
    /// One, or the same port at several addresses of this machine.
    sockets: Vec<TcpListener>,
    address: SocketAddr,
    max_web_sockets: usize,
    /// Ends the WebSockets.
    cut: CancellationToken,
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
        Self::of(vec![socket]).map_err(failed)
    }

    /// Binds a loopback address together with the other ones to which names under `localhost` lead.
    ///
    /// # Errors
    /// [`ListenError::Bind`].
    pub async fn bind_loopbacks(address: SocketAddr) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Bind { address, source };
        Self::of(bind_loopbacks(address).await.map_err(failed)?).map_err(failed)
    }

    /// Takes over what another process has bound.
    ///
    /// # Errors
    /// There is no socket, or one cannot be used.
    pub fn inherited(sockets: Vec<std::net::TcpListener>) -> io::Result<Self> {
        let sockets = sockets.into_iter().map(|socket| {
            socket.set_nonblocking(true)?;
            TcpListener::from_std(socket)
        });
        Self::of(sockets.collect::<io::Result<_>>()?)
    }

    fn of(sockets: Vec<TcpListener>) -> io::Result<Self> {
        let first = sockets.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self {
            address: first.local_addr()?,
            sockets,
            max_web_sockets: MAX_WEB_SOCKETS,
            cut: CancellationToken::new(),
            page: Router::new(),
            tls: None,
        })
    }

    /// Ends every WebSocket once `cut` is cancelled, with an end of nothing else.
    #[must_use]
    pub fn with_cut(mut self, cut: CancellationToken) -> Self {
        self.cut = cut;
        self
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

    /// Serves `router` to clients that `access` admits, and the probes to all, until `stop`. Then waits for the
    /// connections to end.
    ///
    /// `/healthz` answers as long as the process lives, `/readyz` says what `is_ready` says.
    pub async fn run(
        mut self,
        access: Access,
        router: Router<WebSockets>,
        is_ready: Readiness,
        stop: CancellationToken,
    ) {
        let tasks = TaskTracker::new();
        let mut places = Places::new();
        let router = router
            .with_state(WebSockets::new(self.max_web_sockets, tasks.clone(), self.cut))
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
                accepted = accept(&mut self.sockets) => accepted,
            };
            match accepted {
                Ok(stream) => {
                    let place = tokio::select! {
                        () = stop.cancelled() => break,
                        place = places.one() => place,
                    };
                    // Small answers must not wait for more: 40 ms stalls otherwise.
                    drop(stream.set_nodelay(true));
                    let serving = http.clone().serve(stream, stop.clone());
                    let serving = tasks.spawn(async move {
                        let _place = place;
                        serving.await;
                    });
                    places.taken.push_back((Instant::now(), serving.abort_handle()));
                }
                Err(error) => {
                    // Out of descriptors, most likely: others may be given back in a moment.
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.sockets);
        tasks.close();
        tasks.wait().await;
    }
}

/// The plain HTTP connections of a listener.
struct Places {
    free: Arc<Semaphore>,
    /// When each was accepted, in that order. Some have ended.
    taken: VecDeque<(Instant, AbortHandle)>,
}

impl Places {
    fn new() -> Self {
        Self {
            free: Arc::new(Semaphore::new(MAX_HTTP)),
            taken: VecDeque::new(),
        }
    }

    /// Waits for a place. When all are taken, ends the oldest connection once it has had [`GRACE`]; new ones wait in the
    /// queues of the sockets meanwhile.
    ///
    /// # Cancel safety
    /// Safe.
    async fn one(&mut self) -> Option<OwnedSemaphorePermit> {
        if self.taken.len() >= 2 * MAX_HTTP {
            self.taken.retain(|(_, serving)| !serving.is_finished());
        }
        while self
            .taken
            .front()
            .is_some_and(|(_, serving)| serving.is_finished())
        {
            self.taken.pop_front();
        }
        let oldest = self.taken.front();
        let over = oldest.map_or_else(Instant::now, |(since, _)| *since + GRACE);
        let free = self.free.clone().acquire_owned();
        tokio::pin!(free);
        tokio::select! {
            biased;
            place = &mut free => return place.ok(),
            () = tokio::time::sleep_until(over) => {}
        }
        if let Some((_, oldest)) = self.taken.pop_front() {
            tracing::debug!("too many connections wait for their upgrade; the oldest is closed");
            oldest.abort();
        }
        free.await.ok()
    }
}

/// Returns the next connection of any socket. The sockets come first in turn, so that many connections at one socket do
/// not delay the others.
///
/// # Cancel safety
/// Safe.
async fn accept(sockets: &mut [TcpListener]) -> io::Result<TcpStream> {
    sockets.rotate_left(1);
    let accepted = poll_fn(|cx| {
        for socket in &*sockets {
            if let Poll::Ready(accepted) = socket.poll_accept(cx) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    });
    accepted.await.map(|(stream, _)| stream)
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
