//! The two halves of a framed connection, and the pair of them.
//!
//! Both traits are poll-based so that they can be boxed without an allocation per frame; callers wrap them with
//! `std::future::poll_fn`.

use std::borrow::Cow;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;

use crate::content_length::{ContentLengthDecoder, ContentLengthEncoder, ContentType};
use crate::error::FramingError;
use crate::limits::Limits;
use crate::lines::{LineDecoder, LineEncoder};
use crate::memory::memory_pair;
use crate::stream::{StreamReader, StreamWriter};
use crate::websocket::{Counted, WebSocketOptions, split, split_counted};

/// The reading half of a connection.
pub trait FrameReader: Send {
    /// Yields the next frame, the next read error, or `None` at end of input.
    ///
    /// An error is one item: reading continues after it unless [`FramingError::is_fatal`], after which the next
    /// item is `None`. After `None` the reader is not polled again.
    ///
    /// # Cancel safety
    ///
    /// All partial state stays in the reader; dropping the polling future loses nothing.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FramingError>>>;

    /// Returns whether a message has arrived only in part.
    fn is_partial(&self) -> bool {
        false
    }

    /// Returns the bytes read from the connection so far.
    fn bytes_read(&self) -> u64;

    /// Returns whether message boundaries are reliable whatever the messages contain, as of the last yielded item.
    ///
    /// True for WebSocket. True for Content-Length, except for the first message after the boundaries were lost,
    /// which may be no message. False for lines, where a stray print looks like a broken message.
    fn preserves_boundaries(&self) -> bool;

    /// Returns the reason that the other side gave for its close, once the input has ended. Most framings carry none.
    fn close_reason(&self) -> Option<CloseReason> {
        None
    }
}

/// The writing half of a connection.
pub trait FrameWriter: Send {
    /// Accepts one frame for the next [`poll_flush`](Self::poll_flush).
    ///
    /// # Errors
    ///
    /// Any error means that the frame was not accepted and the connection is unusable.
    fn feed(&mut self, frame: Bytes) -> Result<(), FramingError>;

    /// As [`feed`](Self::feed), for a frame that the caller still owns afterwards.
    ///
    /// # Errors
    ///
    /// As [`feed`](Self::feed).
    fn feed_slice(&mut self, frame: &[u8]) -> Result<(), FramingError> {
        self.feed(Bytes::copy_from_slice(frame))
    }

    /// Writes and flushes everything fed so far.
    ///
    /// # Cancel safety
    ///
    /// Written bytes stay written and the rest stays in the writer; polling again continues.
    ///
    /// # Errors
    ///
    /// Any error means that the connection is unusable.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>>;

    /// Closes the output in the framing's own way. Called after the last flush, with the same `reason` until it is
    /// ready.
    ///
    /// # Errors
    ///
    /// The other side may not have received the close.
    fn poll_close(&mut self, cx: &mut Context<'_>, reason: &CloseReason) -> Poll<Result<(), FramingError>>;

    /// Returns whether polling needs an entered tokio runtime, for its timers and tasks. Sockets do not.
    fn needs_runtime(&self) -> bool {
        true
    }

    /// Returns a number that grows whenever the connection accepts bytes. It distinguishes a stalled write from a slow
    /// one.
    fn bytes_written(&self) -> u64;
}

/// Why a connection is closed, as a WebSocket close frame says it. Other framings just close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReason {
    /// WebSocket close code (RFC 6455 section 7.4).
    pub code: u16,
    /// Short text for the user, cut to the 123 bytes that fit a close frame.
    pub text: Cow<'static, str>,
}

impl CloseReason {
    /// Normal closure.
    pub const NORMAL: u16 = 1000;
    /// The other side violated a rule.
    pub const POLICY: u16 = 1008;
    /// A message was too big.
    pub const TOO_LARGE: u16 = 1009;
    /// This side failed, or gave up on the other side.
    pub const INTERNAL: u16 = 1011;
    /// The service ended or starts again; the other side may connect again.
    pub const RESTART: u16 = 1012;
    /// The other side may try again later.
    pub const TRY_AGAIN: u16 = 1013;

    /// Creates a reason.
    pub fn new(code: u16, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }
}

impl Default for CloseReason {
    fn default() -> Self {
        Self::new(Self::NORMAL, "")
    }
}

/// Both halves of one connection, for a peer.
pub struct Transport {
    /// The reading half.
    pub reader: Box<dyn FrameReader>,
    /// The writing half.
    pub writer: Box<dyn FrameWriter>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

impl Transport {
    /// Joins two halves.
    pub fn new(reader: impl FrameReader + 'static, writer: impl FrameWriter + 'static) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Box::new(writer),
        }
    }

    /// Returns a transport with one JSON text per line.
    pub fn lines<R, W>(read: R, write: W, limits: Limits) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::new(
            StreamReader::new(read, LineDecoder::new(limits)),
            StreamWriter::new(write, LineEncoder),
        )
    }

    /// Returns a transport with header block plus body, without a `Content-Type` of our own.
    pub fn content_length<R, W>(read: R, write: W, limits: Limits) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::content_length_with(read, write, limits, ContentType::Omit)
    }

    /// Returns a transport with header block plus body, with or without a `Content-Type` of our own.
    pub fn content_length_with<R, W>(read: R, write: W, limits: Limits, content_type: ContentType) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::new(
            StreamReader::new(read, ContentLengthDecoder::new(limits)),
            StreamWriter::new(write, ContentLengthEncoder::new(content_type)),
        )
    }

    /// Returns a transport with one text message per message on an established WebSocket, for either end. A message
    /// over 64 KiB is sent in fragments (RFC 6455, 5.4).
    ///
    /// The stream's own configuration limits incoming messages: see [`websocket_config`](crate::websocket_config).
    /// A large incoming message is invisible until it is complete. So [`KeepAlive`](crate::KeepAlive) may take a
    /// slow sender for a dead one, and [`bytes_written`](FrameWriter::bytes_written) grows by whole fragments.
    /// If that matters, use [`counted_websocket`](Self::counted_websocket).
    pub fn websocket<S>(stream: WebSocketStream<S>, options: WebSocketOptions) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (reader, writer) = split(stream, options);
        Self::new(reader, writer)
    }

    /// As [`websocket`](Self::websocket), but [`bytes_read`](FrameReader::bytes_read) and
    /// [`bytes_written`](FrameWriter::bytes_written) count every byte as it moves, including frame headers.
    pub fn counted_websocket<S>(stream: WebSocketStream<Counted<S>>, options: WebSocketOptions) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (reader, writer) = split_counted(stream, options);
        Self::new(reader, writer)
    }

    /// Creates two connected transports that pass frames in memory.
    pub fn memory_pair() -> (Self, Self) {
        let ((near_reader, near_writer), (far_reader, far_writer)) = memory_pair();
        (
            Self::new(near_reader, near_writer),
            Self::new(far_reader, far_writer),
        )
    }

    /// Waits for the next frame, for callers without a peer on top.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: see [`FrameReader::poll_frame`].
    pub async fn next(&mut self) -> Option<Result<Bytes, FramingError>> {
        poll_fn(|cx| self.reader.poll_frame(cx)).await
    }

    /// Writes one frame and flushes it.
    ///
    /// # Errors
    ///
    /// Fails when the connection can no longer be written to.
    pub async fn send(&mut self, frame: Bytes) -> Result<(), FramingError> {
        self.writer.feed(frame)?;
        poll_fn(|cx| self.writer.poll_flush(cx)).await
    }

    /// Closes the output with `reason`.
    ///
    /// # Errors
    ///
    /// Fails when the close could not be written.
    pub async fn close(&mut self, reason: &CloseReason) -> Result<(), FramingError> {
        poll_fn(|cx| self.writer.poll_close(cx, reason)).await
    }
}
