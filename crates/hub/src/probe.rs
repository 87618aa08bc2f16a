//! Asks a server whether it answers: `initialize` over its WebSocket, and nothing after that.

use std::time::Duration;

use bobbin_framing::{Transport, WebSocketOptions, websocket_config};
use bobbin_peer::{Handlers, Peer, PeerHandle, PeerOptions};
use serde_json::{Value, json};
use tokio::time::timeout;

/// How long a server may take to answer.
const LIMIT: Duration = Duration::from_secs(3);
/// Longest message that is read.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Returns once the server at this address, with its token, has answered.
///
/// # Errors
/// It does not answer in time; the text says why and has no token.
pub(crate) async fn probe(url: &str) -> Result<(), String> {
    let probing = async {
        let config = Some(websocket_config(MAX_MESSAGE_BYTES));
        let connected = tokio_tungstenite::connect_async_with_config(url, config, true).await;
        let (stream, _) = connected.map_err(|error| error.to_string())?;
        let transport = Transport::websocket(stream, WebSocketOptions::default());
        let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new());
        let peer = peer.map_err(|error| error.to_string())?;
        let answered = initialize(&peer, "dotcraft-hub").await;
        drop(timeout(LIMIT, peer.shutdown()).await);
        answered.map(drop)
    };
    let probed = timeout(LIMIT, probing).await;
    probed.unwrap_or_else(|_| Err("its WebSocket does not answer".to_owned()))
}

/// Sends `initialize` under a name and returns the version of the server.
pub(crate) async fn initialize(peer: &PeerHandle, name: &str) -> Result<Option<String>, String> {
    let info = json!({ "name": name, "title": name, "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "clientInfo": info, "capabilities": {} });
    let answer: Value = peer
        .call("initialize", params)
        .await
        .map_err(|error| error.to_string())?;
    Ok(answer["serverInfo"]["version"].as_str().map(str::to_owned))
}
