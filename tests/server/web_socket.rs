//! The WebSocket door: who is let in, and how one is shown out.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;

use crate::support::Workspace;

/// Sends one plain request and returns the status line and the body.
pub(crate) async fn http(address: &str, head: &str) -> (String, String) {
    let host = address.trim_start_matches("ws://").split('/').next().unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("{head}\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn upgrade(path: &str, more: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=={more}"
    )
}

#[tokio::test]
async fn probes_answer_and_other_paths_do_not() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let address = server.address().await;
    for path in ["/healthz", "/readyz"] {
        let (status, body) = http(&address, &format!("GET {path} HTTP/1.1")).await;
        assert!(
            status.contains("200") && body.contains(r#"{"status":"ok"}"#),
            "{status} {body}"
        );
    }
    let (_, token) = address.split_once('?').unwrap();
    let plain = format!("GET /ws?{token} HTTP/1.1");
    assert!(http(&address, &plain).await.0.contains("400"));
    // HTTP/1 only: this is how HTTP/2 begins.
    assert!(
        !http(&address, "PRI * HTTP/2.0\r\n\r\nSM")
            .await
            .0
            .contains("HTTP/2")
    );
    assert!(http(&address, "GET /nothing HTTP/1.1").await.0.contains("401"));
    let unknown = format!("GET /nothing?{token} HTTP/1.1");
    assert!(http(&address, &unknown).await.0.contains("404"));
}

#[tokio::test]
async fn a_wrong_token_is_refused_before_the_upgrade() {
    let workspace = Workspace::new();
    let server = workspace.web_socket_with(&["--token", "s3cret &+"]);
    let address = server.address().await;
    let refused = tokio_tungstenite::connect_async(&address).await;
    let Err(Error::Http(answer)) = refused else {
        panic!("let in: {refused:?}")
    };
    assert_eq!(answer.status(), 401);
    let wrong = tokio_tungstenite::connect_async(format!("{address}?token=s3cret")).await;
    assert!(matches!(wrong, Err(Error::Http(answer)) if answer.status() == 401));
    tokio_tungstenite::connect_async(format!("{address}?token=s3cret%20%26%2B"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_page_from_elsewhere_is_refused() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let address = server.address().await;
    for path in ["/ws", "/eca"] {
        let foreign = http(&address, &upgrade(path, "\r\nOrigin: https://evil.example")).await;
        assert!(foreign.0.contains("403"), "{path}: {foreign:?}");
    }
}

#[tokio::test]
async fn a_message_over_four_mebibytes_closes_with_1009() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("big").await;
    client.send_text("x".repeat((4 << 20) + 1)).await;
    let closed = client
        .find("a close", |message| message.get("close").is_some())
        .await;
    assert_eq!(closed["close"], 1009);
    // The others notice nothing.
    server.client("small").await.start_thread().await;
}

#[tokio::test]
async fn a_stop_closes_with_1000_and_ends_no_turn() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `sleep 600`").await;
    client.wait_for("item/approval/request").await;
    let ended = tokio::spawn(server.terminate());
    let closed = client
        .find("a close", |message| message.get("close").is_some())
        .await;
    assert_eq!(
        (&closed["close"], &closed["reason"]),
        (&json!(1000), &json!("Server shutting down"))
    );
    assert_eq!(ended.await.unwrap().code(), Some(0));
    let seen = client.finish().await;
    assert!(
        seen.iter().all(|message| message["method"] != "turn/cancelled"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn counters_are_for_those_who_may_connect() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let address = server.address().await;
    let (_, token) = address.split_once('?').unwrap();
    assert!(http(&address, "GET /metrics HTTP/1.1").await.0.contains("401"));
    let mut client = server.client("counter").await;
    let output = workspace.run(&["exec", "list files"]).await;
    assert!(output.status.success());
    let (status, body) = http(&address, &format!("GET /metrics?{token} HTTP/1.1")).await;
    assert!(status.contains("200"), "{status}");
    for line in [
        "bobbin_turns_total{outcome=\"completed\"} 1",
        "bobbin_tool_calls_total{outcome=\"ok\"} 1",
        "bobbin_model_requests_total{outcome=\"ok\"} 2",
        "bobbin_refused_clients_total{reason=\"no_token\"} 1",
        "bobbin_connections 1",
        "# TYPE bobbin_memory_bytes gauge",
    ] {
        assert!(body.contains(line), "{line} is not in\n{body}");
    }
    assert!(!body.contains("thread_"), "{body}");
    let stats = client.call("server/stats", json!({})).await;
    assert_eq!(
        (&stats["connections"], &stats["version"]),
        (&json!(1), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert!(stats["memoryBytes"].as_u64() > Some(1 << 20), "{stats}");
}
