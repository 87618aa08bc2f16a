//! The thin asynchronous shell around the pure decoders and encoders of byte streams.
//!
//! The reader holds the bytes of at most one unfinished message plus one read; the writer holds
//! what was fed since the last flush, which the peer bounds. Buffers that a big message blew up are
//! given back as soon as they are empty.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::error::{FramingError, is_disconnect};
use crate::frame::{CloseReason, FrameReader, FrameWriter};

/// Room made before a read when no larger message is under way; also what an idle reader costs.
const READ_CHUNK: usize = 4 << 10;
/// Most room made for one read, however large the announced message.
const MAX_READ_CHUNK: usize = 256 << 10;
/// Empty buffers above this are dropped instead of kept for reuse.
const KEEP_BUFFER: usize = 64 << 10;

/// Cuts frames out of a buffer; pure, no IO.
pub trait Decode: Send {
    /// Takes the next frame or error out of `buf`, or returns `None` when more bytes are needed.
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>>;

    /// Takes what is left at end of input; called until it returns `None`.
    fn finish(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>>;

    /// Returns how many more bytes the message under way is known to need, or 0.
    fn wanted(&self, buf: &BytesMut) -> usize;

    /// Returns whether part of a message stands unfinished.
    fn is_partial(&self, buf: &BytesMut) -> bool;

    /// Returns whether message boundaries hold whatever the messages contain.
    fn keeps_boundaries(&self) -> bool;
}

/// Puts frames into a buffer; pure, no IO.
pub trait Encode: Send {
    /// Appends `frame` with its delimiters to `out`.
    fn encode(&self, frame: &[u8], out: &mut BytesMut);
}

/// A [`FrameReader`] over any byte stream.
#[derive(Debug)]
pub struct StreamReader<R, D> {
    io: R,
    decoder: D,
    buf: BytesMut,
    peak: usize,
    total: u64,
    ended: bool,
    fatal: bool,
}

impl<R, D> StreamReader<R, D> {
    /// Creates a reader.
    pub fn new(io: R, decoder: D) -> Self {
        Self {
            io,
            decoder,
            buf: BytesMut::new(),
            peak: 0,
            total: 0,
            ended: false,
            fatal: false,
        }
    }
}

impl<R, D> StreamReader<R, D>
where
    R: AsyncRead + Send + Unpin,
    D: Decode,
{
    fn deliver(&mut self, item: Result<Bytes, FramingError>) -> Poll<Option<Result<Bytes, FramingError>>> {
        if let Err(error) = &item {
            self.fatal = error.is_fatal();
        }
        if self.buf.is_empty() && self.peak > KEEP_BUFFER {
            self.buf = BytesMut::new();
            self.peak = 0;
        }
        Poll::Ready(Some(item))
    }

    /// One read into the buffer: `Ok(0)` is end of input.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let wanted = self.decoder.wanted(&self.buf);
        // Grows with what arrives: never more room than has already come in, so that an announced
        // length costs nothing by itself.
        let grown = wanted.min(self.buf.len()).clamp(READ_CHUNK, MAX_READ_CHUNK);
        // Small messages share the room of one chunk.
        if self.buf.capacity() - self.buf.len() < READ_CHUNK / 2 {
            self.buf.reserve(grown);
        }
        let read = pin!(self.io.read_buf(&mut self.buf));
        let count = ready!(read.poll(cx))?;
        self.total += count as u64;
        self.peak = self.peak.max(self.buf.len());
        Poll::Ready(Ok(count))
    }
}

impl<R, D> FrameReader for StreamReader<R, D>
where
    R: AsyncRead + Send + Unpin,
    D: Decode,
{
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FramingError>>> {
        loop {
            if self.fatal {
                return Poll::Ready(None);
            }
            if let Some(item) = self.decoder.decode(&mut self.buf) {
                return self.deliver(item);
            }
            if self.ended {
                return match self.decoder.finish(&mut self.buf) {
                    Some(item) => self.deliver(item),
                    None => Poll::Ready(None),
                };
            }
            match ready!(self.poll_fill(cx)) {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = is_disconnect(&error);
                    return self.deliver(Err(error.into()));
                }
            }
        }
    }

    fn is_partial(&self) -> bool {
        self.decoder.is_partial(&self.buf)
    }

    fn bytes_read(&self) -> u64 {
        self.total
    }

    fn keeps_boundaries(&self) -> bool {
        self.decoder.keeps_boundaries()
    }
}

/// A [`FrameWriter`] over any byte stream.
#[derive(Debug)]
pub struct StreamWriter<W, E> {
    io: W,
    encoder: E,
    buf: BytesMut,
    total: u64,
}

impl<W, E> StreamWriter<W, E> {
    /// Creates a writer.
    pub fn new(io: W, encoder: E) -> Self {
        Self {
            io,
            encoder,
            buf: BytesMut::new(),
            total: 0,
        }
    }
}

impl<W, E> FrameWriter for StreamWriter<W, E>
where
    W: AsyncWrite + Send + Unpin,
    E: Encode,
{
    fn feed(&mut self, frame: Bytes) -> Result<(), FramingError> {
        self.encoder.encode(&frame, &mut self.buf);
        Ok(())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>> {
        while self.buf.has_remaining() {
            let count = ready!(Pin::new(&mut self.io).poll_write(cx, &self.buf))?;
            if count == 0 {
                return Poll::Ready(Err(std::io::Error::from(std::io::ErrorKind::WriteZero).into()));
            }
            self.total += count as u64;
            if count == self.buf.len() {
                // Unlike an advance, leaves all of the room in front.
                self.buf.clear();
            } else {
                self.buf.advance(count);
            }
        }
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        if self.buf.capacity() > KEEP_BUFFER {
            self.buf = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _reason: &CloseReason) -> Poll<Result<(), FramingError>> {
        ready!(self.poll_flush(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx).map_err(Into::into)
    }

    fn bytes_written(&self) -> u64 {
        self.total
    }
}
