//! One accepted connection up to its upgrade: TLS or not, then HTTP/1.1 within limits of time.
//!
//! A connection has [`TIMEOUT`] to its first answer. Then it has to take bytes of an answer every [`PROGRESS`]: a page may
//! take minutes over a slow link. Bytes that a client sends are no progress.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderMap, StatusCode, Uri};
use bobbin_framing::{Counted, Counts};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::Tls;
use crate::access::{Private, Scheme};

/// How long a connection has from its acceptance to its upgrade or its first answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may stand still, and how long a connection may be without a request, as with WebSockets.
const PROGRESS: Duration = Duration::from_secs(30);
/// The path to which a WebSocket at `/` belongs: there are clients that can name no path, and `/` is the page.
pub const ROOT_WEB_SOCKET: &str = "/codex";
/// The first byte of a TLS connection: a record of its handshake.
const HANDSHAKE: u8 = 22;
const NO_TLS: &str = "This address speaks TLS: use https:// or wss://.\n";

/// The router and the TLS of every connection of a listener.
pub(crate) struct Http {
    pub(crate) router: Router,
    pub(crate) tls: Option<Arc<Tls>>,
}

impl Http {
    /// Serves the HTTP side of one socket. Ends with the upgrade.
    pub(crate) async fn serve(self: Arc<Self>, stream: TcpStream, stop: CancellationToken) {
        let stream = Counted::new(stream);
        let counts = stream.counts();
        tokio::select! {
            () = within_limits(&counts, self.connection(stream)) => {}
            () = stop.cancelled() => {}
        }
    }

    async fn connection(&self, stream: Counted<TcpStream>) {
        let served = match &self.tls {
            None => self.plain(stream).await,
            Some(tls) => self.either(tls.clone(), stream).await,
        };
        if let Err(error) = served {
            tracing::debug!(%error, "an HTTP connection ended badly");
        }
    }

    /// Serves a connection of a listener without TLS.
    async fn plain(&self, stream: Counted<TcpStream>) -> io::Result<()> {
        let socket = stream.get_ref();
        let is_private = is_same_machine(socket.local_addr()?, socket.peer_addr()?);
        speak(
            stream,
            Scheme::Http,
            is_private.then_some(Private),
            self.router.clone(),
        )
        .await
    }

    /// Serves a connection of a listener with TLS. A client of this machine may leave TLS out: its bytes reach no network.
    async fn either(&self, tls: Arc<Tls>, stream: Counted<TcpStream>) -> io::Result<()> {
        let mut first = [0];
        stream.get_ref().peek(&mut first).await?;
        if first[0] == HANDSHAKE {
            let acceptor = tokio::task::spawn_blocking(move || tls.acceptor());
            let acceptor: TlsAcceptor = acceptor.await.map_err(io::Error::other)?;
            let stream = acceptor.accept(stream).await?;
            return speak(stream, Scheme::Https, Some(Private), self.router.clone()).await;
        }
        let socket = stream.get_ref();
        let router = if is_same_machine(socket.local_addr()?, socket.peer_addr()?) {
            self.router.clone()
        } else {
            let refuse = async || (StatusCode::BAD_REQUEST, [(CONNECTION, "close")], NO_TLS);
            Router::new().fallback(refuse)
        };
        speak(stream, Scheme::Http, Some(Private), router).await
    }
}

/// Whether a connection comes from this machine, as the kernel says.
fn is_same_machine(local: SocketAddr, peer: SocketAddr) -> bool {
    let peer = peer.ip().to_canonical();
    peer.is_loopback() || peer == local.ip().to_canonical()
}

/// Serves HTTP to the end of the connection, or to its upgrade.
async fn speak<S>(stream: S, scheme: Scheme, private: Option<Private>, router: Router) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(scheme);
        if let Some(private) = private {
            request.extensions_mut().insert(private);
        }
        if request.uri().path() == "/" && is_upgrade(request.headers()) {
            *request.uri_mut() = Uri::from_static(ROOT_WEB_SOCKET);
        }
        router.call(request)
    });
    http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
        .map_err(io::Error::other)
}

/// Whether a request wants a WebSocket.
fn is_upgrade(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

/// Waits for a connection to end, as long as it stays within the limits.
async fn within_limits(counts: &Counts, served: impl Future<Output = ()>) {
    tokio::pin!(served);
    let (mut written, mut limit) = (0, TIMEOUT);
    while tokio::time::timeout(limit, &mut served).await.is_err() {
        let now = counts.written();
        if now == written {
            return tracing::debug!("a connection took too long");
        }
        (written, limit) = (now, PROGRESS);
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;

    const LARGE: usize = 100_000;

    /// Serves one connection that takes 1,000 bytes at once.
    fn serve() -> (DuplexStream, JoinHandle<Duration>) {
        let (ours, theirs) = tokio::io::duplex(1000);
        let router = Router::new().route("/", get(async || "a".repeat(LARGE)));
        let serving = tokio::spawn(async move {
            let start = Instant::now();
            let stream = Counted::new(ours);
            let counts = stream.counts();
            let spoken = async { drop(speak(stream, Scheme::Http, None, router).await) };
            within_limits(&counts, spoken).await;
            start.elapsed()
        });
        (theirs, serving)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_has_ten_seconds_and_dripping_does_not_help() {
        let (silent, serving) = serve();
        assert_eq!(serving.await.unwrap(), TIMEOUT);
        drop(silent);
        let (mut dripping, serving) = serve();
        let drip = async {
            while dripping.write_all(b"G").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let (took, ()) = tokio::join!(serving, drip);
        assert!(took.unwrap() <= TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_download_goes_on_for_minutes_and_one_that_stands_still_does_not() {
        let (mut slow, serving) = serve();
        slow.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let (mut read, mut part) = (0, [0; 1000]);
        loop {
            tokio::time::sleep(Duration::from_secs(9)).await;
            match slow.read(&mut part).await.unwrap() {
                0 => break,
                more => read += more,
            }
        }
        assert!(read > LARGE, "{read}");
        assert!(serving.await.unwrap() > Duration::from_mins(10));
        let (mut still, serving) = serve();
        still
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        assert_eq!(serving.await.unwrap(), TIMEOUT + PROGRESS);
    }

    #[test]
    fn only_this_machine_may_leave_tls_out() {
        for (local, peer, same) in [
            ("127.0.0.1:9100", "127.0.0.1:5000", true),
            ("192.168.0.7:9100", "192.168.0.7:5000", true),
            ("[::ffff:192.168.0.7]:9100", "192.168.0.7:5000", true),
            ("[::1]:9100", "[::1]:5000", true),
            ("192.168.0.7:9100", "192.168.0.8:5000", false),
            ("192.168.0.7:9100", "8.8.8.8:5000", false),
        ] {
            let same_machine = is_same_machine(local.parse().unwrap(), peer.parse().unwrap());
            assert_eq!(same_machine, same, "{local} {peer}");
        }
    }
}
