//! One message per `\n`-ended line.
//!
//! A line over the limit is dropped as it arrives and reported once, at its end. Wire rules: peer spec 3.2;
//! AppServer protocol 01 §2.

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr2};

use crate::error::FramingError;
use crate::limits::Limits;
use crate::stream::{Decode, Encode};

/// Cuts lines out of a byte stream.
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    /// Bytes at the head of the buffer known to contain no line end.
    scanned: usize,
    /// Inside a line that is over the limit.
    skipping: bool,
}

impl LineDecoder {
    /// Creates a decoder; only the body limit of `limits` applies.
    pub fn new(limits: Limits) -> Self {
        Self {
            limit: limits.max_body_bytes,
            scanned: 0,
            skipping: false,
        }
    }

    fn too_large(&self) -> FramingError {
        FramingError::TooLarge { limit: self.limit }
    }

    /// Returns the message of a line without its line feed; `None` for a blank line. White space counts towards the
    /// limit, which must not depend on how the bytes arrive.
    fn line(&self, line: Bytes) -> Option<Result<Bytes, FramingError>> {
        if line.strip_suffix(b"\r").unwrap_or(&line).len() > self.limit {
            return Some(Err(self.too_large()));
        }
        let line = trim(line);
        (!line.is_empty()).then_some(Ok(line))
    }
}

impl Decode for LineDecoder {
    fn decode(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>> {
        // No bytes have arrived since the last call.
        if self.scanned == buf.len() {
            return None;
        }
        loop {
            let Some(end) = memchr(b'\n', &buf[self.scanned..]).map(|at| self.scanned + at) else {
                self.scanned = buf.len();
                // One more byte is allowed, because the carriage return does not count.
                if self.skipping || buf.len() > self.limit.saturating_add(1) {
                    self.skipping = true;
                    self.scanned = 0;
                    buf.clear();
                }
                return None;
            };
            self.scanned = 0;
            if self.skipping {
                self.skipping = false;
                buf.advance(end + 1);
                return Some(Err(self.too_large()));
            }
            let mut line = buf.split_to(end + 1);
            line.truncate(end);
            if let Some(item) = self.line(line.freeze()) {
                return Some(item);
            }
        }
    }

    fn finish(&mut self, buf: &mut BytesMut) -> Option<Result<Bytes, FramingError>> {
        self.scanned = 0;
        if std::mem::take(&mut self.skipping) {
            buf.clear();
            return Some(Err(self.too_large()));
        }
        self.line(buf.split().freeze())
    }

    fn wanted(&self, buf: &BytesMut) -> usize {
        buf.len()
    }

    fn is_partial(&self, buf: &BytesMut) -> bool {
        self.skipping || !buf.is_empty()
    }

    fn preserves_boundaries(&self) -> bool {
        false
    }
}

/// Removes ASCII white space, including the line end, from both ends without copying.
pub(crate) fn trim(line: Bytes) -> Bytes {
    let trimmed = line.trim_ascii();
    if trimmed.len() == line.len() {
        line
    } else {
        line.slice_ref(trimmed)
    }
}

/// Writes frames as lines.
#[derive(Debug, Clone, Copy)]
pub struct LineEncoder;

impl Encode for LineEncoder {
    fn encode(&self, frame: &[u8], out: &mut BytesMut) {
        out.reserve(frame.len() + 1);
        let start = out.len();
        out.extend_from_slice(frame);
        // Raw line ends are legal JSON only between tokens, where a space means the same.
        let mut rest = &mut out[start..];
        while let Some(at) = memchr2(b'\n', b'\r', rest) {
            rest[at] = b' ';
            rest = &mut rest[at + 1..];
        }
        out.extend_from_slice(b"\n");
    }
}
