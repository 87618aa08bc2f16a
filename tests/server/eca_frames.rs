//! What an editor reads from the pipe: each chunk ends where a frame ends.
//!
//! Some editors parse each chunk that they read by itself and drop a frame that is cut.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::eca::hello;
use crate::support::Workspace;

/// Takes as much as a pipe holds.
const CHUNK: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// An editor that parses each chunk by itself.
struct ChunkReader {
    process: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl ChunkReader {
    fn start(home: &Workspace) -> Self {
        let mut process = home
            .bobbin(&["eca"])
            .stdin(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self {
            process,
            input,
            output,
        }
    }

    async fn send(&mut self, message: Value) {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(frame.as_bytes()).await.unwrap();
    }

    /// Reads until a message fits.
    async fn read_until(&mut self, fits: impl Fn(&Value) -> bool) {
        let mut chunk = vec![0; CHUNK];
        loop {
            let reading = tokio::time::timeout(PATIENCE, self.output.read(&mut chunk));
            let count = reading.await.unwrap().unwrap();
            assert!(count > 0, "the editor's server has ended");
            let messages = parse(&chunk[..count]);
            if messages.iter().any(&fits) {
                return;
            }
        }
    }

    async fn talk(mut self, workspace: &Workspace) {
        self.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello(workspace) }))
            .await;
        self.read_until(|message| message["id"] == 1).await;
        self.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }))
            .await;
        self.read_until(|message| message["method"] == "tool/serverUpdated")
            .await;
        for id in 2..12 {
            let params = json!({ "chatId": "c", "message": "say `tea`" });
            self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "chat/prompt", "params": params }))
                .await;
            self.read_until(|message| message["params"]["content"]["state"] == "finished")
                .await;
        }
        drop(self.input);
        let ended = tokio::time::timeout(PATIENCE, self.process.wait()).await;
        assert!(ended.unwrap().unwrap().success());
    }
}

/// Cuts a chunk into its frames; panics when it does not end with one.
fn parse(mut chunk: &[u8]) -> Vec<Value> {
    let mut messages = Vec::new();
    while !chunk.is_empty() {
        let text = String::from_utf8_lossy(chunk);
        let end = text.find("\r\n\r\n").expect("a whole header") + 4;
        let length = text
            .strip_prefix("Content-Length: ")
            .and_then(|rest| rest.split_once("\r\n"))
            .and_then(|(digits, _)| digits.parse::<usize>().ok())
            .expect("a header at the beginning of a frame");
        assert!(end + length <= chunk.len(), "a frame is cut: {text}");
        messages.push(serde_json::from_slice(&chunk[end..end + length]).unwrap());
        chunk = &chunk[end + length..];
    }
    messages
}

#[tokio::test]
async fn a_chunk_that_an_editor_reads_ends_with_a_frame() {
    let workspace = Workspace::new();
    ChunkReader::start(&workspace).talk(&workspace).await;
}

#[tokio::test]
async fn a_chunk_from_a_joined_server_ends_with_a_frame() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    server.address().await;
    ChunkReader::start(&workspace).talk(&workspace).await;
}
