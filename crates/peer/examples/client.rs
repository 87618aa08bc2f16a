//! A JSON-RPC client over any framing: `cargo run -p bobbin-peer --example client -- lines|content-length|websocket`.
use std::process::Stdio;
use std::time::Duration;

use bobbin_peer::{Handlers, Limits, Peer, PeerOptions, Transport, WebSocketOptions};
use tokio::process::Command;

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "an example stands for itself")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let framing = std::env::args().nth(1).unwrap_or_else(|| "lines".to_owned());
    let mut child = None;
    let transport = if framing == "websocket" {
        let (websocket, _) = tokio_tungstenite::connect_async("ws://127.0.0.1:9123").await?;
        Transport::websocket(websocket, WebSocketOptions::default())
    } else {
        // `server.rs`, built beside this program; it ends when its input does.
        let mut server = Command::new(std::env::current_exe()?.with_file_name("server"));
        server.arg(&framing).stdin(Stdio::piped()).stdout(Stdio::piped());
        let server = child.insert(server.spawn()?);
        let (output, input) = server.stdout.take().zip(server.stdin.take()).ok_or("no pipes")?;
        match framing.as_str() {
            "content-length" => Transport::content_length(output, input, Limits::default()),
            _ => Transport::lines(output, input, Limits::default()),
        }
    };
    let serve = |_| Handlers::new().on_call("name", |_, (): ()| async { Ok("world") });
    let peer = Peer::start(transport, PeerOptions::default(), serve)?;
    let second = Duration::from_secs(1);
    let sum: i64 = peer.call_with_timeout("add", [2, 3], second).await?;
    let hello: String = peer.call_with_timeout("ask", (), second).await?;
    peer.notify("log", [format!("2 + 3 = {sum}. {hello}")]).await?;
    peer.shutdown().await;
    if let Some(mut child) = child {
        child.wait().await?;
    }
    Ok(())
}
