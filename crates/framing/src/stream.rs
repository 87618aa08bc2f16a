//! Asynchronous reader and writer around the pure decoders and encoders of byte streams.
//!
//! The reader has at most the bytes of one unfinished message plus one read. The writer has the frames fed
//! since the last flush, which the peer bounds. Buffers that grew for a large message are released as soon as they
//! are empty.

use std::any::TypeId;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{tcp, unix};

use crate::error::{FramingError, is_disconnect};
use crate::frame::{CloseReason, FrameReader, FrameWriter};

/// Space reserved before a read when no larger message is arriving; also the cost of an idle reader.
const READ_CHUNK: usize = 4 << 10;
/// Most space reserved for one read, whatever length is announced.
const MAX_READ_CHUNK: usize = 256 << 10;
/// Empty buffers over this size are dropped instead of reused.
const MAX_IDLE_BUFFER: usize = 64 << 10;

/// Cuts frames out of a buffer; pure, no IO.
pub trait Decode: Send {
    /// Removes the next frame or error from `buf`; `None` when more bytes are needed.
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>>;

    /// Removes the next item of the rest at end of input; called until it returns `None`.
    fn finish(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>>;

    /// Returns how many more bytes the current message is known to need, or 0.
    fn wanted(&self, buf: &BytesMut) -> usize;

    /// Returns whether a message has arrived only in part.
    fn is_partial(&self, buf: &BytesMut) -> bool;

    /// Returns whether message boundaries are reliable whatever the messages contain, as of the last item.
    fn preserves_boundaries(&self) -> bool;
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
        if self.peak > MAX_IDLE_BUFFER && self.buf.len() <= MAX_IDLE_BUFFER {
            // The start of the next message must not occupy the large allocation of the last one.
            self.buf = BytesMut::from(&self.buf[..]);
            self.peak = self.buf.len();
        }
        Poll::Ready(Some(item))
    }

    /// One read into the buffer: `Ok(0)` is end of input.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let wanted = self.decoder.wanted(&self.buf);
        // The space grows with the received bytes, so an announced length costs nothing by itself.
        let grown = wanted.min(self.buf.len()).clamp(READ_CHUNK, MAX_READ_CHUNK);
        // Small messages share the space of one chunk.
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

    fn preserves_boundaries(&self) -> bool {
        self.decoder.preserves_boundaries()
    }
}

/// A [`FrameWriter`] over any byte stream.
#[derive(Debug)]
pub struct StreamWriter<W, E> {
    io: W,
    encoder: E,
    buf: BytesMut,
    /// Most bytes in the buffer since it was last released; its length says nothing once it is written.
    peak: usize,
    total: u64,
}

impl<W, E> StreamWriter<W, E> {
    /// Creates a writer.
    pub fn new(io: W, encoder: E) -> Self {
        Self {
            io,
            encoder,
            buf: BytesMut::new(),
            peak: 0,
            total: 0,
        }
    }
}

impl<W, E> FrameWriter for StreamWriter<W, E>
where
    W: AsyncWrite + Send + Unpin + 'static,
    E: Encode,
{
    fn feed(&mut self, frame: Bytes) -> Result<(), FramingError> {
        self.feed_slice(&frame)
    }

    fn feed_slice(&mut self, frame: &[u8]) -> Result<(), FramingError> {
        self.encoder.encode(frame, &mut self.buf);
        self.peak = self.peak.max(self.buf.len());
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
                // Unlike an advance, this retains the whole allocation.
                self.buf.clear();
            } else {
                self.buf.advance(count);
            }
        }
        if self.peak > MAX_IDLE_BUFFER {
            self.buf = BytesMut::new();
            self.peak = 0;
        }
        Pin::new(&mut self.io).poll_flush(cx).map_err(Into::into)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _reason: &CloseReason) -> Poll<Result<(), FramingError>> {
        ready!(self.poll_flush(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx).map_err(Into::into)
    }

    fn needs_runtime(&self) -> bool {
        let io = TypeId::of::<W>();
        // These types know their runtime.
        io != TypeId::of::<tcp::OwnedWriteHalf>() && io != TypeId::of::<unix::OwnedWriteHalf>()
    }

    fn bytes_written(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::content_length::{ContentLengthDecoder, ContentLengthEncoder, ContentType};
    use crate::limits::Limits;

    const LARGE: usize = 3 << 20;

    #[tokio::test]
    async fn large_bodies_pass_and_their_buffer_is_not_kept() {
        let (near, mut far) = duplex(1 << 16);
        let mut reader = StreamReader::new(near, ContentLengthDecoder::new(Limits::default()));
        let sending = tokio::spawn(async move {
            let body = "x".repeat(LARGE);
            // The next message has started, which keeps the buffer in use.
            let text = format!("Content-Length: {LARGE}\r\n\r\n{body}Content-");
            far.write_all(text.as_bytes()).await.unwrap();
            far.write_all(b"Length: 2\r\n\r\n{}").await.unwrap();
            far
        });
        let frame = poll_fn(|cx| reader.poll_frame(cx)).await.unwrap().unwrap();
        assert_eq!(frame.len(), LARGE);
        drop(frame);
        assert!(!reader.buf.try_reclaim(LARGE / 2));
        let next = poll_fn(|cx| reader.poll_frame(cx)).await.unwrap().unwrap();
        assert_eq!(next, "{}");
        drop(sending.await.unwrap());
    }

    #[tokio::test]
    async fn the_buffer_of_a_large_message_is_gone_once_it_is_written() {
        let (near, mut far) = duplex(1 << 16);
        let mut writer = StreamWriter::new(near, ContentLengthEncoder::new(ContentType::Omit));
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.unwrap();
            all.len()
        });
        writer.feed(Bytes::from(vec![b'x'; LARGE])).unwrap();
        poll_fn(|cx| writer.poll_flush(cx)).await.unwrap();
        assert!(!writer.buf.try_reclaim(LARGE / 2));
        drop(writer);
        assert!(reading.await.unwrap() > LARGE);
    }

    /// Peer checklist 118: an announced length is not allocated.
    #[tokio::test]
    async fn an_announced_length_takes_no_room_by_itself() {
        for announced in [60 << 20, 2_000_000_000] {
            let (near, mut far) = duplex(1 << 10);
            let mut reader = StreamReader::new(near, ContentLengthDecoder::new(Limits::default()));
            let text = format!("Content-Length: {announced}\r\n\r\n0123456789");
            far.write_all(text.as_bytes()).await.unwrap();
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(reader.poll_frame(&mut cx).is_pending());
            assert!(
                reader.buf.capacity() <= 2 * READ_CHUNK,
                "{}",
                reader.buf.capacity()
            );
            drop(far);
            let end = poll_fn(|cx| reader.poll_frame(cx)).await;
            assert!(
                matches!(end, Some(Err(FramingError::Truncated { have: 10 }))),
                "{end:?}"
            );
            assert!(poll_fn(|cx| reader.poll_frame(cx)).await.is_none());
        }
    }

    /// Peer checklist 132: for any input, the buffer stays within the limit and one read.
    #[tokio::test]
    async fn noise_of_every_kind_does_not_grow_the_buffer() {
        let limits = Limits {
            max_body_bytes: BODY,
            max_header_line_bytes: BODY,
            max_resync_bytes: u64::MAX,
            ..Limits::default()
        };
        take_noise(ContentLengthDecoder::new(limits)).await;
        take_noise(crate::lines::LineDecoder::new(limits)).await;
    }

    const BODY: usize = 1 << 12;

    /// Half a million strings.
    async fn take_noise(decoder: impl Decode) {
        const WORDS: [&[u8]; 5] = [
            b"\n",
            b"Content-Length: 5000\r\n\r\n",
            b"Content-Length: 9\r\n",
            b"\r\n",
            b"{\"\xff",
        ];
        let (near, mut far) = duplex(1 << 14);
        let writing = tokio::spawn(async move {
            let mut state = 0x5eed_u64;
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()
            };
            for _ in 0..100 {
                let mut chunk = Vec::new();
                for _ in 0..5_000 {
                    let noise = random();
                    if noise[0] < 100 {
                        chunk.extend_from_slice(WORDS[usize::from(noise[1]) % WORDS.len()]);
                    }
                    chunk.extend_from_slice(&noise[2..2 + usize::from(noise[0] % 6)]);
                }
                far.write_all(&chunk).await.unwrap();
            }
        });
        let mut reader = StreamReader::new(near, decoder);
        let mut items = 0;
        while let Some(item) = poll_fn(|cx| reader.poll_frame(cx)).await {
            items += 1;
            assert!(item.is_err() || item.is_ok_and(|frame| frame.len() <= BODY));
            assert!(
                reader.buf.capacity() <= 4 * BODY + MAX_READ_CHUNK,
                "{}",
                reader.buf.capacity()
            );
        }
        assert!(items > 1_000, "{items}");
        writing.await.unwrap();
    }
}
