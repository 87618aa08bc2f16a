//! WebSockets with nothing behind them: a message is echoed; `stream …` is streamed to whoever sent it; `broadcast …`
//! is streamed to every connection as one shared frame, as many frames a write as are there.
//!
//! Bounded by the counts that the driver asks for: the channel holds the longest stream whole, so that nobody waits
//! for a reader and nobody loses a frame.

use std::path::Path;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::provider::Stream;
use crate::stamp;

/// Frames kept for the slowest reader: more than the longest stream has.
const KEPT: usize = 32 << 10;
/// Frames a write.
const BATCH: usize = 64;
/// Read buffer of a connection; the default of 128 KiB would be all that idle connections show.
const READ_BUFFER: usize = 4 << 10;

pub(super) async fn serve(state: &Path) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    super::announce(state, &format!("ws://{}/", listener.local_addr()?))?;
    let frames = Arc::new(broadcast::channel(KEPT).0);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        connections.spawn(connection(stream, Arc::clone(&frames)));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection until it breaks.
async fn connection(stream: TcpStream, frames: Arc<Sender<Utf8Bytes>>) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
    let socket = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await?;
    let (mut sink, mut texts) = socket.split();
    let mut shared = frames.subscribe();
    let mut producers = JoinSet::new();
    loop {
        tokio::select! {
            text = texts.next() => match text {
                Some(Ok(Message::Text(text))) => {
                    if let Some(stream) = text.strip_prefix("broadcast ").and_then(Stream::read) {
                        producers.spawn(produce(stream, Arc::clone(&frames)));
                    } else if let Some(stream) = Stream::read(&text) {
                        let began = Instant::now();
                        for number in 0..stream.count {
                            stream.due(began, number).await;
                            sink.send(Message::Text(frame(number, stream))).await?;
                        }
                    } else {
                        sink.send(Message::Text(text)).await?;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Ok(()),
            },
            text = shared.recv() => deliver(&mut sink, text?, &mut shared).await?,
        }
    }
}

type Sink = futures_util::stream::SplitSink<WebSocketStream<TcpStream>, Message>;

/// Writes a frame, and what else is there with it.
async fn deliver(sink: &mut Sink, first: Utf8Bytes, shared: &mut Receiver<Utf8Bytes>) -> anyhow::Result<()> {
    sink.feed(Message::Text(first)).await?;
    for _ in 1..BATCH {
        let Ok(text) = shared.try_recv() else { break };
        sink.feed(Message::Text(text)).await?;
    }
    Ok(sink.flush().await?)
}

async fn produce(stream: Stream, frames: Arc<Sender<Utf8Bytes>>) {
    let began = Instant::now();
    for number in 0..stream.count {
        stream.due(began, number).await;
        // Nobody to read it: nobody to count it either.
        drop(frames.send(frame(number, stream)));
        if number % BATCH == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// A text as long as the server's notification of the same piece.
fn frame(number: usize, stream: Stream) -> Utf8Bytes {
    let piece = stamp::piece(number, stream.bytes);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"item/agentMessage/delta\",\"params\":{{\"threadId\":\"thread_20261121_abc123\",\
         \"turnId\":\"turn_001\",\"itemId\":\"item_002\",\"delta\":\"{piece}\"}}}}"
    )
    .into()
}
