//! Requests to a server of this user, by the commands that are its clients.

use anyhow::bail;
use bobbin_peer::{CallError, PeerHandle};
use serde_json::{Value, json};

/// Shakes hands as the client of this name, with these capabilities.
///
/// # Errors
/// The server refuses, or is gone.
pub(crate) async fn initialize(peer: &PeerHandle, name: &str, capabilities: &Value) -> anyhow::Result<()> {
    let title = name.replace('-', " ");
    let info = json!({ "name": name, "title": title, "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "clientInfo": info, "capabilities": capabilities });
    call(peer, "initialize", &params).await?;
    peer.notify("initialized", &json!({})).await?;
    Ok(())
}

/// Calls a method and returns its result.
///
/// # Errors
/// The server refuses, or is gone.
pub(crate) async fn call(peer: &PeerHandle, method: &str, params: &Value) -> anyhow::Result<Value> {
    match peer.call_raw(method, params, None).await {
        Ok(result) => Ok(serde_json::from_str(result.get())?),
        Err(CallError::Remote(error)) => {
            let data: Value = error
                .data
                .as_ref()
                .and_then(|data| serde_json::from_str(data.get()).ok())
                .unwrap_or_default();
            let detail = data["detail"]
                .as_str()
                .map(|detail| format!(": {detail}"))
                .unwrap_or_default();
            bail!("{method} was refused: {}{detail}", error.message)
        }
        Err(error) => bail!("{method} got no answer: {error}"),
    }
}
