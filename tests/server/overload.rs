//! Clients that write more than they read.

use std::collections::HashSet;

use bobbin_testkit::Client;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Workspace, rich};

const REQUESTS: i64 = 5000;

fn list(id: i64) -> String {
    let params = json!({ "identity": { "channelName": "x" } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "thread/list", "params": params }).to_string()
}

fn check(answers: &[Value]) {
    let ids: HashSet<i64> = answers
        .iter()
        .filter_map(|answer| answer["id"].as_i64())
        .collect();
    assert_eq!(ids.len(), answers.len(), "no answer came twice");
    for answer in answers {
        let fine = answer.get("result").is_some() || answer["error"]["code"] == -32001;
        assert!(fine, "{answer}");
    }
}

#[tokio::test]
async fn five_thousand_requests_written_without_reading_get_five_thousand_answers() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let (mut socket, _) = tokio_tungstenite::connect_async(server.address().await)
        .await
        .unwrap();
    let info = json!({ "clientInfo": { "name": "flood", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": -1, "method": "initialize", "params": info });
    socket.feed(Message::text(hello.to_string())).await.unwrap();
    socket
        .feed(Message::text(r#"{"jsonrpc":"2.0","method":"initialized"}"#))
        .await
        .unwrap();
    for id in 0..REQUESTS {
        socket.feed(Message::text(list(id))).await.unwrap();
    }
    socket.flush().await.unwrap();
    let mut answers = Vec::new();
    while answers.len() < usize::try_from(REQUESTS).unwrap() + 1 {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            answers.push(serde_json::from_str::<Value>(text.as_str()).unwrap());
        }
    }
    check(&answers);
    // The server is well, and so is this connection.
    socket.send(Message::text(list(REQUESTS))).await.unwrap();
    let Message::Text(text) = socket.next().await.unwrap().unwrap() else {
        panic!("not an answer")
    };
    assert!(
        serde_json::from_str::<Value>(text.as_str())
            .unwrap()
            .get("result")
            .is_some()
    );
}

#[tokio::test]
async fn the_same_over_stdio() {
    let workspace = Workspace::new();
    let (_server, link) = workspace.stdio();
    let mut client = Client::ready(link, "flood", rich()).await;
    let text: Vec<String> = (0..REQUESTS).map(|id| list(id + 1000)).collect();
    client.send_text(text.join("\n")).await;
    let mut answers = Vec::new();
    while answers.len() < usize::try_from(REQUESTS).unwrap() {
        answers.push(client.next().await.expect("the connection stays"));
    }
    check(&answers);
}
