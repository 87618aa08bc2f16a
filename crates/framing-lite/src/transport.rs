//! The two halves of a connection, whatever its framing.

use std::future::pending;
use std::io;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::{FramingError, lines};

/// How messages are cut out of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One message a line.
    Lines,
    /// One message after a header block.
    ContentLength,
    /// One message a text frame.
    WebSocket,
}

/// Reads messages.
pub trait FrameReader: Send {
    /// Returns the next message, or `None` at the end of input.
    ///
    /// # Cancel safety
    /// Safe: partial state is kept in the reader.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Bytes, FramingError>>>;
}

/// Writes messages.
pub trait FrameWriter: Send {
    /// Writes messages in order, with one flush at the end.
    ///
    /// # Errors
    /// The stream is broken; how much was written is not known.
    fn write<'a>(&'a mut self, messages: &'a [Bytes]) -> BoxFuture<'a, io::Result<()>>;

    /// Says good-bye where the framing has a way to, and closes.
    fn close(&mut self, close: Close) -> BoxFuture<'_, ()>;

    /// Does what the framing wants done while nothing is written; returns only when the other side is
    /// found to be dead.
    ///
    /// # Cancel safety
    /// Safe.
    fn idle(&mut self) -> BoxFuture<'_, io::Error> {
        Box::pin(pending())
    }
}

/// Why a connection is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// WebSocket close code (RFC 6455 §7.4).
    pub code: u16,
    /// At most 123 bytes of text.
    pub reason: String,
}

impl Close {
    /// The ordinary end.
    pub fn normal() -> Self {
        Self {
            code: 1000,
            reason: String::new(),
        }
    }
}

/// One connection.
pub struct Transport {
    /// Its framing.
    pub framing: Framing,
    /// Its input.
    pub reader: Box<dyn FrameReader>,
    /// Its output.
    pub writer: Box<dyn FrameWriter>,
}

/// Returns two connected transports in memory, with lines as framing.
pub fn memory_pair() -> (Transport, Transport) {
    const PIPE_BYTES: usize = 64 << 10;
    const LINE_BYTES: usize = 16 << 20;
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let end = |stream| {
        let (reader, writer) = tokio::io::split(stream);
        lines(reader, writer, LINE_BYTES)
    };
    (end(ours), end(theirs))
}
