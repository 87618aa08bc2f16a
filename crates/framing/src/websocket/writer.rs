//! The writing half: sends frames, then a close frame, and waits for the other side to hang up.
//!
//! A large message is sent in fragments (RFC 6455 section 5.4). Each fragment is passed to the stream once the one
//! before it is sent. So the stream's buffer has at most one fragment, and pings and pongs can be sent between
//! fragments.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_tungstenite::tungstenite::error::Error as WsError;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::shared::{SharedSocket, Socket, close_frame};
use crate::error::FramingError;
use crate::frame::{CloseReason, FrameWriter};

/// Largest fragment, and largest message sent unfragmented. Small enough to limit the stream's buffer, and large
/// enough to make header cost negligible (a guess).
pub(super) const FRAGMENT: usize = 64 << 10;
/// Bytes discarded per read while waiting for the other side to hang up.
const DISCARD: usize = 4 << 10;

/// A [`FrameWriter`] over a WebSocket.
pub struct WebSocketWriter<S> {
    socket: SharedSocket<S>,
    fed: Fed,
    close_grace: Duration,
    closing: Closing,
}

/// Progress of the close.
enum Closing {
    /// Not started.
    Open,
    /// The close frame is passed to the stream.
    Said,
    /// The close frame is sent; this side of the stream is being shut.
    Flushed,
    /// Waiting for the other side. Hanging up with unread bytes would reset the connection and might destroy the
    /// close frame on its way.
    Lingering(Pin<Box<Sleep>>),
}

impl<S> std::fmt::Debug for WebSocketWriter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketWriter")
            .field("fed", &self.fed.frames.len())
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
            fed: Fed::default(),
            close_grace,
            closing: Closing::Open,
        }
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
        self.fed.frames.push_back(frame);
        Ok(())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>> {
        let mut socket = self.socket.lock();
        socket.flushing = None;
        let flushed = poll_send(&mut socket, &mut self.fed, cx);
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
                    ready!(poll_send(socket, &mut self.fed, cx))?;
                    ready!(Pin::new(&mut socket.stream).poll_ready(cx)).map_err(write_error)?;
                    let frame = close_frame(socket.verdict.as_ref().unwrap_or(reason));
                    self.closing = Closing::Said;
                    // Refused when the other side closed first: its close is answered already.
                    let _refused = Pin::new(&mut socket.stream).start_send(Message::Close(Some(frame)));
                }
                Closing::Said => {
                    // Again, a stream that is closed both ways has nothing to flush.
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
        self.socket.lock().moved().written
    }
}

/// Frames to be sent; the first may be sent in part.
#[derive(Default)]
struct Fed {
    frames: VecDeque<Bytes>,
    /// Whether fragments of the first frame have been sent.
    started: bool,
}

impl Fed {
    /// Returns the next message or fragment.
    fn next(&mut self) -> Result<Option<Message>, FramingError> {
        let Some(first) = self.frames.front_mut() else {
            return Ok(None);
        };
        if !self.started && first.len() <= FRAGMENT {
            let whole = self.frames.pop_front().unwrap_or_default();
            let text = whole.try_into().map_err(|_| FramingError::NotUtf8)?;
            return Ok(Some(Message::Text(text)));
        }
        let code = if self.started { Data::Continue } else { Data::Text };
        if !self.started && std::str::from_utf8(first).is_err() {
            return Err(FramingError::NotUtf8);
        }
        let rest = first.split_off(fragment_end(first));
        let last = !rest.has_remaining();
        let fragment = std::mem::replace(first, rest);
        self.started = !last;
        if last {
            self.frames.pop_front();
        }
        Ok(Some(Message::Frame(Frame::message(
            fragment,
            OpCode::Data(code),
            last,
        ))))
    }
}

/// Returns where to cut text: between characters, so that every fragment is valid UTF-8 by itself.
fn fragment_end(text: &[u8]) -> usize {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = text.len().min(FRAGMENT);
    // A character has at most three bytes behind its first.
    (end.saturating_sub(3)..=end)
        .rev()
        .find(|&at| !is_inside(at))
        .unwrap_or(end)
}

/// Hands every fed frame to the stream, one behind the other, and flushes it.
fn poll_send<S>(socket: &mut Socket<S>, fed: &mut Fed, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let mut stream = Pin::new(&mut socket.stream);
        ready!(stream.as_mut().poll_ready(cx)).map_err(write_error)?;
        let Some(message) = fed.next()? else { break };
        let size = message.len() as u64;
        stream.start_send(message).map_err(write_error)?;
        socket.handed += size;
    }
    Pin::new(&mut socket.stream).poll_flush(cx).map_err(write_error)
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
