//! JSON-RPC over two pipes as frames with a length, as lean as it gets.

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

/// One end.
pub(crate) struct Frames<R, W> {
    read: BufReader<R>,
    write: W,
    next_id: u64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Frames<R, W> {
    pub(crate) fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::new(read),
            write,
            next_id: 1,
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.write.write_all(frame.as_bytes()).await?;
        Ok(self.write.flush().await?)
    }

    /// Returns the next message.
    pub(crate) async fn receive(&mut self) -> anyhow::Result<Value> {
        let mut length = None;
        loop {
            let mut line = String::new();
            ensure!(
                self.read.read_line(&mut line).await? > 0,
                "the other end is closed"
            );
            if line.trim().is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("Content-Length:") {
                length = Some(said.trim().parse()?);
            }
        }
        let mut body = vec![0; length.context("a frame has no length")?];
        self.read.read_exact(&mut body).await?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await?;
        Ok(id)
    }

    /// Sends a request and returns its result, passing over everything else.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.request(method, params).await?;
        loop {
            let mut message = self.receive().await?;
            if message["id"] == id && message.get("method").is_none() {
                return match message.get_mut("result") {
                    Some(result) => Ok(result.take()),
                    None => bail!("{method}: {message}"),
                };
            }
        }
    }
}
