//! The reading half: messages in, pings out.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep};
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as WsError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::Message;

use super::options::{BinaryFrames, KeepAlive, WebSocketOptions};
use super::shared::SharedSocket;
use crate::error::{FramingError, is_disconnect};
use crate::frame::{CloseReason, FrameReader};
use crate::lines::trim;

/// A [`FrameReader`] over a WebSocket.
pub struct WebSocketReader<S> {
    socket: SharedSocket<S>,
    binary: BinaryFrames,
    pinger: Option<Pinger>,
    total: u64,
    over: bool,
}

/// Sends pings and notices when they stay unanswered.
struct Pinger {
    keep_alive: KeepAlive,
    /// Next ping, or the end of the wait for an answer. Boxed: a timer cannot be moved once armed.
    timer: Pin<Box<Sleep>>,
    waiting: bool,
    unflushed: bool,
}

impl Pinger {
    fn new(keep_alive: KeepAlive) -> Self {
        let timer = Box::pin(sleep(keep_alive.interval));
        Self {
            keep_alive,
            timer,
            waiting: false,
            unflushed: false,
        }
    }

    fn restart(&mut self, after: Duration) {
        let now = Instant::now();
        // An interval past the end of time never comes; the timer stays where it is, far off.
        if let Some(at) = now.checked_add(after) {
            self.timer.as_mut().reset(at);
        }
    }

    /// Anything that arrives shows life, a pong only most plainly: a pong can be stuck behind a
    /// large message.
    fn saw_life(&mut self) {
        if self.waiting {
            self.waiting = false;
            self.restart(self.keep_alive.interval);
        }
    }
}

impl<S> std::fmt::Debug for WebSocketReader<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketReader")
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl<S> WebSocketReader<S>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    pub(super) fn new(socket: SharedSocket<S>, options: &WebSocketOptions) -> Self {
        let pinger = options.keep_alive.map(Pinger::new);
        Self {
            socket,
            binary: options.binary,
            pinger,
            total: 0,
            over: false,
        }
    }

    /// Ends the connection for `error`, telling the other side why.
    fn fail(&mut self, error: FramingError, code: u16, text: &'static str) -> FramingError {
        self.over = true;
        self.socket.lock().verdict = Some(CloseReason::new(code, text));
        error
    }

    fn message(&mut self, message: Message) -> Option<Bytes> {
        let bytes = match message {
            Message::Text(text) => Bytes::from(text),
            Message::Binary(bytes) if self.binary == BinaryFrames::Accept => bytes,
            _ => return None,
        };
        self.total += bytes.len() as u64;
        let bytes = trim(bytes);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Turns a read error into an item, or into the end of input where it says no more than that.
    fn error(&mut self, error: WsError) -> Option<FramingError> {
        match error {
            WsError::Capacity(CapacityError::MessageTooLong { max_size: limit, .. }) => {
                let error = FramingError::WebSocketTooLarge { limit };
                Some(self.fail(error, CloseReason::TOO_LARGE, "message too large"))
            }
            WsError::Io(error) => {
                self.over = true;
                (!is_disconnect(&error)).then_some(FramingError::Io(error))
            }
            WsError::ConnectionClosed
            | WsError::AlreadyClosed
            | WsError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                self.over = true;
                None
            }
            WsError::Utf8(_) => {
                let error = FramingError::WebSocket(Box::new(error));
                Some(self.fail(error, 1007, "text is not utf-8"))
            }
            error => {
                let error = FramingError::WebSocket(Box::new(error));
                Some(self.fail(error, 1002, "protocol error"))
            }
        }
    }

    fn poll_pinger(&mut self, cx: &mut Context<'_>) -> Poll<FramingError> {
        let Some(pinger) = &mut self.pinger else {
            return Poll::Pending;
        };
        while pinger.timer.as_mut().poll(cx).is_ready() {
            if pinger.waiting {
                let error = FramingError::KeepAlive(pinger.keep_alive.timeout);
                return Poll::Ready(self.fail(error, CloseReason::INTERNAL, "no answer to ping"));
            }
            let mut socket = self.socket.lock();
            // A failed send means a broken connection, which the next read reports.
            pinger.unflushed = Pin::new(&mut socket.stream)
                .start_send(Message::Ping(Bytes::new()))
                .is_ok();
            drop(socket);
            pinger.waiting = true;
            pinger.restart(pinger.keep_alive.timeout);
        }
        if pinger.unflushed {
            let mut socket = self.socket.lock();
            let waker = socket.flushing.clone().unwrap_or_else(|| cx.waker().clone());
            let flushed = Pin::new(&mut socket.stream).poll_flush(&mut Context::from_waker(&waker));
            pinger.unflushed = flushed.is_pending();
        }
        Poll::Pending
    }
}

impl<S> FrameReader for WebSocketReader<S>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FramingError>>> {
        while !self.over {
            let polled = Pin::new(&mut self.socket.lock().stream).poll_next(cx);
            match polled {
                Poll::Ready(Some(Ok(Message::Close(_))) | None) => self.over = true,
                Poll::Ready(Some(Ok(message))) => {
                    if let Some(pinger) = &mut self.pinger {
                        pinger.saw_life();
                    }
                    if let Some(frame) = self.message(message) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    if let Some(error) = self.error(error) {
                        return Poll::Ready(Some(Err(error)));
                    }
                }
                // Only now, with nothing left to read, can an answer to a ping be missing.
                Poll::Pending => match self.poll_pinger(cx) {
                    Poll::Ready(error) => return Poll::Ready(Some(Err(error))),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
        Poll::Ready(None)
    }

    fn bytes_read(&self) -> u64 {
        self.total
    }

    fn keeps_boundaries(&self) -> bool {
        true
    }
}
