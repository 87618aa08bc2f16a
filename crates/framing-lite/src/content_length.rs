//! One message after a header block, as language servers frame them.
//!
//! Lenient where real peers differ (case, blanks, unknown headers, bare line feeds) and strict about the
//! length. After a framing error, input is dropped up to the next line that holds `content-length:` and
//! digits, so that a stray print on the other side costs one error and not the connection.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Close, FrameReader, FrameWriter, Framing, FramingError, Transport};

/// Longest header line in bytes.
const MAX_LINE: usize = 8 << 10;
/// Most header lines of a message.
const MAX_HEADERS: usize = 64;
/// Most input dropped in search of the next header.
const MAX_RESYNC: usize = 1 << 20;
/// Bytes asked for in one read.
const READ_BYTES: usize = 8 << 10;
/// The header that matters, as it is searched for.
const NAME: &[u8] = b"content-length:";

/// Makes a transport that speaks header blocks and bodies of at most `limit` bytes.
pub fn content_length(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    limit: usize,
) -> Transport {
    Transport {
        framing: Framing::ContentLength,
        reader: Box::new(Reader {
            stream: reader,
            buffer: BytesMut::new(),
            state: State::Headers {
                lines: 0,
                length: None,
            },
            limit,
        }),
        writer: Box::new(Writer {
            stream: writer,
            buffer: Vec::new(),
        }),
    }
}

enum State {
    Headers { lines: usize, length: Option<usize> },
    Body { length: usize },
    Skip { left: usize },
    Resync { dropped: usize },
}

struct Reader<R> {
    stream: R,
    buffer: BytesMut,
    state: State,
    limit: usize,
}

/// What one step over the buffer gave.
enum Taken {
    Message(Result<Bytes, FramingError>),
    Again,
    NeedsMore,
}

impl<R: AsyncRead + Send + Unpin> Reader<R> {
    fn step(&mut self) -> Taken {
        match self.state {
            State::Headers { lines, length } => self.header(lines, length),
            State::Body { length } => {
                if self.buffer.len() < length {
                    return Taken::NeedsMore;
                }
                self.begin();
                Taken::Message(Ok(self.buffer.split_to(length).freeze()))
            }
            State::Skip { left } => {
                let now = left.min(self.buffer.len());
                self.buffer.advance(now);
                if now < left {
                    self.state = State::Skip { left: left - now };
                    return Taken::NeedsMore;
                }
                self.begin();
                Taken::Message(Err(FramingError::TooLong {
                    limit: self.limit,
                    fatal: false,
                }))
            }
            State::Resync { dropped } => self.resync(dropped),
        }
    }

    fn begin(&mut self) {
        self.state = State::Headers {
            lines: 0,
            length: None,
        };
    }

    fn header(&mut self, lines: usize, length: Option<usize>) -> Taken {
        let Some(end) = self.buffer.iter().take(MAX_LINE).position(|&byte| byte == b'\n') else {
            if self.buffer.len() < MAX_LINE {
                return Taken::NeedsMore;
            }
            return self.lost("a header line is too long");
        };
        let line = self.buffer.split_to(end + 1);
        let line = line[..end].strip_suffix(b"\r").unwrap_or(&line[..end]);
        if line.is_empty() {
            return match length {
                // Blank lines before the first header are skipped.
                None if lines == 0 => Taken::Again,
                None => self.lost("there is no Content-Length"),
                Some(0) => {
                    self.begin();
                    Taken::Message(Err(FramingError::Header("the message is empty".to_owned())))
                }
                Some(length) if length > self.limit => {
                    self.state = State::Skip { left: length };
                    Taken::Again
                }
                Some(length) => {
                    self.state = State::Body { length };
                    Taken::Again
                }
            };
        }
        if lines >= MAX_HEADERS {
            return self.lost("there are too many headers");
        }
        match parse(line, length) {
            Ok(length) => {
                self.state = State::Headers {
                    lines: lines + 1,
                    length,
                };
                Taken::Again
            }
            Err(HeaderError::Value(reason)) => self.lost(reason),
            Err(HeaderError::NoHeader) => {
                // The line may hold the next header behind something stray.
                let mut rest = BytesMut::from(line);
                rest.extend_from_slice(b"\n");
                rest.extend_from_slice(&self.buffer);
                self.buffer = rest;
                self.lost("a line is no header")
            }
        }
    }

    fn lost(&mut self, reason: &str) -> Taken {
        self.state = State::Resync { dropped: 0 };
        Taken::Message(Err(FramingError::Header(reason.to_owned())))
    }

    fn resync(&mut self, dropped: usize) -> Taken {
        if dropped > MAX_RESYNC {
            let reason = "no message header was found after an error".to_owned();
            return Taken::Message(Err(FramingError::Broken(reason)));
        }
        let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') else {
            if self.buffer.len() > MAX_LINE {
                let drop = self.buffer.len() - NAME.len() - 32;
                self.buffer.advance(drop);
                self.state = State::Resync {
                    dropped: dropped + drop,
                };
            }
            return Taken::NeedsMore;
        };
        let line = self.buffer[..end].to_ascii_lowercase();
        let found = line
            .windows(NAME.len())
            .rposition(|window| window == NAME)
            .filter(|&at| {
                let value = line[at + NAME.len()..].trim_ascii();
                !value.is_empty() && value.iter().all(u8::is_ascii_digit)
            });
        if let Some(at) = found {
            self.buffer.advance(at);
            self.begin();
        } else {
            self.buffer.advance(end + 1);
            self.state = State::Resync {
                dropped: dropped + end + 1,
            };
        }
        Taken::Again
    }
}

enum HeaderError {
    NoHeader,
    Value(&'static str),
}

/// Reads one header line; returns the length known after it.
fn parse(line: &[u8], known: Option<usize>) -> Result<Option<usize>, HeaderError> {
    let colon = line
        .iter()
        .position(|&byte| byte == b':')
        .ok_or(HeaderError::NoHeader)?;
    let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
    if name.is_empty()
        || !name
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Err(HeaderError::NoHeader);
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return Ok(known);
    }
    let digits = !value.is_empty() && value.len() <= 16 && value.iter().all(u8::is_ascii_digit);
    let parsed = std::str::from_utf8(value)
        .ok()
        .filter(|_| digits)
        .and_then(|text| text.parse().ok());
    match (parsed, known) {
        (None, _) => Err(HeaderError::Value("Content-Length is not a number")),
        (Some(length), Some(other)) if length != other => Err(HeaderError::Value("there are two lengths")),
        (Some(length), _) => Ok(Some(length)),
    }
}

impl<R: AsyncRead + Send + Unpin> FrameReader for Reader<R> {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Bytes, FramingError>>> {
        async move {
            loop {
                match self.step() {
                    Taken::Message(message) => return Some(message),
                    Taken::Again => continue,
                    Taken::NeedsMore => {}
                }
                // Grows with what arrives: an announced length is never allocated up front.
                self.buffer.reserve(READ_BYTES);
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) => {
                        let clean =
                            self.buffer.is_empty() && matches!(self.state, State::Headers { lines: 0, .. });
                        self.buffer.clear();
                        self.begin();
                        return (!clean).then_some(Err(FramingError::Truncated));
                    }
                    Ok(_) => {}
                    Err(error) => return Some(Err(FramingError::Broken(error.to_string()))),
                }
            }
        }
        .boxed()
    }
}

struct Writer<W> {
    stream: W,
    buffer: Vec<u8>,
}

impl<W: AsyncWrite + Send + Unpin> FrameWriter for Writer<W> {
    fn write<'a>(&'a mut self, messages: &'a [Bytes]) -> BoxFuture<'a, io::Result<()>> {
        async move {
            self.buffer.clear();
            for message in messages {
                let header = format!("Content-Length: {}\r\n\r\n", message.len());
                self.buffer.extend_from_slice(header.as_bytes());
                self.buffer.extend_from_slice(message);
            }
            self.stream.write_all(&self.buffer).await?;
            self.stream.flush().await
        }
        .boxed()
    }

    fn close(&mut self, _: Close) -> BoxFuture<'_, ()> {
        async move { drop(self.stream.shutdown().await) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &[u8], chunk: usize) -> Vec<String> {
        let (near, mut far) = tokio::io::duplex(64);
        let input = input.to_vec();
        tokio::spawn(async move {
            for part in input.chunks(chunk) {
                drop(far.write_all(part).await);
            }
        });
        let mut reader = content_length(near, tokio::io::sink(), 20).reader;
        let mut seen = Vec::new();
        while let Some(message) = reader.next().await {
            let fatal = message.as_ref().is_err_and(FramingError::is_fatal);
            seen.push(match message {
                Ok(body) => String::from_utf8_lossy(&body).into_owned(),
                Err(FramingError::TooLong { .. }) => "too long".to_owned(),
                Err(FramingError::Header(_)) => "header".to_owned(),
                Err(FramingError::Truncated) => "truncated".to_owned(),
                Err(FramingError::Broken(_)) => "broken".to_owned(),
            });
            if fatal {
                break;
            }
        }
        seen
    }

    #[tokio::test]
    async fn the_table_of_awkward_headers_reads_the_same_in_any_split() {
        let good = "Content-Length: 2\r\n\r\n{}";
        let table: &[(&str, &[&str])] = &[
            ("content-length:2\n\n{}", &["{}"]),
            (
                "X-A: b\r\nCONTENT-LENGTH :  2  \r\nContent-Type: x; charset=utf-8\r\n\r\n{}",
                &["{}"],
            ),
            (
                "\r\n\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
                &["{}"],
            ),
            ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n", &["header"]),
            ("Content-Length: -5\r\n\r\n", &["header"]),
            ("Content-Length: +5\r\n\r\n", &["header"]),
            ("Content-Length: 0x5\r\n\r\n", &["header"]),
            ("Content-Length: 99999999999999999999\r\n\r\n", &["header"]),
            ("X: y\r\n\r\n", &["header"]),
            ("Content-Length: 0\r\n\r\n", &["header"]),
            ("a stray print\n", &["header"]),
            (
                "Content-Length: 25\r\n\r\n1234567890123456789012345",
                &["too long"],
            ),
            ("{\"a\":1}", &["header"]),
        ];
        for (input, expected) in table {
            let input = format!("{input}{good}");
            let expected: Vec<_> = expected.iter().copied().chain(["{}"]).collect();
            for chunk in [1, 3, 1000] {
                assert_eq!(
                    read(input.as_bytes(), chunk).await,
                    expected,
                    "{input:?} by {chunk}"
                );
            }
        }
    }

    #[tokio::test]
    async fn the_end_inside_a_message_is_reported_and_a_huge_length_allocates_nothing() {
        assert_eq!(read(b"Content-Length: 10\r\n\r\n{}", 100).await, ["truncated"]);
        assert_eq!(read(b"Content-Le", 100).await, ["truncated"]);
        assert_eq!(
            read(b"Content-Length: 2000000000\r\n\r\n0123456789", 100).await,
            ["truncated"]
        );
        assert_eq!(read(b"", 100).await, Vec::<String>::new());
    }
}
