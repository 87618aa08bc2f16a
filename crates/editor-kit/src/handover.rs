//! The editor's stdio until it is known who serves its workspace.
//!
//! Which workspace that is stands in `initialize`. Until then the editor speaks with the dialect in this
//! process, which answers what may be asked before. At `initialize` the reader stops to look; when a running
//! server takes the editor, input ends here for the dialect and both halves of the stdio are handed over with
//! that one message unread. Nothing else is held back: what follows is still in the input.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bobbin_framing::{CloseReason, FrameReader, FrameWriter, FramingError, Transport};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::OpenRequest;

/// Looks for who serves a workspace. Returns a connection to the server that holds it; `None` when this
/// process serves it, or is to say why nobody can.
pub type Look = Box<dyn Fn(OpenRequest) -> BoxFuture<'static, Option<Transport>> + Send>;

/// An editor that a running server takes.
pub struct Taken {
    /// The editor's stdio.
    pub editor: Transport,
    /// What was read of it already: its `initialize`.
    pub first: Option<Bytes>,
    /// The process that started us, as said there.
    pub parent: Option<i64>,
    /// The server.
    pub server: Transport,
}

/// What has been handed over so far.
#[derive(Default)]
struct Handed {
    reader: Option<Box<dyn FrameReader>>,
    writer: Option<Box<dyn FrameWriter>>,
    /// The `initialize`, who is said to have started us, and who takes the editor.
    joined: Option<(Bytes, Option<i64>, Transport)>,
}

/// Where an editor that is taken is found.
#[derive(Clone, Default)]
pub struct Handover(Arc<Mutex<Handed>>);

impl Handover {
    /// Returns the editor if a server has taken it; called when the dialect here has ended.
    pub fn taken(&self) -> Option<Taken> {
        let Handed {
            reader,
            writer,
            joined,
        } = std::mem::take(&mut *self.0.lock());
        let (first, parent, server) = joined?;
        let editor = Transport {
            reader: reader?,
            writer: writer?,
        };
        Some(Taken {
            editor,
            first: Some(first),
            parent,
            server,
        })
    }
}

/// Returns what a message asks for, if it is the handshake of the dialect.
pub type Recognize = fn(&[u8]) -> Option<OpenRequest>;

/// Wraps an editor's stdio for the dialect in this process.
pub fn wrap(stdio: Transport, recognize: Recognize, look: Look) -> (Transport, Handover) {
    let handover = Handover::default();
    let reader = Reader {
        inner: Some(stdio.reader),
        recognize,
        stage: Stage::Waiting(look),
        handover: handover.clone(),
    };
    let writer = Writer {
        inner: Some(stdio.writer),
        handover: handover.clone(),
    };
    (Transport::new(reader, writer), handover)
}

enum Stage {
    /// For an `initialize`.
    Waiting(Look),
    Looking {
        first: Bytes,
        parent: Option<i64>,
        looking: BoxFuture<'static, Option<Transport>>,
    },
    /// Everything goes to the dialect here.
    Ours,
}

struct Reader {
    /// `None` once handed over.
    inner: Option<Box<dyn FrameReader>>,
    recognize: Recognize,
    stage: Stage,
    handover: Handover,
}

impl FrameReader for Reader {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FramingError>>> {
        loop {
            let Some(inner) = &mut self.inner else {
                return Poll::Ready(None);
            };
            match &mut self.stage {
                Stage::Ours => return inner.poll_frame(cx),
                Stage::Waiting(look) => {
                    let item = ready!(inner.poll_frame(cx));
                    let Some(Ok(frame)) = item else {
                        return Poll::Ready(item);
                    };
                    let Some(wanted) = (self.recognize)(&frame) else {
                        return Poll::Ready(Some(Ok(frame)));
                    };
                    self.stage = Stage::Looking {
                        first: frame,
                        parent: wanted.parent,
                        looking: look(wanted),
                    };
                }
                Stage::Looking {
                    first,
                    parent,
                    looking,
                } => {
                    let server = ready!(looking.poll_unpin(cx));
                    let (first, parent) = (std::mem::take(first), *parent);
                    self.stage = Stage::Ours;
                    let Some(server) = server else {
                        return Poll::Ready(Some(Ok(first)));
                    };
                    let mut handed = self.handover.0.lock();
                    handed.reader = self.inner.take();
                    handed.joined = Some((first, parent, server));
                }
            }
        }
    }

    fn is_partial(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_partial())
    }

    fn bytes_read(&self) -> u64 {
        self.inner.as_ref().map_or(0, |inner| inner.bytes_read())
    }

    fn keeps_boundaries(&self) -> bool {
        true
    }
}

struct Writer {
    /// `None` once handed over.
    inner: Option<Box<dyn FrameWriter>>,
    handover: Handover,
}

impl FrameWriter for Writer {
    fn feed(&mut self, frame: Bytes) -> Result<(), FramingError> {
        self.inner.as_mut().ok_or(FramingError::Closed)?.feed(frame)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>> {
        match &mut self.inner {
            Some(inner) => inner.poll_flush(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, reason: &CloseReason) -> Poll<Result<(), FramingError>> {
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(Ok(()));
        };
        if self.handover.0.lock().joined.is_none() {
            return inner.poll_close(cx, reason);
        }
        ready!(inner.poll_flush(cx))?;
        self.handover.0.lock().writer = self.inner.take();
        Poll::Ready(Ok(()))
    }

    fn bytes_written(&self) -> u64 {
        self.inner.as_ref().map_or(0, |inner| inner.bytes_written())
    }
}

/// Waits for the next frame of a reader.
pub(crate) async fn next(reader: &mut dyn FrameReader) -> Option<Result<Bytes, FramingError>> {
    poll_fn(|cx| reader.poll_frame(cx)).await
}
