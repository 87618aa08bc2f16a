//! An MCP server that wants a login, and its authorization server.
#![expect(clippy::unwrap_used, reason = "a broken server fails the test that uses it")]

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Gives tokens out, and serves one tool to those who present the last.
#[derive(Clone)]
pub struct Kiosk {
    base: String,
    state: Arc<Mutex<Books>>,
}

#[derive(Default)]
struct Books {
    /// Tokens given out.
    given: usize,
    /// How long the next token is good, in seconds.
    seconds: u64,
    /// Of the login that a browser has opened.
    challenge: String,
    /// Whether a refresh is refused.
    closed: bool,
    registered: usize,
    /// Where a browser is sent, if not here.
    page: Option<String>,
    /// The scopes of the login that a browser has opened.
    scopes: String,
    /// The method that needs one more scope, and that scope.
    demand: Option<(String, String)>,
    /// The one client there may be, as its `Authorization` header names it.
    client: Option<String>,
    /// Whether there is another authorization server.
    moved: bool,
}

impl Kiosk {
    /// Opens one at a free port.
    ///
    /// # Panics
    /// There is no port.
    pub async fn open() -> (Self, tokio::task::JoinHandle<()>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let kiosk = Self {
            base: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::default(),
        };
        kiosk.state.lock().seconds = 3600;
        let router = Router::new()
            .route("/papers", get(resource))
            .route("/.well-known/oauth-authorization-server", get(authority))
            .route("/.well-known/oauth-authorization-server/new", get(authority))
            .route("/register", post(register))
            .route("/token", post(token))
            .route("/mcp", post(mcp))
            .with_state(kiosk.clone());
        let serving = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        (kiosk, serving)
    }

    /// Returns the address of the MCP server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    /// Returns how many tokens were given out.
    pub fn given(&self) -> usize {
        self.state.lock().given
    }

    /// Returns how many clients were registered.
    pub fn registered(&self) -> usize {
        self.state.lock().registered
    }

    /// Sets how long the next token is good.
    pub fn give_for(&self, seconds: u64) {
        self.state.lock().seconds = seconds;
    }

    /// Names another address for the browser from now on.
    pub fn send_browsers_to(&self, page: &str) {
        self.state.lock().page = Some(page.to_owned());
    }

    /// Serves a method from now on only to those who have this scope too.
    pub fn demand(&self, method: &str, scope: &str) {
        self.state.lock().demand = Some((method.to_owned(), scope.to_owned()));
    }

    /// Gives tokens from now on to this client only, and registers no other.
    pub fn accept_only(&self, id: &str, secret: &str) {
        let basic = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
        self.state.lock().client = Some(basic);
    }

    /// Has another authorization server from now on, which registers clients.
    pub fn move_authority(&self) {
        let mut books = self.state.lock();
        (books.moved, books.client) = (true, None);
    }

    /// Takes no token from now on and refreshes none.
    pub fn close(&self) {
        self.state.lock().closed = true;
    }

    /// Goes where a link leads and comes back with an answer, as a browser would. Returns the page that is shown.
    ///
    /// # Panics
    /// The link is not one of this server, or nobody is at the port.
    pub async fn browse(&self, link: &str, path: &str, answer: &str) -> String {
        let link = reqwest::Url::parse(link).unwrap();
        let pairs: HashMap<String, String> = link.query_pairs().into_owned().collect();
        assert_eq!(pairs["code_challenge_method"], "S256");
        assert_eq!(pairs["resource"], self.url());
        {
            let mut books = self.state.lock();
            pairs["code_challenge"].clone_into(&mut books.challenge);
            books.scopes = pairs.get("scope").cloned().unwrap_or_default();
        }
        let back = reqwest::Url::parse(&pairs["redirect_uri"]).unwrap();
        assert_eq!((back.host_str(), back.path()), (Some("127.0.0.1"), "/callback"));
        let address = format!("127.0.0.1:{}", back.port().unwrap());
        let mut stream = TcpStream::connect(address).await.unwrap();
        let answer = answer.replace("STATE", &pairs["state"]);
        let request = format!("GET {path}?{answer} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }
}

async fn resource(State(kiosk): State<Kiosk>) -> Json<Value> {
    Json(json!({ "resource": kiosk.url(), "authorization_servers": [kiosk.issuer()] }))
}

async fn authority(State(kiosk): State<Kiosk>) -> Json<Value> {
    let issuer = kiosk.issuer();
    let Kiosk { base, state } = kiosk;
    let books = state.lock();
    let page = books.page.clone();
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": page.unwrap_or_else(|| format!("{base}/authorize")),
        "token_endpoint": format!("{base}/token"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    });
    if books.client.is_none() {
        metadata["registration_endpoint"] = json!(format!("{base}/register"));
    }
    Json(metadata)
}

async fn register(State(kiosk): State<Kiosk>, Json(asked): Json<Value>) -> (StatusCode, Json<Value>) {
    kiosk.state.lock().registered += 1;
    let client = json!({ "client_id": "bobbin-1", "redirect_uris": asked["redirect_uris"] });
    (StatusCode::CREATED, Json(client))
}

async fn token(
    State(kiosk): State<Kiosk>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Response {
    let mut books = kiosk.state.lock();
    let presented = headers.get("authorization").and_then(|value| value.to_str().ok());
    if books.client.is_some() && books.client.as_deref() != presented {
        return (
            StatusCode::UNAUTHORIZED,
            Json(json!({ "error": "invalid_client" })),
        )
            .into_response();
    }
    let is_right = match form["grant_type"].as_str() {
        "authorization_code" => {
            let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
            form["code"] == "leaf" && hash == books.challenge
        }
        "refresh_token" => !books.closed && form["refresh_token"] == format!("again-{}", books.given),
        _ => false,
    };
    if !is_right {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response();
    }
    books.given += 1;
    Json(json!({
        "access_token": format!("token-{}", books.given),
        "refresh_token": format!("again-{}", books.given),
        "token_type": "Bearer",
        "expires_in": books.seconds,
    }))
    .into_response()
}

impl Kiosk {
    fn issuer(&self) -> String {
        let path = if self.state.lock().moved { "/new" } else { "" };
        format!("{}{path}", self.base)
    }

    /// Returns the refusal of a caller that does not present the last token, or one that lacks a scope.
    fn refusal(&self, headers: &HeaderMap, method: &str) -> Option<Response> {
        let books = self.state.lock();
        let last = format!("Bearer token-{}", books.given);
        let presented = headers.get("authorization").and_then(|value| value.to_str().ok());
        let papers = format!("resource_metadata=\"{}/papers\"", self.base);
        let refusal = |status: StatusCode, challenge: String| {
            Some((status, [("www-authenticate", challenge)]).into_response())
        };
        if books.closed || books.given == 0 || presented != Some(last.as_str()) {
            return refusal(
                StatusCode::UNAUTHORIZED,
                format!("Bearer {papers}, scope=\"buy\""),
            );
        }
        let (demanding, scope) = books.demand.as_ref()?;
        if demanding != method || books.scopes.split(' ').any(|granted| granted == scope) {
            return None;
        }
        let why = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", {papers}");
        refusal(StatusCode::FORBIDDEN, why)
    }
}

async fn mcp(State(kiosk): State<Kiosk>, headers: HeaderMap, Json(asked): Json<Value>) -> Response {
    let method = asked["method"].as_str().unwrap();
    if let Some(refusal) = kiosk.refusal(&headers, method) {
        return refusal;
    }
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "kiosk", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{ "name": "sell", "inputSchema": { "type": "object" } }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "sold" }] }),
        method if method.starts_with("notifications/") => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({ "code": -32601, "message": "no" });
            return Json(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error })).into_response();
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).into_response()
}
