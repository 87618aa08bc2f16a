//! A server as small as one can be: it holds its workspace, and answers `initialize` on stdio and on its WebSocket.

use std::path::Path;

use bobbin_framing::{Limits, Transport, WebSocketOptions};
use bobbin_hub::Managed;
use bobbin_peer::{Handlers, Peer, PeerOptions};
use bobbin_workspace::{State, StateDirectory, Workspace};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[expect(
    clippy::disallowed_methods,
    reason = "variables say to the child of a test what to do"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn handlers() -> Handlers {
    Handlers::new().on_call("initialize", |_, _: Value| async {
        Ok(json!({ "serverInfo": { "name": "kettle", "version": "0.0.1" } }))
    })
}

/// Serves until the end of its input. Fails at once where the workspace has a file `broken`; does not answer on the
/// WebSocket while it has a file `deaf`. Writes the folder of modules that it was given to the file `modules`.
pub(crate) async fn serve() {
    assert!(!Path::new("broken").exists(), "the kettle is broken");
    let managed = Managed::from_variables(variable).unwrap().unwrap();
    let state = StateDirectory::at(Path::new(&variable("KETTLE_STATE").unwrap()));
    let held = Workspace::find(None, state).unwrap().hold().await.unwrap();
    let listener = TcpListener::bind(managed.address).await.unwrap();
    let address = format!("ws://{}/ws", listener.local_addr().unwrap());
    let (hub, _) = managed.hub.unwrap();
    if let Some(modules) = variable("DOTCRAFT_MODULES_DIR") {
        std::fs::write("modules", modules).unwrap();
    }
    let state = State {
        address: Some(address),
        ..State::of_this_process()
    };
    held.announce(&state, Some(&hub)).unwrap();
    let accepting = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if Path::new("deaf").exists() {
                continue;
            }
            let Ok(stream) = tokio_tungstenite::accept_async(stream).await else {
                continue;
            };
            let transport = Transport::websocket(stream, WebSocketOptions::default());
            let peer = Peer::start(transport, PeerOptions::default(), |_| handlers()).unwrap();
            tokio::spawn(async move { peer.closed().await });
        }
    });
    let transport = Transport::lines(tokio::io::stdin(), tokio::io::stdout(), Limits::default());
    let peer = Peer::start(transport, PeerOptions::default(), |_| handlers()).unwrap();
    peer.closed().await;
    accepting.abort();
}
