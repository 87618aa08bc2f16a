//! Joining the server that holds a workspace, through the WebSocket it listens on.

use std::time::Duration;

use bobbin_framing::{Transport, WebSocketOptions, websocket_config};
use tokio_tungstenite::tungstenite::Error as WsError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::exit::{self, Failure};

/// Longest message taken from a server: a whole turn may be in one.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// How long a server may take to let us in.
const CONNECT: Duration = Duration::from_secs(3);

/// An endpoint of the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The native dialect, whose address a server announces.
    Native,
    /// ECA, beside it.
    Eca,
}

impl Endpoint {
    /// Its path on the listener.
    pub fn path(self) -> &'static str {
        match self {
            Self::Native => "/ws",
            Self::Eca => "/eca",
        }
    }
}

/// Why a server was not joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Nobody answers there: it has gone, or is going.
    #[error("the server at {address} cannot be joined: {detail}")]
    Unreachable {
        /// What was connected to.
        address: String,
        /// What went wrong.
        detail: String,
    },
    /// It was started with a token of its own.
    #[error("the server at {0} wants another token; give it with --token-file")]
    Token(String),
    /// It is another version without this endpoint.
    #[error("the server at {0} has no such endpoint; restart it with this version")]
    NoEndpoint(String),
    /// The token is none that HTTP can carry.
    #[error("the token cannot be sent")]
    Unsendable,
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        Self {
            code: exit::FAILED,
            message: error.to_string(),
        }
    }
}

/// Connects to an endpoint of the server that announces `address`.
///
/// # Errors
/// [`JoinError`].
pub async fn connect(address: &str, endpoint: Endpoint, token: Option<&str>) -> Result<Transport, JoinError> {
    let base = address.strip_suffix(Endpoint::Native.path()).unwrap_or(address);
    let address = format!("{base}{}", endpoint.path());
    let unreachable = |detail: String| JoinError::Unreachable {
        address: address.clone(),
        detail,
    };
    let mut request = address
        .as_str()
        .into_client_request()
        .map_err(|error| unreachable(error.to_string()))?;
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| JoinError::Unsendable)?;
        request.headers_mut().insert("Authorization", value);
    }
    let config = Some(websocket_config(MAX_MESSAGE_BYTES));
    let connecting = tokio_tungstenite::connect_async_with_config(request, config, true);
    let stream = match tokio::time::timeout(CONNECT, connecting).await {
        Ok(Ok((stream, _))) => stream,
        Ok(Err(WsError::Http(answer))) if answer.status() == 401 => return Err(JoinError::Token(address)),
        Ok(Err(WsError::Http(answer))) if answer.status() == 404 => {
            return Err(JoinError::NoEndpoint(address));
        }
        Ok(Err(error)) => return Err(unreachable(error.to_string())),
        Err(_) => return Err(unreachable("it does not answer".to_owned())),
    };
    let options = WebSocketOptions {
        keep_alive: None,
        ..WebSocketOptions::default()
    };
    Ok(Transport::websocket(stream, options))
}
