//! The writing half: frames out, then a close frame and a lingering close.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_tungstenite::tungstenite::error::Error as WsError;
use tokio_tungstenite::tungstenite::protocol::Message;

use super::shared::{SharedSocket, Socket, close_frame};
use crate::error::FramingError;
use crate::frame::{CloseReason, FrameWriter};

/// Bytes thrown away per read while waiting for the other side to hang up.
const DISCARD: usize = 4 << 10;

/// A [`FrameWriter`] over a WebSocket.
pub struct WebSocketWriter<S> {
    socket: SharedSocket<S>,
    fed: VecDeque<Bytes>,
    total: u64,
    /// What the stream below has taken, where that is counted.
    taken: Option<Arc<AtomicU64>>,
    close_grace: Duration,
    closing: Closing,
}

/// How far the goodbye has come.
enum Closing {
    /// Not begun.
    Open,
    /// The close frame is handed to the stream.
    Said,
    /// The close frame has left; our side of the stream is being shut.
    Flushed,
    /// Waiting for the other side. Hanging up with its bytes unread would reset the connection
    /// and may destroy the close frame on its way.
    Lingering(Pin<Box<Sleep>>),
}

impl<S> std::fmt::Debug for WebSocketWriter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketWriter")
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl<S> WebSocketWriter<S>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    pub(super) fn new(socket: SharedSocket<S>, close_grace: Duration) -> Self {
        Self {
            socket,
            fed: VecDeque::new(),
            total: 0,
            taken: None,
            close_grace,
            closing: Closing::Open,
        }
    }

    /// Goes by this count from now on.
    pub(super) fn count_by(&mut self, taken: Arc<AtomicU64>) {
        self.taken = Some(taken);
    }
}

fn write_error(error: WsError) -> FramingError {
    match error {
        WsError::Io(error) => FramingError::Io(error),
        WsError::ConnectionClosed | WsError::AlreadyClosed => FramingError::Closed,
        error => FramingError::WebSocket(Box::new(error)),
    }
}

impl<S> FrameWriter for WebSocketWriter<S>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    fn feed(&mut self, frame: Bytes) -> Result<(), FramingError> {
        self.fed.push_back(frame);
        Ok(())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>> {
        let mut socket = self.socket.lock();
        socket.flushing = None;
        let flushed = poll_send(&mut socket, &mut self.fed, &mut self.total, cx);
        if flushed.is_pending() {
            socket.flushing = Some(cx.waker().clone());
        }
        flushed
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, reason: &CloseReason) -> Poll<Result<(), FramingError>> {
        let mut guard = self.socket.lock();
        let socket = &mut *guard;
        socket.flushing = None;
        loop {
            match &mut self.closing {
                Closing::Open => {
                    ready!(poll_send(socket, &mut self.fed, &mut self.total, cx))?;
                    ready!(Pin::new(&mut socket.stream).poll_ready(cx)).map_err(write_error)?;
                    let frame = close_frame(socket.verdict.as_ref().unwrap_or(reason));
                    self.closing = Closing::Said;
                    // Refused when the other side closed first: its close has been answered already.
                    let _refused = Pin::new(&mut socket.stream).start_send(Message::Close(Some(frame)));
                }
                Closing::Said => {
                    // As above: a stream that is closed both ways has nothing to flush.
                    let _closed = ready!(Pin::new(&mut socket.stream).poll_flush(cx));
                    self.closing = Closing::Flushed;
                }
                Closing::Flushed => {
                    ready!(Pin::new(socket.stream.get_mut()).poll_shutdown(cx))?;
                    self.closing = Closing::Lingering(Box::pin(sleep(self.close_grace)));
                }
                Closing::Lingering(grace) => {
                    if grace.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Ok(()));
                    }
                    return poll_hangup(socket, cx).map(Ok);
                }
            }
        }
    }

    fn bytes_written(&self) -> u64 {
        let taken = self.taken.as_ref();
        taken.map_or(self.total, |taken| taken.load(Ordering::Relaxed))
    }
}

/// Hands every fed frame to the stream, one behind the other, and flushes it.
fn poll_send<S>(
    socket: &mut Socket<S>,
    fed: &mut VecDeque<Bytes>,
    total: &mut u64,
    cx: &mut Context<'_>,
) -> Poll<Result<(), FramingError>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = Pin::new(&mut socket.stream);
    while !fed.is_empty() {
        ready!(stream.as_mut().poll_ready(cx)).map_err(write_error)?;
        if let Some(frame) = fed.pop_front() {
            *total += frame.len() as u64;
            let text = frame.try_into().map_err(|_| FramingError::NotUtf8)?;
            stream
                .as_mut()
                .start_send(Message::Text(text))
                .map_err(write_error)?;
        }
    }
    stream.poll_flush(cx).map_err(write_error)
}

/// Reads the other side out: by the protocol while that works, as raw bytes after a broken message.
fn poll_hangup<S>(socket: &mut Socket<S>, cx: &mut Context<'_>) -> Poll<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while !socket.is_over() {
        match ready!(Pin::new(&mut socket.stream).poll_next(cx)) {
            Some(Ok(Message::Close(_))) | None => return Poll::Ready(()),
            Some(_) => {}
        }
    }
    let mut waste = [0; DISCARD];
    loop {
        let mut buf = ReadBuf::new(&mut waste);
        match ready!(Pin::new(socket.stream.get_mut()).poll_read(cx, &mut buf)) {
            Ok(()) if !buf.filled().is_empty() => {}
            Ok(()) | Err(_) => return Poll::Ready(()),
        }
    }
}
