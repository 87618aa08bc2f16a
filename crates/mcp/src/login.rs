//! Logins at servers over HTTP, by OAuth: a link for the user, the answer on a loopback port, tokens in a file.
//!
//! The port lives for one login, [`LIMIT`] at most. `rmcp` does the protocol: discovery, registration, PKCE, refresh.

use std::collections::VecDeque;
use std::fs::File;
use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bobbin_supervise::causes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::HttpSpec;
use crate::http;
use crate::outbound::{Outbound, Reach};
use crate::text::shown;

/// How long a user may take.
const LIMIT: Duration = Duration::from_mins(10);
/// How long the server may take to say how one logs in.
const PREPARE: Duration = Duration::from_mins(1);
/// How long a browser may take for its request, and most bytes of that.
const REQUEST: Duration = Duration::from_secs(5);
const MAX_REQUEST: usize = 16 << 10;
/// Most connections to the port at a time: browsers open some ahead. A new one takes the place of the oldest.
const MAX_VISITS: usize = 64;
/// Where the browser comes back to.
const CALLBACK: &str = "/callback";
/// Longest sentence about what went wrong.
const MAX_PROBLEM: usize = 500;
const DONE: &str = "You are logged in. You can close this page.";
const FAILED: &str = "The login has failed. Bobbin says why.";

/// A login that waits for its user. Dropped, it closes its port.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
    /// What the browser brings back, so that no other page's answer counts.
    state: String,
    /// One login at a server at a time.
    _lock: File,
}

impl Login {
    /// Prepares a login at a server. `client_id` is for authorization servers that register no clients by themselves.
    ///
    /// # Errors
    /// A sentence for the user, to follow the server's name.
    pub fn start<'a>(
        server: &'a HttpSpec,
        client_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Self, String>> {
        async move {
            let prepared = timeout(PREPARE, Self::prepare(server, client_id)).await;
            prepared.unwrap_or_else(|_| Err(format!("did not say within {PREPARE:?} how one logs in")))
        }
        .boxed()
    }

    async fn prepare(server: &HttpSpec, client_id: Option<&str>) -> Result<Self, String> {
        if server.bearer.is_some() {
            return Err("uses the token of BearerTokenEnvVar: a login would not count".to_owned());
        }
        let lock = server.tokens.lock_login().await;
        let lock = lock.map_err(|error| format!("has no place for its tokens ({error})"))?;
        let lock = lock.ok_or("has a login already that waits for its user")?;
        let no_port = |error| format!("cannot be logged in at: there is no port for the answer ({error})");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(no_port)?;
        let port = listener.local_addr().map_err(no_port)?.port();
        let refused = |error: AuthError| said("offers no login that can be used", &error);
        let mut manager = manager(server).await?;
        let challenge = http::challenge(server).await;
        let found = manager
            .resolve_metadata_from_challenge(challenge.as_deref())
            .await;
        manager.set_metadata(found.map_err(refused)?.metadata);
        let mut request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}{CALLBACK}"))
            .with_client_name("Bobbin");
        if let Some(id) = client_id {
            request = request.with_preregistered_client(id);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| refused(error))?;
        let link = Url::parse(session.get_authorization_url()).ok();
        // A client opens it without a look: a program of this machine, or a script, is no page.
        let link = link.filter(|link| Reach::of(&server.url).allows_page(link));
        let link = link.ok_or_else(|| {
            let shown = shown(session.get_authorization_url(), &[], MAX_PROBLEM);
            format!("names no page of a login with https: {shown}")
        })?;
        let state = query(&link, "state");
        Ok(Self {
            session,
            listener,
            state: state.ok_or("has a login without a state, which cannot be used")?,
            _lock: lock,
        })
    }

    /// Returns the address that the user opens in a browser.
    pub fn link(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the user, and stores the tokens.
    ///
    /// # Errors
    /// A sentence for the user, to follow the server's name.
    pub fn finish(self) -> BoxFuture<'static, Result<(), String>> {
        async move {
            let answered = timeout(LIMIT, self.answered()).await;
            answered.unwrap_or_else(|_| Err("has no login: nobody answered within 10 minutes".to_owned()))
        }
        .boxed()
    }

    async fn answered(&self) -> Result<(), String> {
        let mut visits = VecDeque::new();
        let (mut browser, answer) = loop {
            tokio::select! {
                // An answer that has come counts before the next connection.
                biased;
                answer = next_answer(&mut visits) => break answer,
                accepted = self.listener.accept() => {
                    // One that is gone already is no reason to end.
                    if let Ok((stream, _)) = accepted {
                        if visits.len() == MAX_VISITS {
                            visits.pop_front();
                        }
                        visits.push_back(timeout(REQUEST, self.visit(stream)).boxed());
                    }
                }
            }
        };
        let done = if let Some(error) = query(&answer, "error") {
            let why = query(&answer, "error_description").map_or_else(String::new, |why| format!(": {why}"));
            Err(shown(
                &format!("refused the login ({error}{why})"),
                &[],
                MAX_PROBLEM,
            ))
        } else {
            let handled = self.session.handle_callback_url(answer.as_str()).await;
            handled
                .map(drop)
                .map_err(|error| said("has not given tokens", &error))
        };
        let text = if done.is_ok() { DONE } else { FAILED };
        reply(&mut browser, "200 OK", text).await;
        done
    }

    /// Returns a browser and where it was sent, if it comes back from this login.
    async fn visit(&self, mut stream: TcpStream) -> Option<(TcpStream, Url)> {
        let target = target(&mut stream).await?;
        let url = Url::parse("http://127.0.0.1").ok()?.join(&target).ok()?;
        if url.path() == CALLBACK && query(&url, "state").as_ref() == Some(&self.state) {
            return Some((stream, url));
        }
        reply(&mut stream, "404 Not Found", "There is nothing here.").await;
        None
    }
}

/// A connection to the port, with the answer that it brings, if it is that of this login.
type Visit<'a> = BoxFuture<'a, Result<Option<(TcpStream, Url)>, Elapsed>>;

/// Returns the first answer; connections without one are removed. Waits while there is none.
async fn next_answer(visits: &mut VecDeque<Visit<'_>>) -> (TcpStream, Url) {
    poll_fn(|cx| {
        let mut at = 0;
        while let Some(visit) = visits.get_mut(at) {
            match visit.poll_unpin(cx) {
                Poll::Ready(Ok(Some(answer))) => return Poll::Ready(answer),
                Poll::Ready(_) => drop(visits.remove(at)),
                Poll::Pending => at += 1,
            }
        }
        Poll::Pending
    })
    .await
}

/// Returns the path that a browser asks for.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await.ok().filter(|read| *read > 0)?;
        request.extend(bytes.get(..read)?);
        if request.len() > MAX_REQUEST {
            return None;
        }
    }
    let request = String::from_utf8(request).ok()?;
    let mut words = request.lines().next()?.split(' ');
    let target = words.next().filter(|method| *method == "GET").and(words.next())?;
    target.starts_with('/').then(|| target.to_owned())
}

async fn reply(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}"
    );
    // A browser that is gone needs no answer.
    drop(stream.write_all(reply.as_bytes()).await);
    drop(stream.shutdown().await);
}

fn query(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

fn said(what: &str, error: &AuthError) -> String {
    shown(&format!("{what} ({})", causes(error)), &[], MAX_PROBLEM)
}

async fn manager(server: &HttpSpec) -> Result<AuthorizationManager, String> {
    let client = Arc::new(Outbound::new(&server.url)?);
    let manager = AuthorizationManager::new_with_oauth_http_client(server.url.as_str(), client).await;
    let mut manager = manager.map_err(|error| said("cannot be logged in at", &error))?;
    manager.set_credential_store(server.tokens.clone());
    Ok(manager)
}

/// Returns what presents the tokens for a server. `None` where there are none.
///
/// # Errors
/// What is wrong, to follow the server's name.
pub(crate) async fn authorized(server: &HttpSpec) -> Result<Option<AuthorizationManager>, String> {
    let mut manager = manager(server).await?;
    let is_there = manager.initialize_from_store().await;
    let is_there = is_there.map_err(|error| said("cannot use its login", &error))?;
    Ok(is_there.then_some(manager))
}
