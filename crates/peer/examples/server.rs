//! A JSON-RPC server over any framing: `cargo run -p bobbin-peer --example server -- lines|content-length|websocket`.
use bobbin_peer::{Handlers, Limits, Peer, PeerHandle, PeerOptions, Transport, WebSocketOptions};
use tokio::io::{stdin, stdout};
use tokio::net::TcpListener;

/// What it serves; `ask` asks the client's name before it answers.
fn handlers(me: PeerHandle) -> Handlers {
    Handlers::new()
        .on_call(
            "add",
            |_, [a, b]: [i64; 2]| async move { Ok(a.saturating_add(b)) },
        )
        .on_call("ask", move |_, (): ()| {
            let me = me.clone();
            async move {
                let name: String = me.call("name", ()).await?;
                Ok(format!("Hello, {name}!"))
            }
        })
        .on_notification("log", |_, [text]: [String; 1]| async move {
            std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes())?;
            Ok(())
        })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = match std::env::args().nth(1).as_deref() {
        Some("lines") => Transport::lines(stdin(), stdout(), Limits::default()),
        Some("content-length") => Transport::content_length(stdin(), stdout(), Limits::default()),
        Some("websocket") => {
            let (socket, _) = TcpListener::bind("127.0.0.1:9123").await?.accept().await?;
            let websocket = tokio_tungstenite::accept_async(socket).await?;
            Transport::websocket(websocket, WebSocketOptions::default())
        }
        _ => return Err("usage: server lines|content-length|websocket".into()),
    };
    Peer::start(transport, PeerOptions::default(), handlers)?
        .closed()
        .await;
    Ok(())
}
