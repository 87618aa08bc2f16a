//! HTTP-style header block plus body, as editors and language servers use it.
//!
//! A broken header block does not end the connection. Input is dropped up to the next text like `Content-Length:
//! <digits>`, anywhere in a line, and reading resumes there. The buffer has at most one header line or one body
//! within the limits; other input is dropped as it arrives. Wire rules: peer spec 3.1.

mod header;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

use self::header::{Field, find_length_header};
use crate::error::FramingError;
use crate::limits::Limits;
use crate::stream::{Decode, Encode};

/// Longest plausible announced length, 2^53: the largest integer that every JSON number can represent.
const MAX_ANNOUNCED: u64 = 1 << 53;

/// Cuts Content-Length messages out of a byte stream.
#[derive(Debug)]
pub struct ContentLengthDecoder {
    limits: Limits,
    state: DecoderState,
    /// Bytes at the head of the buffer known to contain no line end.
    scanned: usize,
    trust: Trust,
}

/// How certain it is that the next message is a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Certain: it starts at the end of the message before it.
    Firm,
    /// The boundaries are lost; the next message will be a guess.
    Lost,
    /// A guess: found by searching.
    Found,
}

#[derive(Debug)]
enum DecoderState {
    /// Between messages or inside a header block.
    Header(Block),
    /// Waiting for a body that fits.
    Body { length: usize },
    /// Dropping an unwanted body; reports `error` at its end.
    Skip {
        left: u64,
        taken: u64,
        error: Option<FramingError>,
    },
    /// Searching for the next header after a reported error.
    Resync { dropped: u64 },
}

#[derive(Debug, Default)]
struct Block {
    lines: usize,
    bytes: u64,
    length: Option<u64>,
    charset: Option<String>,
}

impl ContentLengthDecoder {
    /// Creates a decoder.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: DecoderState::Header(Block::default()),
            scanned: 0,
            trust: Trust::Firm,
        }
    }

    fn lose(&mut self, reason: &'static str) -> Result<Bytes, FramingError> {
        self.state = DecoderState::Resync { dropped: 0 };
        self.scanned = 0;
        self.trust = Trust::Lost;
        Err(FramingError::Header(reason))
    }

    /// Reads one header line; `Some` is an item to yield, `None` means continue.
    fn line(&mut self, buf: &mut BytesMut, end: usize) -> Option<Result<Bytes, FramingError>> {
        let DecoderState::Header(block) = &mut self.state else {
            return None;
        };
        let mut line = &buf[..end];
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.limits.max_header_line_bytes {
            // The line stays in the buffer for the search, without its first byte, so that the search does not find
            // it again.
            buf.advance(1);
            return Some(self.lose("header line too long"));
        }
        if line.trim_ascii().is_empty() {
            buf.advance(end + 1);
            self.scanned = 0;
            return if block.lines == 0 {
                None
            } else {
                self.end_of_block()
            };
        }
        block.lines += 1;
        block.bytes += end as u64 + 1;
        let too_many = block.lines > self.limits.max_header_lines;
        let mistake = match header::parse(line) {
            // The line stays in the buffer: a header may follow later in it.
            Field::Garbage => return Some(self.lose("not a header line")),
            _ if too_many => Some("too many header lines"),
            Field::Length(Some(length)) if length <= MAX_ANNOUNCED => {
                let same = block.length.is_none_or(|before| before == length);
                block.length = Some(length);
                (!same).then_some("two different content lengths")
            }
            Field::Length(_) => Some("content length is not a number in range"),
            Field::Charset(charset) => {
                block.charset = Some(charset);
                None
            }
            Field::Other => None,
        };
        buf.advance(end + 1);
        self.scanned = 0;
        mistake.map(|reason| self.lose(reason))
    }

    fn end_of_block(&mut self) -> Option<Result<Bytes, FramingError>> {
        let DecoderState::Header(block) =
            std::mem::replace(&mut self.state, DecoderState::Header(Block::default()))
        else {
            return None;
        };
        self.trust = match self.trust {
            Trust::Lost => Trust::Found,
            Trust::Found | Trust::Firm => Trust::Firm,
        };
        let limit = self.limits.max_body_bytes;
        match (block.length, block.charset) {
            (None, _) => Some(self.lose("no content length")),
            (Some(0), _) => Some(Err(FramingError::EmptyMessage)),
            (Some(left), Some(charset)) => {
                self.state = DecoderState::Skip {
                    left,
                    taken: 0,
                    error: Some(FramingError::Charset(charset)),
                };
                None
            }
            (Some(length), None) => {
                self.state = match usize::try_from(length) {
                    Ok(length) if length <= limit => DecoderState::Body { length },
                    _ => DecoderState::Skip {
                        left: length,
                        taken: 0,
                        error: Some(FramingError::TooLarge { limit }),
                    },
                };
                None
            }
        }
    }

    fn resync(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>> {
        let DecoderState::Resync { dropped } = &mut self.state else {
            return None;
        };
        let (drop, found) = find_length_header(buf, self.limits.max_header_line_bytes);
        buf.advance(drop);
        *dropped += drop as u64;
        let dropped = *dropped;
        if dropped > self.limits.max_resync_bytes {
            self.state = DecoderState::Header(Block::default());
            buf.clear();
            return Some(Err(FramingError::Lost { dropped }));
        }
        if found {
            self.state = DecoderState::Header(Block::default());
            self.scanned = 0;
        }
        None
    }
}

impl Decode for ContentLengthDecoder {
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>> {
        loop {
            match &mut self.state {
                DecoderState::Header(_) => {
                    if let Some(at) = memchr(b'\n', &buf[self.scanned..]) {
                        let end = self.scanned + at;
                        if let Some(item) = self.line(buf, end) {
                            return Some(item);
                        }
                    } else if buf.len() > self.limits.max_header_line_bytes + 1 {
                        // As for a complete line.
                        buf.advance(1);
                        return Some(self.lose("header line too long"));
                    } else {
                        self.scanned = buf.len();
                        return None;
                    }
                }
                DecoderState::Body { length } => {
                    let length = *length;
                    if buf.len() < length {
                        return None;
                    }
                    self.state = DecoderState::Header(Block::default());
                    self.scanned = 0;
                    return Some(Ok(buf.split_to(length).freeze()));
                }
                DecoderState::Skip { left, taken, error } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(buf.len());
                    buf.advance(here);
                    *left -= here as u64;
                    *taken += here as u64;
                    if *left > 0 {
                        return None;
                    }
                    let error = error.take();
                    self.state = DecoderState::Header(Block::default());
                    self.scanned = 0;
                    if let Some(error) = error {
                        return Some(Err(error));
                    }
                }
                DecoderState::Resync { .. } => {
                    if let Some(item) = self.resync(buf) {
                        return Some(item);
                    }
                    if matches!(self.state, DecoderState::Resync { .. }) {
                        return None;
                    }
                }
            }
        }
    }

    fn finish(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>> {
        let left = buf.len() as u64;
        let blank = buf.trim_ascii().is_empty();
        buf.clear();
        self.scanned = 0;
        match std::mem::replace(&mut self.state, DecoderState::Header(Block::default())) {
            DecoderState::Header(block) if block.lines == 0 && blank => None,
            DecoderState::Header(block) => Some(Err(FramingError::Truncated {
                have: block.bytes + left,
            })),
            DecoderState::Body { .. } => Some(Err(FramingError::Truncated { have: left })),
            DecoderState::Skip { taken, .. } => Some(Err(FramingError::Truncated { have: taken })),
            // The loss was reported when the search began.
            DecoderState::Resync { .. } => None,
        }
    }

    fn wanted(&self, buf: &BytesMut) -> usize {
        match &self.state {
            DecoderState::Body { length } => length.saturating_sub(buf.len()),
            _ => 0,
        }
    }

    fn is_partial(&self, buf: &BytesMut) -> bool {
        match &self.state {
            DecoderState::Header(block) => block.lines > 0 || !buf.is_empty(),
            _ => true,
        }
    }

    fn preserves_boundaries(&self) -> bool {
        self.trust == Trust::Firm
    }
}

/// Whether the header block names the content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// Only `Content-Length` is written.
    Omit,
    /// `Content-Type: application/vscode-jsonrpc; charset=utf-8` is written too.
    VscodeJsonRpc,
}

/// Writes frames with a header block.
#[derive(Debug, Clone, Copy)]
pub struct ContentLengthEncoder {
    content_type: ContentType,
}

impl ContentLengthEncoder {
    /// Creates an encoder.
    pub fn new(content_type: ContentType) -> Self {
        Self { content_type }
    }
}

impl Encode for ContentLengthEncoder {
    fn encode(&self, frame: &[u8], out: &mut BytesMut) {
        out.reserve(frame.len() + 32);
        out.extend_from_slice(b"Content-Length: ");
        out.extend_from_slice(frame.len().to_string().as_bytes());
        match self.content_type {
            ContentType::Omit => {}
            ContentType::VscodeJsonRpc => {
                out.extend_from_slice(b"\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8");
            }
        }
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(frame);
    }
}
