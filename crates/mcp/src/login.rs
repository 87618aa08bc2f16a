//! Logins at servers over HTTP, by OAuth: a link for the user, the answer on a loopback port, tokens in a file.
//!
//! The port lives for one login, [`LIMIT`] at most. `rmcp` does the protocol: discovery, registration, PKCE, refresh.

use std::collections::VecDeque;
use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bobbin_supervise::causes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest, AuthorizationSession,
    OAuthClientConfig,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::connect::challenge;
use crate::outbound::{Outbound, Reach};
use crate::text::shown;
use crate::tokens::{StoredClient, StoredLogin, TokenStore};
use crate::{HttpSpec, Secret, TokenFile};

/// How long a user may take.
const LIMIT: Duration = Duration::from_mins(10);
/// How long the preparation of a login may take: discovery and registration.
const PREPARE: Duration = Duration::from_mins(1);
/// How long a browser may take for its request, and most bytes of the request.
const REQUEST: Duration = Duration::from_secs(5);
const MAX_REQUEST: usize = 16 << 10;
/// Most connections to the port at a time: browsers open some ahead. A new one takes the place of the oldest.
const MAX_VISITS: usize = 64;
/// Bobbin's name at authorization servers.
const CLIENT_NAME: &str = "Bobbin";
/// The path that the browser comes back to.
const CALLBACK: &str = "/callback";
/// Longest sentence about a failure.
const MAX_PROBLEM: usize = 500;
const DONE: &str = "You are logged in. You can close this page.";
const FAILED: &str = "The login has failed. Bobbin says why.";

/// Bobbin as an authorization server knows it.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// Its name there.
    pub id: String,
    /// The secret that authenticates the client; public clients have none.
    pub secret: Option<Secret>,
}

/// A login that waits for its user. Dropped, it closes its port.
pub struct Login {
    session: AuthorizationSession,
    tokens: TokenFile,
    listener: TcpListener,
    /// The `state` that the browser brings back, so that no other page's answer counts.
    state: String,
    /// One login at a server at a time.
    _lock: File,
}

impl Login {
    /// Prepares a login at a server. `client` is for authorization servers without dynamic registration. Later logins at the
    /// same authorization server use it too.
    ///
    /// # Errors
    /// A sentence for the user, to follow the server's name.
    pub fn start(server: &HttpSpec, client: Option<OAuthClient>) -> BoxFuture<'_, Result<Self, String>> {
        async move {
            let prepared = timeout(PREPARE, Self::prepare(server, client)).await;
            prepared.unwrap_or_else(|_| Err(format!("did not say within {PREPARE:?} how one logs in")))
        }
        .boxed()
    }

    async fn prepare(server: &HttpSpec, client: Option<OAuthClient>) -> Result<Self, String> {
        if server.bearer.is_some() {
            return Err("uses the token of BearerTokenEnvVar: a login would not count".to_owned());
        }
        let lock = server.tokens.lock_login().await;
        let lock = lock.map_err(|error| no_place(&error))?;
        let lock = lock.ok_or("has a login already that waits for its user")?;
        let no_port = |error| format!("cannot be logged in at: there is no port for the answer ({error})");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(no_port)?;
        let port = listener.local_addr().map_err(no_port)?.port();
        let session = session(server, client, format!("http://127.0.0.1:{port}{CALLBACK}")).await?;
        let link = Url::parse(session.get_authorization_url()).ok();
        // A client opens the link without a check, so it must be a web page, not a local program or a script.
        let link = link.filter(|link| Reach::of(&server.url).allows_page(link));
        let link = link.ok_or_else(|| {
            let shown = shown(session.get_authorization_url(), &[], MAX_PROBLEM);
            format!("names no page of a login with https: {shown}")
        })?;
        let state = query(&link, "state");
        Ok(Self {
            session,
            tokens: server.tokens.clone(),
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
                    // A connection that is gone already does not end the login.
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
            match handled {
                Ok(_) => self.tokens.forget_scope().await.map_err(|error| no_place(&error)),
                Err(error) => Err(said("has not given tokens", &error)),
            }
        };
        let text = if done.is_ok() { DONE } else { FAILED };
        reply(&mut browser, "200 OK", text).await;
        done
    }

    /// Returns a browser's connection and the URL that it requests, if it comes back from this login.
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

/// A connection to the port. It resolves to the browser's answer, if it is one to this login.
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

fn no_place(error: &io::Error) -> String {
    format!("has no place for its tokens ({error})")
}

/// Prepares the link for the browser and the later exchange of its answer. `back` is the address of the callback.
async fn session(
    server: &HttpSpec,
    client: Option<OAuthClient>,
    back: String,
) -> Result<AuthorizationSession, String> {
    let refused = |error: AuthError| said("offers no login that can be used", &error);
    let mut manager = manager(server).await?;
    let metadata = discovered(server, &mut manager).await.map_err(refused)?;
    let registers = metadata.registration_endpoint.is_some();
    // A login of another authorization server must not be sent to this one.
    let last = server.tokens.login().await.map_err(|error| no_place(&error))?;
    let last = last.filter(|last| last.credentials.issuer == metadata.issuer);
    let scopes = scopes(server, &manager, last.as_ref()).await?;
    let client = client.or_else(|| {
        let StoredLogin { credentials, client } = last.filter(|last| last.client.is_users)?;
        Some(OAuthClient {
            id: credentials.client_id,
            secret: client.secret.map(Secret),
        })
    });
    let is_users = client.is_some();
    let OAuthClient { id, secret } = match client {
        Some(client) => client,
        None if !registers => {
            return Err(
                "registers no clients by itself: register one there, and name it with --client-id".to_owned(),
            );
        }
        None => {
            let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let registered = manager.register_client(CLIENT_NAME, &back, &scopes).await;
            let registered = registered.map_err(refused)?;
            OAuthClient {
                id: registered.client_id,
                secret: registered.client_secret.map(Secret),
            }
        }
    };
    let secret = secret.map(|Secret(secret)| secret);
    manager.set_credential_store(TokenStore {
        file: server.tokens.clone(),
        client: StoredClient {
            secret: secret.clone(),
            is_users,
        },
    });
    let mut request = AuthorizationRequest::new(back)
        .with_initial_scope_selection()
        .with_scopes(scopes)
        .with_preregistered_client(id);
    request.client_secret = secret;
    let session = AuthorizationSession::new(manager, request).await;
    session.map_err(|(_, error)| refused(error))
}

/// Finds the authorization server of a server by the server's challenge to a caller without tokens.
async fn discovered(
    server: &HttpSpec,
    manager: &mut AuthorizationManager,
) -> Result<AuthorizationMetadata, AuthError> {
    let challenge = challenge(server).await;
    let found = manager
        .resolve_metadata_from_challenge(challenge.as_deref())
        .await?;
    manager.set_metadata(found.metadata.clone());
    Ok(found.metadata)
}

/// Returns the scopes to ask for: those that the server names, those of the last login, and the one that it lacked.
async fn scopes(
    server: &HttpSpec,
    manager: &AuthorizationManager,
    last: Option<&StoredLogin>,
) -> Result<Vec<String>, String> {
    let lacking = server.tokens.wanted_scope().await;
    let lacking = lacking.map_err(|error| no_place(&error))?;
    let granted = last.into_iter().flat_map(|last| &last.credentials.granted_scopes);
    let more = granted.map(String::as_str).chain(lacking.split_whitespace());
    let mut scopes = manager.select_initial_scopes(&[]).await;
    for scope in more {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    Ok(scopes)
}

async fn manager(server: &HttpSpec) -> Result<AuthorizationManager, String> {
    let client = Arc::new(Outbound::new(&server.url)?);
    let manager = AuthorizationManager::new_with_oauth_http_client(server.url.as_str(), client).await;
    manager.map_err(|error| said("cannot be logged in at", &error))
}

/// Returns the manager that sends the tokens to a server. `None` if there are no tokens of its authorization server.
///
/// # Errors
/// The reason, as words that follow the server's name.
pub(crate) async fn authorized(server: &HttpSpec) -> Result<Option<AuthorizationManager>, String> {
    let unusable = |error: AuthError| said("cannot use its login", &error);
    let login = server.tokens.login().await;
    let login = login.map_err(|error| format!("cannot use its login ({error})"))?;
    let Some(StoredLogin { credentials, client }) = login else {
        return Ok(None);
    };
    let mut manager = manager(server).await?;
    let metadata = discovered(server, &mut manager).await.map_err(unusable)?;
    // Neither tokens nor the secret go to another authorization server, nor to a server that names none any more.
    if credentials.issuer.is_some() && credentials.issuer != metadata.issuer {
        return Ok(None);
    }
    let secret = client.secret.clone();
    manager.set_credential_store(TokenStore {
        file: server.tokens.clone(),
        client,
    });
    if !manager.initialize_from_store().await.map_err(unusable)? {
        return Ok(None);
    }
    if let Some(secret) = secret {
        let client = OAuthClientConfig::new(credentials.client_id, server.url.as_str());
        let client = client.with_client_secret(secret);
        manager.configure_client(client).map_err(unusable)?;
    }
    Ok(Some(manager))
}
