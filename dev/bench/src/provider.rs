//! A model provider that streams by the clock: what the server under measurement is configured with.
//!
//! A prompt `stream COUNT GAP BYTES` gets that many pieces ([`crate::stamp`]), a gap in microseconds apart; every
//! other request gets the word "ok". It speaks chat completions, and reads as much HTTP as the server writes.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, BufWriter};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::stamp;

/// Longest body of a request: more than any conversation of a scenario.
const MAX_BODY: usize = 16 << 20;
/// Tokens that the server may send: conversations stay short, whatever was streamed before.
const WINDOW: u32 = 16_384;

/// What a prompt asks to be streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) count: usize,
    pub(crate) gap: Duration,
    pub(crate) bytes: usize,
}

impl Stream {
    /// Returns the prompt for it.
    pub(crate) fn prompt(self) -> String {
        format!("stream {} {} {}", self.count, self.gap.as_micros(), self.bytes)
    }

    /// Reads a prompt.
    pub(crate) fn read(prompt: &str) -> Option<Self> {
        let mut numbers = prompt.strip_prefix("stream ")?.split(' ').map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        let (count, gap, bytes) = (next()?, next()?, next()?);
        Some(Self {
            count: usize::try_from(count).ok()?,
            gap: Duration::from_micros(u64::from(gap)),
            bytes: usize::try_from(bytes).ok()?,
        })
    }

    /// Waits until a piece is due; a stream without gaps never waits.
    pub(crate) async fn due(self, began: Instant, number: usize) {
        if !self.gap.is_zero() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            tokio::time::sleep_until(began + self.gap * number).await;
        }
    }
}

/// A running provider; it ends when it is dropped.
pub(crate) struct Provider {
    address: String,
    requests: Arc<AtomicUsize>,
    _serving: AbortOnDropHandle<()>,
}

impl Provider {
    /// Starts one on a free port of this machine.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?.to_string();
        let requests = Arc::new(AtomicUsize::default());
        let serving = tokio::spawn(accept(listener, requests.clone()));
        Ok(Self {
            address,
            requests,
            _serving: AbortOnDropHandle::new(serving),
        })
    }

    /// Makes it the provider of a workspace that has no configuration yet.
    pub(crate) fn configure(&self, workspace: &Path) -> anyhow::Result<()> {
        let craft = workspace.join(".craft");
        std::fs::create_dir_all(&craft)?;
        let entry = json!({
            "Wire": "chat",
            "BaseUrl": format!("http://{}/v1", self.address),
            "ApiKey": "any",
            "ContextWindow": WINDOW,
        });
        let config = json!({ "Model": "clock/clocked", "Providers": { "clock": entry } });
        // A file with a key is for its owner only.
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(craft.join("config.json"))?;
        file.write_all(config.to_string().as_bytes())?;
        Ok(())
    }

    /// Returns how many replies it was asked for.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, requests: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    // The listener fails when the process has no descriptors left: the scenario then waits for a reply and says so.
    while let Ok((socket, _)) = listener.accept().await {
        // A server that is killed breaks its connections.
        connections.spawn(serve(socket, requests.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(socket: TcpStream, requests: Arc<AtomicUsize>) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let (reader, writer) = socket.into_split();
    let (mut reader, mut writer) = (BufReader::new(reader), BufWriter::with_capacity(16 << 10, writer));
    while let Some(body) = read_request(&mut reader).await? {
        requests.fetch_add(1, Ordering::Relaxed);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        writer.write_all(head.as_bytes()).await?;
        match asked(&body) {
            Some(stream) => {
                let began = Instant::now();
                for number in 0..stream.count {
                    stream.due(began, number).await;
                    write_text(&mut writer, &stamp::piece(number, stream.bytes)).await?;
                    if !stream.gap.is_zero() {
                        writer.flush().await?;
                    }
                }
            }
            None => write_text(&mut writer, "ok").await?,
        }
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        write_chunk(&mut writer, &format!("data: {end}\n\ndata: [DONE]\n\n")).await?;
        writer.write_all(b"0\r\n\r\n").await?;
        writer.flush().await?;
    }
    Ok(())
}

/// Reads one request; returns its body, or nothing at the connection's end.
async fn read_request(reader: &mut BufReader<OwnedReadHalf>) -> anyhow::Result<Option<Vec<u8>>> {
    let mut length = 0;
    let mut lines = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() && lines > 0 {
            break;
        }
        lines += 1;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>()?.min(MAX_BODY);
        }
    }
    let mut body = vec![0; length];
    reader
        .read_exact(&mut body)
        .await
        .context("a request is cut off")?;
    Ok(Some(body))
}

/// Returns the stream that a request asks for. Requests without tools are for titles and summaries.
fn asked(body: &[u8]) -> Option<Stream> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body["tools"].as_array().filter(|tools| !tools.is_empty())?;
    let last = body["messages"].as_array()?.last()?;
    if last["role"] != "user" {
        return None;
    }
    let blocks = last["content"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts
        .chain(last["content"].as_str())
        .flat_map(str::lines)
        .find_map(Stream::read)
}

async fn write_text(writer: &mut BufWriter<OwnedWriteHalf>, text: &str) -> std::io::Result<()> {
    // A piece needs no escapes.
    let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    write_chunk(writer, &event).await
}

async fn write_chunk(writer: &mut BufWriter<OwnedWriteHalf>, text: &str) -> std::io::Result<()> {
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    writer.write_all(chunk.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream = Stream {
        count: 3,
        gap: Duration::from_millis(1),
        bytes: 40,
    };

    #[test]
    fn a_prompt_says_what_is_streamed() {
        assert_eq!(Stream::read(&STREAM.prompt()), Some(STREAM));
        for other in ["stream", "stream 1 2", "stream 1 2 x", "say hello"] {
            assert_eq!(Stream::read(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_user_who_is_answered_with_tools_gets_a_stream() {
        let user = json!({ "role": "user", "content": STREAM.prompt() });
        let blocks = json!({ "role": "user", "content": [{ "type": "text", "text": STREAM.prompt() }] });
        let tools = json!([{}]);
        for (messages, tools, stream) in [
            (json!([user]), &tools, Some(STREAM)),
            (json!([blocks]), &tools, Some(STREAM)),
            (json!([user]), &json!([]), None),
            (json!([user, { "role": "tool", "content": "" }]), &tools, None),
        ] {
            let body = json!({ "messages": messages, "tools": tools });
            assert_eq!(asked(body.to_string().as_bytes()), stream, "{body}");
        }
    }
}
