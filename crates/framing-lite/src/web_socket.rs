//! One message a WebSocket text frame.
//!
//! Fragments are put together, white space around a message is dropped, binary frames are ignored. The
//! server's side pings; a client that does not answer in time is taken for dead. A message over the limit
//! ends the connection with 1009.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::{Close, FrameReader, FrameWriter, Framing, FramingError, Transport};

/// Limits of one WebSocket.
#[derive(Debug, Clone, Copy)]
pub struct WebSocketLimits {
    /// Longest message in bytes.
    pub message_bytes: usize,
    /// How often the other side is pinged; `None`: never.
    pub ping_every: Option<Duration>,
    /// How long its answer may take.
    pub pong_within: Duration,
}

impl Default for WebSocketLimits {
    /// 4 MiB, a ping every 30 s, 10 s for the answer (AppServer protocol 01 §3).
    fn default() -> Self {
        Self {
            message_bytes: 4 << 20,
            ping_every: Some(Duration::from_secs(30)),
            pong_within: Duration::from_secs(10),
        }
    }
}

/// Buffer of each direction: 11 KB a connection instead of 139 KB with the defaults (measured).
const BUFFER_BYTES: usize = 4 << 10;

/// Returns the configuration for a stream with these limits.
pub fn web_socket_config(limits: &WebSocketLimits) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(limits.message_bytes.saturating_mul(4))
        .max_message_size(Some(limits.message_bytes))
        .max_frame_size(Some(limits.message_bytes))
}

/// Makes a transport of a WebSocket whose handshake is done.
pub fn web_socket<S>(stream: WebSocketStream<S>, limits: WebSocketLimits) -> Transport
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sink, stream) = stream.split();
    let heard = Heard::new();
    Transport {
        framing: Framing::WebSocket,
        reader: Box::new(Reader {
            stream,
            heard: heard.clone(),
            limit: limits.message_bytes,
        }),
        writer: Box::new(Writer {
            sink,
            heard,
            limits,
            pinged: None,
            next_ping: None,
        }),
    }
}

/// When the other side was last heard, shared by the two halves.
#[derive(Clone)]
struct Heard {
    start: Instant,
    millis: Arc<AtomicU64>,
}

impl Heard {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            millis: Arc::default(),
        }
    }

    fn now(&self) {
        let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

struct Reader<S> {
    stream: SplitStream<WebSocketStream<S>>,
    heard: Heard,
    limit: usize,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> FrameReader for Reader<S> {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Bytes, FramingError>>> {
        async move {
            loop {
                let message = self.stream.next().await?;
                self.heard.now();
                match message {
                    Ok(Message::Text(text)) => {
                        if let Some(text) = trimmed(text) {
                            return Some(Ok(text));
                        }
                    }
                    Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                    Err(Error::Capacity(_)) => {
                        return Some(Err(FramingError::TooLong {
                            limit: self.limit,
                            fatal: true,
                        }));
                    }
                    Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                        return None;
                    }
                    Err(error) => return Some(Err(FramingError::Broken(error.to_string()))),
                }
            }
        }
        .boxed()
    }
}

/// Drops white space around a message; some clients end a frame with a line end.
fn trimmed(text: Utf8Bytes) -> Option<Bytes> {
    let bytes: Bytes = text.into();
    let kept = bytes.trim_ascii();
    if kept.is_empty() {
        return None;
    }
    Some(bytes.slice_ref(kept))
}

struct Writer<S> {
    sink: SplitSink<WebSocketStream<S>, Message>,
    heard: Heard,
    limits: WebSocketLimits,
    pinged: Option<Instant>,
    next_ping: Option<Instant>,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> FrameWriter for Writer<S> {
    fn write<'a>(&'a mut self, messages: &'a [Bytes]) -> BoxFuture<'a, io::Result<()>> {
        async move {
            for message in messages {
                let text = Utf8Bytes::try_from(message.clone())
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                self.sink
                    .feed(Message::Text(text))
                    .await
                    .map_err(io::Error::other)?;
            }
            self.sink.flush().await.map_err(io::Error::other)
        }
        .boxed()
    }

    fn close(&mut self, close: Close) -> BoxFuture<'_, ()> {
        async move {
            let frame = CloseFrame {
                code: CloseCode::from(close.code),
                reason: close.reason.into(),
            };
            // The other side may be gone already.
            drop(self.sink.send(Message::Close(Some(frame))).await);
            drop(self.sink.close().await);
        }
        .boxed()
    }

    fn idle(&mut self) -> BoxFuture<'_, io::Error> {
        async move {
            let Some(every) = self.limits.ping_every else {
                return std::future::pending().await;
            };
            loop {
                if let Some(pinged) = self.pinged {
                    tokio::time::sleep_until(pinged + self.limits.pong_within).await;
                    self.pinged = None;
                    if self.heard.last() < pinged {
                        return io::Error::new(io::ErrorKind::TimedOut, "no answer to a ping");
                    }
                }
                let at = *self.next_ping.get_or_insert_with(|| Instant::now() + every);
                tokio::time::sleep_until(at).await;
                // Noted before it is sent: a wait that is dropped here must not send another at once.
                let now = Instant::now();
                self.next_ping = Some(now + every);
                self.pinged = Some(now);
                if let Err(error) = self.sink.send(Message::Ping(Bytes::new())).await {
                    return io::Error::other(error);
                }
            }
        }
        .boxed()
    }
}
