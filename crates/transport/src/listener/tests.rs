//! Who is let in where, over real sockets.

use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_framing::Transport;
use bobbin_model::{Actor, Person, Role};
use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::{Admission, Admitted, Caller, Connections, Denied, Guests, web_socket};

const TOKEN: &str = "s3cret";

/// Takes connections and closes them.
struct Closes;

impl Connections for Closes {
    fn serve(&self, _: Transport, _: Caller) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }
}

/// Knows one ticket, and one of a client that may not connect any more.
struct Once;

impl Guests for Once {
    fn ticket(&self, ticket: &[u8], _: &str) -> Result<Admitted, Denied> {
        let admitted = Admitted::default();
        if ticket == b"revoked" {
            admitted.until.cancel();
        }
        let is_known = [&b"good"[..], b"revoked"].contains(&ticket);
        is_known.then_some(admitted).ok_or(Denied::WrongTicket)
    }

    fn token(&self, token: &[u8], path: &str) -> Result<Admitted, Denied> {
        match (token, path) {
            (b"anas", "/elsewhere/ws") => Err(Denied::NoRole),
            (b"anas", _) => Ok(Admitted {
                actor: Actor::Person(Box::new(Person {
                    name: "ana".to_owned(),
                    role: Role::Owner,
                    device: None,
                })),
                ..Admitted::default()
            }),
            _ => Err(Denied::WrongToken),
        }
    }
}

struct Server {
    address: SocketAddr,
    ready: Arc<AtomicBool>,
    stop: CancellationToken,
}

async fn server(router: Router<WebSockets>) -> Server {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.address();
    let admission = Admission {
        token: Some(TOKEN.to_owned()),
        ..Admission::default()
    };
    let access = Access::new(address, admission)
        .unwrap()
        .with_guests(Arc::new(Once));
    let page = Router::new().route("/page", get(async || "free").post(async || "changed"));
    let listener = listener.with_page(page);
    let (ready, stop) = (Arc::new(AtomicBool::new(true)), CancellationToken::new());
    let is_ready = ready.clone();
    let readiness: Readiness = Arc::new(move || std::future::ready(is_ready.load(Ordering::Relaxed)).boxed());
    tokio::spawn(listener.run(access, router, readiness, stop.clone()));
    Server { address, ready, stop }
}

impl Server {
    /// Sends a GET with these header lines; returns the answer.
    async fn get(&self, path: &str, headers: &str) -> String {
        self.ask("GET", path, headers).await
    }

    async fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Returns the status of a GET.
    async fn status(&self, path: &str, headers: &str) -> String {
        let answer = self.get(path, headers).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn every_path_but_the_probes_is_for_those_who_may_connect() {
    let router = Router::new()
        .route("/", get(async || "the page"))
        .route("/ws", web_socket(1024, Arc::new(Closes)));
    let server = server(router).await;
    let host = format!("Host: {}\r\n", server.address);
    let bearer = format!("{host}Authorization: Bearer {TOKEN}\r\n");
    let page = format!("{bearer}Origin: https://evil.example\r\n");
    // No host, no token, the token, the token from a foreign page.
    for (path, expected) in [
        ("/", ["403", "401", "200", "403"]),
        ("/ws", ["403", "401", "400", "403"]),
        ("/nothing", ["403", "401", "404", "403"]),
        ("/page", ["403", "200", "200", "403"]),
        ("/healthz", ["200"; 4]),
        ("/readyz", ["200"; 4]),
    ] {
        for (headers, expected) in ["", &host, &bearer, &page].into_iter().zip(expected) {
            assert_eq!(server.status(path, headers).await, expected, "{path} {headers:?}");
        }
    }
    assert!(server.get("/", &bearer).await.ends_with("the page"));
    server.stop.cancel();
}

#[tokio::test]
async fn a_ticket_lets_in_and_one_that_does_not_count_is_refused_even_with_the_token() {
    let server = server(Router::new().route("/", get(async || "the data"))).await;
    let host = format!("Host: {}\r\n", server.address);
    let bearer = format!("{host}Authorization: Bearer {TOKEN}\r\n");
    for (path, headers, expected) in [
        ("/?ticket=good", &host, "200"),
        ("/?ticket=other", &host, "401"),
        ("/?ticket=", &host, "401"),
        ("/?ticket=revoked", &host, "401"),
        ("/?ticket=other", &bearer, "401"),
    ] {
        assert_eq!(server.status(path, headers).await, expected, "{path}");
    }
    server.stop.cancel();
}

#[tokio::test]
async fn a_person_reaches_web_sockets_alone() {
    let router = Router::new()
        .route("/", get(async || "the data"))
        .route("/metrics", get(async || "counters"))
        .route("/ws", web_socket(1024, Arc::new(Closes)))
        .route("/elsewhere/ws", web_socket(1024, Arc::new(Closes)));
    let server = server(router).await;
    let host = format!("Host: {}\r\n", server.address);
    let bearer = format!("{host}Authorization: Bearer anas\r\n");
    for (path, headers, expected) in [
        ("/ws", &bearer, "400"),
        ("/ws?token=anas", &host, "400"),
        ("/ws?token=ana", &host, "401"),
        ("/elsewhere/ws", &bearer, "403"),
        ("/", &bearer, "403"),
        ("/metrics", &bearer, "403"),
        ("/nothing", &bearer, "403"),
    ] {
        assert_eq!(server.status(path, headers).await, expected, "{path}");
    }
    server.stop.cancel();
}

#[tokio::test]
async fn what_changes_something_without_a_token_names_our_own_origin() {
    let server = server(Router::new()).await;
    let own = format!("Origin: http://{}\r\n", server.address);
    for (origin, expected) in [
        ("", "403"),
        (own.as_str(), "200"),
        ("Origin: null\r\n", "403"),
        ("Origin: https://evil.example\r\n", "403"),
    ] {
        let head = format!("Host: {}\r\n{origin}", server.address);
        let answer = server.ask("POST", "/page", &head).await;
        assert_eq!(answer.split(' ').nth(1), Some(expected), "{origin}");
    }
    server.stop.cancel();
}

#[tokio::test]
async fn a_server_that_is_not_ready_is_healthy() {
    let server = server(Router::new()).await;
    server.ready.store(false, Ordering::Relaxed);
    assert_eq!(server.status("/healthz", "").await, "200");
    let answer = server.get("/readyz", "").await;
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.ends_with(r#"{"status":"unavailable"}"#),
        "{answer}"
    );
    server.stop.cancel();
}

#[tokio::test]
async fn a_silent_crowd_keeps_nobody_out() {
    let server = server(Router::new()).await;
    let mut silent = Vec::new();
    for _ in 0..=MAX_HTTP {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(server.status("/healthz", "").await, "200");
    // The oldest was closed for it.
    let mut byte = [0];
    let closed = silent[0].read(&mut byte).await;
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    server.stop.cancel();
}
