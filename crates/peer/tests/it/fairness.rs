//! Neither half of a connection keeps the other from its work: floods of input, both ends full at once, and output that
//! never ends. Checklist 63, 64 and 134.

use bobbin_framing::{WebSocketOptions, websocket_config};
use bobbin_peer::{Handlers, Peer, PeerOptions, Transport};
use serde_json::{Value, json};
use tokio::io::duplex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::support::within;

#[tokio::test]
async fn what_is_to_be_written_goes_out_while_large_messages_keep_coming() {
    const MESSAGES: u64 = 128;
    // The whole flood lies ready, far more of it than the runtime lets a task read in one go.
    let (near, far) = duplex(16 << 20);
    let config = websocket_config(1 << 20, 1 << 20);
    let near = WebSocketStream::from_raw_socket(near, Role::Server, Some(config)).await;
    let far = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    let options = WebSocketOptions {
        keep_alive: None,
        ..WebSocketOptions::default()
    };
    let mut far = Transport::websocket(far, options);
    let text = "x".repeat(64 << 10);
    for _ in 0..MESSAGES {
        let message = json!({ "jsonrpc": "2.0", "method": "heard", "params": [text] });
        far.send(message.to_string().into()).await.unwrap();
    }
    let peer = Peer::start(
        Transport::websocket(near, options),
        PeerOptions::default(),
        |_| Handlers::new().on_notification("heard", |_, _: Value| async { Ok(()) }),
    )
    .unwrap();
    peer.try_notify("said", ()).unwrap();
    within(async {
        while peer.stats().messages_written == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let read = peer.stats().messages_read;
    assert!(read < MESSAGES, "written after {read} messages");
    within(async {
        while peer.stats().messages_read < MESSAGES {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
