//! One message a line: `\n` ends it, a `\r` before it is dropped, blank lines are skipped.
//!
//! A line over the limit is skipped to its end without being kept. A last line without an end counts.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Close, FrameReader, FrameWriter, Framing, FramingError, Transport};

/// Bytes asked for in one read.
const READ_BYTES: usize = 8 << 10;

/// Makes a transport that speaks lines of at most `limit` bytes.
pub fn lines(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    limit: usize,
) -> Transport {
    Transport {
        framing: Framing::Lines,
        reader: Box::new(LineReader {
            stream: reader,
            buffer: BytesMut::new(),
            scanned: 0,
            skipping: false,
            ended: false,
            limit,
        }),
        writer: Box::new(LineWriter {
            stream: writer,
            buffer: Vec::new(),
        }),
    }
}

struct LineReader<R> {
    stream: R,
    buffer: BytesMut,
    /// Bytes of the buffer known to hold no line end.
    scanned: usize,
    /// The line under way is too long: everything up to its end is dropped.
    skipping: bool,
    ended: bool,
    limit: usize,
}

impl<R: AsyncRead + Send + Unpin> LineReader<R> {
    /// Takes the next whole line out of the buffer, if there is one.
    fn take(&mut self) -> Option<Result<Bytes, FramingError>> {
        loop {
            let found = self.buffer[self.scanned..].iter().position(|&byte| byte == b'\n');
            let Some(end) = found.map(|offset| self.scanned + offset) else {
                self.scanned = self.buffer.len();
                if self.scanned > self.limit {
                    self.skipping = true;
                }
                if self.skipping {
                    self.buffer.clear();
                    self.scanned = 0;
                }
                return None;
            };
            let line = self.buffer.split_to(end);
            self.buffer.advance(1);
            self.scanned = 0;
            if std::mem::take(&mut self.skipping) || line.len() > self.limit {
                return Some(Err(FramingError::TooLong {
                    limit: self.limit,
                    fatal: false,
                }));
            }
            if let Some(line) = message(line) {
                return Some(Ok(line));
            }
        }
    }

    /// Takes what stands behind the last line end when there is no more input.
    fn take_last(&mut self) -> Option<Result<Bytes, FramingError>> {
        self.scanned = 0;
        if std::mem::take(&mut self.skipping) {
            return Some(Err(FramingError::TooLong {
                limit: self.limit,
                fatal: false,
            }));
        }
        message(std::mem::take(&mut self.buffer)).map(Ok)
    }
}

/// Returns a line without its `\r`, or nothing for a blank one.
fn message(mut line: BytesMut) -> Option<Bytes> {
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    let blank = line.iter().all(u8::is_ascii_whitespace);
    (!blank).then(|| line.freeze())
}

impl<R: AsyncRead + Send + Unpin> FrameReader for LineReader<R> {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Bytes, FramingError>>> {
        async move {
            loop {
                if let Some(line) = self.take() {
                    return Some(line);
                }
                if self.ended {
                    return self.take_last();
                }
                self.buffer.reserve(READ_BYTES);
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) => self.ended = true,
                    Ok(_) => {}
                    Err(error) => return Some(Err(FramingError::Broken(error.to_string()))),
                }
            }
        }
        .boxed()
    }
}

struct LineWriter<W> {
    stream: W,
    buffer: Vec<u8>,
}

/// A buffer that grew beyond this for one batch is given back.
const KEEP_BYTES: usize = 256 << 10;

impl<W: AsyncWrite + Send + Unpin> FrameWriter for LineWriter<W> {
    fn write<'a>(&'a mut self, messages: &'a [Bytes]) -> BoxFuture<'a, io::Result<()>> {
        async move {
            self.buffer.clear();
            for message in messages {
                self.buffer.extend_from_slice(message);
                self.buffer.push(b'\n');
            }
            self.stream.write_all(&self.buffer).await?;
            self.stream.flush().await?;
            if self.buffer.capacity() > KEEP_BYTES {
                self.buffer = Vec::new();
            }
            Ok(())
        }
        .boxed()
    }

    fn close(&mut self, _: Close) -> BoxFuture<'_, ()> {
        // The other side may be gone already.
        async move { drop(self.stream.shutdown().await) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader(chunks: Vec<Vec<u8>>, limit: usize) -> Box<dyn FrameReader> {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            for chunk in chunks {
                drop(far.write_all(&chunk).await);
                tokio::task::yield_now().await;
            }
        });
        lines(near, tokio::io::sink(), limit).reader
    }

    async fn all(mut reader: Box<dyn FrameReader>) -> Vec<Result<String, &'static str>> {
        let mut seen = Vec::new();
        while let Some(message) = reader.next().await {
            seen.push(match message {
                Ok(line) => Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(FramingError::TooLong { .. }) => Err("too long"),
                Err(_) => Err("broken"),
            });
        }
        seen
    }

    #[tokio::test]
    async fn both_line_ends_blank_lines_and_a_last_line_without_end() {
        let seen = all(reader(vec![b"one\r\n\n  \ntwo\nthree".to_vec()], 100)).await;
        assert_eq!(seen, [Ok("one".into()), Ok("two".into()), Ok("three".into())]);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_and_the_next_is_read() {
        let long = vec![b'x'; 50_000];
        let seen = all(reader(vec![b"a\n".to_vec(), long, b"\nb\n".to_vec()], 10)).await;
        assert_eq!(seen, [Ok("a".into()), Err("too long"), Ok("b".into())]);
        let seen = all(reader(vec![vec![b'x'; 50_000]], 10)).await;
        assert_eq!(seen, [Err("too long")]);
    }

    #[tokio::test]
    async fn many_messages_go_out_in_one_write() {
        let (near, mut far) = tokio::io::duplex(1024);
        let (read, write) = tokio::io::split(near);
        let mut transport = lines(read, write, 100);
        let messages = [Bytes::from_static(b"{}"), Bytes::from_static(b"[]")];
        transport.writer.write(&messages).await.unwrap();
        let mut seen = [0; 6];
        far.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"{}\n[]\n");
    }

    proptest! {
        /// Any split of the input gives the same messages.
        #[test]
        fn any_split_gives_the_same_lines(
            lines in proptest::collection::vec("[a-z\r\\{é]{0,30}", 0..20),
            cuts in proptest::collection::vec(1usize..9, 0..200),
        ) {
            let text = lines.join("\n").into_bytes();
            let mut chunks = Vec::new();
            let mut rest = text.as_slice();
            for cut in cuts {
                let (chunk, tail) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk.to_vec());
                rest = tail;
            }
            chunks.push(rest.to_vec());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let split = runtime.block_on(async { all(reader(chunks, 25)).await });
            let whole = runtime.block_on(async { all(reader(vec![text], 25)).await });
            prop_assert_eq!(split, whole);
        }
    }
}
