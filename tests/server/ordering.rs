//! What comes before what.

use bobbin_testkit::Client;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Workspace, methods, rich};

#[tokio::test]
async fn the_answer_to_turn_start_precedes_turn_started_in_a_thousand_turns() {
    let workspace = Workspace::new();
    let (_server, link) = workspace.stdio();
    let mut client = Client::ready(link, "loop", rich()).await;
    let thread = client.start_thread().await;
    for round in 0..1000 {
        let input = json!([{ "type": "text", "text": "say hi" }]);
        let id = client
            .request("turn/start", json!({ "threadId": thread, "input": input }))
            .await;
        let seen = client.until("turn/completed").await;
        let answer = seen
            .iter()
            .position(|m| m.get("method").is_none() && m["id"] == id);
        let started = seen.iter().position(|m| m["method"] == "turn/started");
        assert!(
            answer.unwrap() < started.unwrap(),
            "round {round}: {:?}",
            methods(&seen)
        );
    }
}

#[tokio::test]
async fn a_handshake_and_a_request_in_one_segment_are_served() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let (mut socket, _) = tokio_tungstenite::connect_async(server.address().await)
        .await
        .unwrap();
    let info = json!({ "clientInfo": { "name": "hasty", "version": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": "list", "method": "thread/list", "params": { "identity": { "channelName": "x" } } }),
    ] {
        // Fed, not sent: all three leave in one write.
        socket.feed(Message::text(message.to_string())).await.unwrap();
    }
    socket.flush().await.unwrap();
    let mut answers = Vec::new();
    while answers.len() < 2 {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            answers.push(serde_json::from_str::<Value>(text.as_str()).unwrap());
        }
    }
    assert_eq!(answers[0]["id"], 0);
    assert_eq!(
        (&answers[1]["id"], &answers[1]["result"]["data"]),
        (&json!("list"), &json!([]))
    );
}
