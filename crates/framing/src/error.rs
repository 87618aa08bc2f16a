//! Errors between bytes and frames.
//!
//! Most errors do not end the connection: a reader reports the error as one item and continues with the next
//! message. Only [`FramingError::is_fatal`] errors are followed by end of input.

use std::io;
use std::time::Duration;

/// Why no frame could be read, or why one could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FramingError {
    /// A message over the limit was skipped to its end, without holding it in memory.
    #[error("message is over the limit of {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A WebSocket message over the limit; the connection is being closed with 1009.
    #[error("websocket message is over the limit of {limit} bytes")]
    WebSocketTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// An invalid header block. Input is dropped up to the next credible header.
    #[error("bad header block: {0}")]
    Header(&'static str),
    /// A header block that announced zero bytes.
    #[error("empty message: content length is 0")]
    EmptyMessage,
    /// A body in a charset other than UTF-8; it was skipped.
    #[error("body has unsupported charset {0:?}")]
    Charset(String),
    /// The input ended inside a message.
    #[error("input ended inside a message after {have} bytes")]
    Truncated {
        /// Bytes of the unfinished message that had arrived.
        have: u64,
    },
    /// Too much input arrived without a credible header.
    #[error("no message header found in {dropped} bytes")]
    Lost {
        /// Bytes dropped while searching.
        dropped: u64,
    },
    /// The other side of the WebSocket left a ping unanswered.
    #[error("no sign of life within {0:?} of a ping")]
    KeepAlive(Duration),
    /// The other side of the WebSocket violated RFC 6455.
    #[error("websocket protocol error")]
    WebSocket(#[source] Box<tokio_tungstenite::tungstenite::Error>),
    /// A frame to be written as text is not UTF-8.
    #[error("outgoing frame is not utf-8")]
    NotUtf8,
    /// The other end of a memory pair is gone.
    #[error("the far end is closed")]
    Closed,
    /// The underlying stream failed.
    #[error("stream failed")]
    Io(#[from] io::Error),
}

impl FramingError {
    /// Returns whether the reader that yielded this error will yield nothing more.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Io(error) => is_disconnect(error),
            Self::Lost { .. }
            | Self::WebSocketTooLarge { .. }
            | Self::KeepAlive(_)
            | Self::WebSocket(_)
            | Self::Closed => true,
            Self::TooLarge { .. }
            | Self::Header(_)
            | Self::EmptyMessage
            | Self::Charset(_)
            | Self::Truncated { .. }
            | Self::NotUtf8 => false,
        }
    }
}

/// Returns whether a stream with this error will never yield another byte.
pub(crate) fn is_disconnect(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}
