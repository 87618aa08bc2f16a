//! Requests to a server of this user, by the commands that are its clients.

use anyhow::bail;
use bobbin_peer::{CallError, Handlers, Peer, PeerHandle, PeerOptions, Transport};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use bobbin_config::Config;
use bobbin_server::{attach, console, opened, server};
use bobbin_workspace::Workspace;

/// Asks the server that runs in the workspace. Where none runs, opens the workspace, and starts and resumes nothing in it.
///
/// # Errors
/// `ask` fails; a process serves the workspace and cannot be joined; the state cannot be opened.
pub(crate) async fn ask_server<T>(
    workspace: &Workspace,
    config: &Config,
    ask: impl AsyncFnOnce(&PeerHandle) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if workspace.holder().is_none() {
        let locked = workspace.hold().await?;
        let opened = opened::prepare(&locked, config, &CancellationToken::new()).await?;
        for complaint in config.warnings.iter().chain(&opened.complaints) {
            console::complain(complaint);
        }
        let (ours, serving) = server::serve_in_memory(&opened);
        let asked = ask_through(ours, ask).await;
        opened.end().await;
        drop(serving.await);
        return asked;
    }
    ask_running(workspace, ask).await
}

/// Asks the server that runs in the workspace.
///
/// # Errors
/// None runs; else as [`ask_server`].
pub(crate) async fn ask_running<T>(
    workspace: &Workspace,
    ask: impl AsyncFnOnce(&PeerHandle) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    ask_through(attach::running(workspace).await?.transport, ask).await
}

pub(crate) async fn ask_through<T>(
    transport: Transport,
    ask: impl AsyncFnOnce(&PeerHandle) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new())?;
    let handle = peer.handle();
    let asked = ask(&handle).await;
    handle.shutdown().await;
    asked
}

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
            match data["detail"].as_str() {
                // A sentence for the user; the message only says that the parameters are not right.
                Some(detail) if error.code == bobbin_peer::code::INVALID_PARAMS => bail!("{detail}"),
                Some(detail) => bail!("{}: {detail}", error.message),
                None => bail!("{}", error.message),
            }
        }
        Err(error) => bail!("{method} got no answer: {error}"),
    }
}
