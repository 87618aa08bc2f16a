//! How fast a server may write: what it sends is read at a bounded rate, and one that floods all the same is given up.
//!
//! Not reading is what slows a server: its pipe fills up. Costs a few counters and 256 bytes a stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::SetOnce;
use tokio::time::{Instant, Sleep, sleep_until};

/// Largest message a server may send; larger ones are dropped (what `rmcp` takes over HTTP too).
pub(crate) const MAX_MESSAGE: usize = 16 << 20;
/// Bytes that are read of one stream in a microsecond (guess: several times what a useful server sends).
const BYTES_PER_MICROSECOND: u64 = 8;
/// What a line costs besides its bytes: a thousand a second are read.
const LINE: Duration = Duration::from_millis(1);
/// How far ahead of that rate a server may be: 32 MB, or 4000 lines.
const BURST: Duration = Duration::from_secs(4);
/// How long a server may want more than it gets before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the beginning and of the end of a message in which its id is looked for.
const EDGE: usize = 128;

/// Which stream of a server flooded; set once.
pub(crate) type Flooded = Arc<SetOnce<&'static str>>;

/// A server wants more than it gets for longer than [`PATIENCE`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flood;

/// The rate of one stream.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When what was read would have come at the rate.
    due: Instant,
    over_since: Option<Instant>,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            due: Instant::now(),
            over_since: None,
        }
    }

    /// Takes note of what was read. Returns until when nothing more is to be read, if not at once.
    ///
    /// # Errors
    /// [`Flood`].
    pub(crate) fn took(&mut self, now: Instant, bytes: &[u8]) -> Result<Option<Instant>, Flood> {
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        let lines = u32::try_from(lines).unwrap_or(u32::MAX);
        let cost = Duration::from_micros(bytes.len() as u64 / BYTES_PER_MICROSECOND) + LINE * lines;
        if self.due < now + BURST / 2 {
            self.over_since = None;
        }
        self.due = self.due.max(now) + cost;
        if self.due <= now + BURST {
            return Ok(None);
        }
        let since = *self.over_since.get_or_insert(now);
        if now - since > PATIENCE {
            return Err(Flood);
        }
        Ok(Some(self.due - BURST))
    }
}

/// A server's messages at a bounded rate. In the place of one that is too large its call gets an error.
pub(crate) struct Paced<R> {
    from: R,
    pace: Pace,
    rest: Option<Pin<Box<Sleep>>>,
    flooded: Flooded,
    line: Line,
    /// What was read or made up, and not handed on.
    pending: Vec<u8>,
}

/// The line that is being read.
#[derive(Debug, Default)]
struct Line {
    bytes: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl<R> Paced<R> {
    pub(crate) fn new(from: R, flooded: Flooded) -> Self {
        Self {
            from,
            pace: Pace::new(),
            rest: None,
            flooded,
            line: Line::default(),
            pending: Vec::new(),
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Paced<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.pending.is_empty() {
            if let Some(rest) = &mut this.rest {
                ready!(rest.as_mut().poll(context));
                this.rest = None;
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.from).poll_read(context, buffer))?;
            let read = &buffer.filled()[before..];
            let Ok(pause) = this.pace.took(Instant::now(), read) else {
                // The first stream that floods is named.
                drop(this.flooded.set("standard output"));
                return Poll::Ready(Err(io::Error::other("the server floods")));
            };
            this.rest = pause.map(|until| Box::pin(sleep_until(until)));
            let Some(altered) = this.line.follow(read) else {
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
    /// Reads on. Returns what to hand on where that is not what was read.
    fn follow(&mut self, read: &[u8]) -> Option<Vec<u8>> {
        let mut altered = None;
        let mut done = 0;
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            done += piece.len();
            self.bytes += piece.len();
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

    /// Returns the id of the call that a result answers. It is a number of ours, before the result or behind it.
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

/// Returns what a call whose result is dropped is answered with.
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

    #[test]
    fn a_burst_is_read_at_once_and_a_flood_is_slowed_and_then_given_up() {
        let (mut pace, started) = (Pace::new(), Instant::now());
        let (mut now, lines) = (started, vec![b'\n'; 1000]);
        for _ in 0..3 {
            assert_eq!(pace.took(now, &lines), Ok(None));
        }
        let mut read = 0;
        while let Ok(until) = pace.took(now, &lines) {
            now = until.unwrap_or(now);
            read += 1;
        }
        // A thousand a second.
        assert!((5..9).contains(&read), "{read}");
        assert!(now - started < Duration::from_secs(9));
    }

    #[test]
    fn a_server_that_pauses_is_never_given_up() {
        let mut pace = Pace::new();
        let (mut now, large) = (Instant::now(), vec![b'x'; 60 << 20]);
        for _ in 0..20 {
            let until = pace.took(now, &large).unwrap();
            assert!(until.is_none_or(|until| until - now < Duration::from_secs(4)));
            now += Duration::from_secs(8);
        }
    }

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
            let mut paced = Paced::new(text.as_bytes(), Flooded::default());
            let mut read = String::new();
            paced.read_to_string(&mut read).await.unwrap();
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
