//! The WebSocket that both halves share.

use std::sync::Arc;
use std::task::Waker;

use futures_util::stream::FusedStream;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::counted::{Counted, Counts};
use super::options::WebSocketOptions;
use super::pinger::Moved;
use super::reader::WebSocketReader;
use super::writer::WebSocketWriter;
use crate::frame::CloseReason;

/// The stream, and the data that the halves share.
pub(super) struct Socket<S> {
    pub(super) stream: WebSocketStream<S>,
    /// The reader's reason to close, if it has one; takes precedence over the closer's.
    pub(super) verdict: Option<CloseReason>,
    /// The writer's waker while its flush waits for the socket. The stream has one waker for flushes; a ping of the
    /// reader must not replace the writer's.
    pub(super) flushing: Option<Waker>,
    /// Bytes of the messages taken from the stream.
    pub(super) taken: u64,
    /// Bytes of the messages handed to the stream.
    pub(super) handed: u64,
    /// Bytes moved by the underlying stream, if it counts them.
    counts: Option<Arc<Counts>>,
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
    split_with(stream, options, None)
}

/// As [`split`], for a WebSocket whose bytes are counted.
pub(crate) fn split_counted<S>(
    stream: WebSocketStream<Counted<S>>,
    options: WebSocketOptions,
) -> (WebSocketReader<Counted<S>>, WebSocketWriter<Counted<S>>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let counts = stream.get_ref().counts();
    split_with(stream, options, Some(counts))
}

fn split_with<S>(
    stream: WebSocketStream<S>,
    options: WebSocketOptions,
    counts: Option<Arc<Counts>>,
) -> (WebSocketReader<S>, WebSocketWriter<S>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let socket = Arc::new(Mutex::new(Socket {
        stream,
        verdict: None,
        flushing: None,
        taken: 0,
        handed: 0,
        counts,
    }));
    (
        WebSocketReader::new(Arc::clone(&socket), &options),
        WebSocketWriter::new(socket, options.close_grace),
    )
}

impl<S> Socket<S> {
    /// Returns the bytes moved in each direction: every byte if they are counted, else whole incoming messages and
    /// pieces of outgoing ones.
    pub(super) fn moved(&self) -> Moved {
        match &self.counts {
            Some(counts) => Moved {
                read: counts.read(),
                written: counts.written(),
            },
            None => Moved {
                read: self.taken,
                written: self.handed,
            },
        }
    }
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

/// Longest close text: a control frame takes 125 bytes, and the code takes two.
const MAX_CLOSE_TEXT: usize = 123;

pub(super) fn close_frame(reason: &CloseReason) -> CloseFrame {
    let text = &reason.text[..reason.text.floor_char_boundary(MAX_CLOSE_TEXT)];
    CloseFrame {
        code: reason.code.into(),
        reason: text.into(),
    }
}
