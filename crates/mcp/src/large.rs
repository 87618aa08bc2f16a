//! Messages of a server that are too large to read. A call whose result is too large gets an error instead.
//!
//! Bounded by one read and 256 bytes of the current message; by the whole message while a [`RawResults`] wants one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::raw::RawResults;

/// Largest message of a server; larger ones are dropped. `rmcp` has the same limit over HTTP.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;
/// Bytes at the start and at the end of a message that are searched for its id.
const EDGE: usize = 128;

/// The messages of a server. An error follows each result that is too large.
pub(crate) struct Large<R> {
    from: R,
    line: Line,
    raw: Arc<RawResults>,
    /// Bytes that were read or added, and are not handed on yet.
    pending: Vec<u8>,
}

/// The line that is being read.
#[derive(Debug, Default)]
struct Line {
    bytes: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// The whole line, if its result may be wanted and it is not too large.
    whole: Option<Vec<u8>>,
}

impl<R> Large<R> {
    pub(crate) fn new(from: R, raw: Arc<RawResults>) -> Self {
        Self {
            from,
            raw,
            line: Line::default(),
            pending: Vec::new(),
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Large<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.pending.is_empty() {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.from).poll_read(context, buffer))?;
            let Some(altered) = this.line.follow(&buffer.filled()[before..], &this.raw) else {
                return Poll::Ready(Ok(()));
            };
            buffer.set_filled(before);
            this.pending = altered;
        }
        let fits = this.pending.len().min(buffer.remaining());
        buffer.put_slice(&this.pending[..fits]);
        this.pending.drain(..fits);
        Poll::Ready(Ok(()))
    }
}

impl Line {
    /// Follows the lines in `read`. Returns the bytes to hand on, if they differ from `read`.
    fn follow(&mut self, read: &[u8], raw: &RawResults) -> Option<Vec<u8>> {
        let mut altered = None;
        let mut done = 0;
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            done += piece.len();
            if self.bytes == 0 && raw.are_wanted() {
                self.whole = Some(Vec::new());
            }
            self.bytes += piece.len();
            self.whole = self.whole.take().filter(|_| self.bytes <= MAX_MESSAGE);
            if let Some(whole) = &mut self.whole {
                whole.extend_from_slice(piece);
            }
            let missing = EDGE.saturating_sub(self.head.len()).min(piece.len());
            self.head.extend_from_slice(&piece[..missing]);
            self.tail
                .extend_from_slice(&piece[piece.len().saturating_sub(EDGE)..]);
            self.tail.drain(..self.tail.len().saturating_sub(EDGE));
            if let Some(altered) = &mut altered {
                Vec::extend_from_slice(altered, piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(self);
                if let Some(whole) = &line.whole {
                    raw.note(whole);
                }
                if line.bytes > MAX_MESSAGE
                    && let Some(id) = line.call()
                {
                    let altered = altered.get_or_insert_with(|| read[..done].to_vec());
                    altered.extend_from_slice(too_large(id).as_bytes());
                }
            }
        }
        altered
    }

    /// Returns the id of the call that a result answers. It is a number that Bobbin chose, before or after the result.
    fn call(&self) -> Option<u64> {
        let (head, tail) = (
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&self.tail),
        );
        let before = head.split_once("\"result\"").map_or(&*head, |(before, _)| before);
        let found = before
            .split_once("\"id\":")
            .or_else(|| tail.rsplit_once("\"id\":"));
        let digits = found?.1.trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits[..end].parse().ok()
    }
}

/// Returns the error that answers a call whose result is dropped.
fn too_large(id: u64) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32603,\"message\":\"the result is larger than {} MiB and was \
         dropped; ask for less of it\"}}}}\n",
        MAX_MESSAGE >> 20
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_result_that_is_too_large_is_an_error_of_its_call_wherever_its_id_stands() {
        let long = "x".repeat(MAX_MESSAGE);
        for (text, id) in [
            (
                format!("{{\"jsonrpc\":\"2.0\",\"id\": 5,\"result\":\"{long}\"}}\n"),
                Some(5),
            ),
            (
                format!("{{\"result\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\":12}}\n"),
                Some(12),
            ),
            (format!("{{\"method\":\"{long}\"}}\n"), None),
        ] {
            let text = format!("{{\"id\":1}}\n{text}{{\"id\":2}}\n");
            let mut large = Large::new(text.as_bytes(), Arc::default());
            let mut read = String::new();
            large.read_to_string(&mut read).await.unwrap();
            let lines: Vec<&str> = read.lines().collect();
            assert_eq!((lines[0], lines[lines.len() - 1]), ("{\"id\":1}", "{\"id\":2}"));
            assert_eq!(lines.len(), if id.is_some() { 4 } else { 3 });
            if let Some(id) = id {
                let error: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
                assert_eq!(error["id"], id);
            }
        }
    }
}
