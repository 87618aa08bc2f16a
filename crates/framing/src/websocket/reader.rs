//! The reading half: messages in, pings out.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as WsError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::Message;

use super::options::{BinaryFrames, WebSocketOptions};
use super::pinger::{Due, Pinger};
use super::shared::SharedSocket;
use crate::error::{FramingError, is_disconnect};
use crate::frame::{CloseReason, FrameReader};
use crate::lines::trim;

/// A [`FrameReader`] over a WebSocket.
pub struct WebSocketReader<S> {
    socket: SharedSocket<S>,
    binary: BinaryFrames,
    pinger: Option<Pinger>,
    over: bool,
    /// The reason in the other side's close.
    reason: Option<CloseReason>,
}

impl<S> std::fmt::Debug for WebSocketReader<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketReader")
            .field("over", &self.over)
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
            over: false,
            reason: None,
        }
    }

    /// Ends the connection because of `error`, and sends the reason to the other side.
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
        self.socket.lock().taken += bytes.len() as u64;
        let bytes = trim(bytes);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Converts a read error to an item, or to the end of input if it means only that.
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
        loop {
            match pinger.poll(cx, || self.socket.lock().moved()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Due::Ping) => {
                    let mut socket = self.socket.lock();
                    // A failed send means that the connection is broken, which the next read reports.
                    let _broken = Pin::new(&mut socket.stream).start_send(Message::Ping(Bytes::new()));
                }
                Poll::Ready(Due::Flush) => {
                    let mut socket = self.socket.lock();
                    let waker = socket.flushing.clone().unwrap_or_else(|| cx.waker().clone());
                    let flushed = Pin::new(&mut socket.stream).poll_flush(&mut Context::from_waker(&waker));
                    if flushed.is_pending() {
                        return Poll::Pending;
                    }
                    pinger.flushed(socket.moved());
                }
                Poll::Ready(Due::End) => {
                    let error = FramingError::KeepAlive(pinger.timeout());
                    return Poll::Ready(self.fail(error, CloseReason::INTERNAL, "no answer to ping"));
                }
            }
        }
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
                Poll::Ready(Some(Ok(Message::Close(frame)))) => {
                    self.reason =
                        frame.map(|said| CloseReason::new(said.code.into(), said.reason.to_string()));
                    self.over = true;
                }
                Poll::Ready(None) => self.over = true,
                Poll::Ready(Some(Ok(message))) => {
                    if let Some(pinger) = &mut self.pinger {
                        match &message {
                            Message::Pong(_) => pinger.saw_pong(),
                            _ => pinger.saw_life(),
                        }
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
                // Only when nothing is readable can an answer to a ping be missing.
                Poll::Pending => match self.poll_pinger(cx) {
                    Poll::Ready(error) => return Poll::Ready(Some(Err(error))),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
        Poll::Ready(None)
    }

    fn bytes_read(&self) -> u64 {
        self.socket.lock().moved().read
    }

    fn preserves_boundaries(&self) -> bool {
        true
    }

    fn close_reason(&self) -> Option<CloseReason> {
        self.reason.clone()
    }
}
