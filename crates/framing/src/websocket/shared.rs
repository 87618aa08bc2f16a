//! The WebSocket both halves work on.

use std::sync::Arc;
use std::task::Waker;

use futures_util::stream::FusedStream;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::counted::Counted;
use super::options::WebSocketOptions;
use super::reader::WebSocketReader;
use super::writer::WebSocketWriter;
use crate::frame::CloseReason;

/// The stream and what one half has to tell the other.
pub(super) struct Socket<S> {
    pub(super) stream: WebSocketStream<S>,
    /// Set by the reader when it found the reason to close; outranks the closer's own.
    pub(super) verdict: Option<CloseReason>,
    /// The writer's waker while its flush waits for the socket. The stream has one slot for
    /// whoever flushes; a ping of the reader must not push the writer out of it.
    pub(super) flushing: Option<Waker>,
}

pub(super) type SharedSocket<S> = Arc<Mutex<Socket<S>>>;

/// Splits a WebSocket into its reading and writing half.
pub(crate) fn split<S>(
    stream: WebSocketStream<S>,
    options: WebSocketOptions,
) -> (WebSocketReader<S>, WebSocketWriter<S>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let socket = Arc::new(Mutex::new(Socket {
        stream,
        verdict: None,
        flushing: None,
    }));
    (
        WebSocketReader::new(Arc::clone(&socket), &options),
        WebSocketWriter::new(socket, options.close_grace),
    )
}

/// As [`split`], of a WebSocket whose bytes are counted.
pub(crate) fn split_counted<S>(
    stream: WebSocketStream<Counted<S>>,
    options: WebSocketOptions,
) -> (WebSocketReader<Counted<S>>, WebSocketWriter<Counted<S>>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let taken = stream.get_ref().written();
    let (reader, mut writer) = split(stream, options);
    writer.count_by(taken);
    (reader, writer)
}

impl<S> Socket<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    /// Returns whether the stream yields nothing more.
    pub(super) fn is_over(&self) -> bool {
        self.stream.is_terminated()
    }
}

/// Longest close text: a control frame holds 125 bytes, two of them the code.
const MAX_CLOSE_TEXT: usize = 123;

pub(super) fn close_frame(reason: &CloseReason) -> CloseFrame {
    let text = &reason.text[..reason.text.floor_char_boundary(MAX_CLOSE_TEXT)];
    CloseFrame {
        code: reason.code.into(),
        reason: text.into(),
    }
}
