//! Traces, sent to a collector of the test's own.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{PATIENCE, Workspace};

/// Takes one POST of traces and returns its head and its body.
async fn collect(listener: TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    loop {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        if bytes.len() == end + 4 + length.parse::<usize>().unwrap() {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                .await
                .unwrap();
            return (head, bytes.split_off(end + 4));
        }
    }
}

#[tokio::test]
async fn a_turn_is_a_trace_with_its_requests_and_calls_and_none_of_its_texts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let collecting = tokio::spawn(collect(listener));
    let workspace = Workspace::new();
    let mut command = workspace.bobbin(&["exec", "--approve", "run `echo sesame-4711`"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"));
    let output = tokio::time::timeout(PATIENCE, command.output())
        .await
        .unwrap()
        .unwrap();
    assert!(output.status.success());
    let (head, body) = tokio::time::timeout(PATIENCE, collecting).await.unwrap().unwrap();
    assert!(head.starts_with("post /v1/traces "), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    let has = |text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    for name in ["bobbin", "turn", "thread_", "model_request", "tool_call", "Exec"] {
        assert!(has(name), "{name} is not in the trace");
    }
    assert!(!has("sesame"));
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_nothing_but_its_traces() {
    let workspace = Workspace::new();
    let mut command = workspace.bobbin(&["exec", "say hi"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let output = tokio::time::timeout(Duration::from_secs(15), command.output()).await;
    let output = output.unwrap().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"hi\n");
}
