//! A child's standard error: its last lines for reports of failures, and each line for a sink.
//!
//! Read until the end of the stream. Bounded by one buffer, one line and [`MAX_LINES`] lines. Without a sink the lines
//! go to the log and are read at a bounded rate. With one, all is read at once, and lines over the rate are lost.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use crate::pace::{Flood, Flooded, Pace};

/// Lines that a report may show.
const MAX_LINES: usize = 30;
/// Longest line of a report; the rest of it is dropped.
const MAX_LINE: usize = 1024;
/// Longest line for a sink; the rest of it is dropped.
const MAX_SINK_LINE: usize = 8 << 10;
/// Bytes read at once: the size of a pipe.
const CHUNK: usize = 64 << 10;

/// A line for a sink, or the number of lost lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line that is not empty, of at most 8 KiB.
    Text(&'a str),
    /// So many lines are lost here: the child wrote faster than they are taken.
    Lost(u64),
}

/// Receives the lines of a child's standard error, in order. Must not wait.
pub type LineSink = Box<dyn FnMut(Line<'_>) + Send>;

/// The last lines that are not empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    /// Returns the lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }

    /// Reads everything that a child writes there, at a bounded rate, and logs it. `hear` gets each line, too.
    pub(crate) async fn follow(
        self,
        name: String,
        mut errors: pipe::Receiver,
        flooded: Flooded,
        mut hear: impl FnMut(&str) + Send,
    ) {
        let mut pace = Pace::new();
        let mut lines = Lines::new(MAX_LINE);
        let mut chunk = vec![0; CHUNK];
        let mut take = |text: &str| {
            // Services log freely there: only a user who asks for it wants to see it.
            tracing::debug!(service = name, line = text, "a service writes");
            self.push(text);
            hear(text);
        };
        while let Some(read) = some(&mut errors, &mut chunk).await {
            lines.read(&chunk[..read], &mut take);
            match pace.read(Instant::now(), &chunk[..read]) {
                Ok(None) => {}
                Ok(Some(until)) => sleep_until(until).await,
                Err(Flood) => {
                    // The first stream that floods is named.
                    drop(flooded.set("standard error"));
                    break;
                }
            }
        }
        lines.end(&mut take);
    }

    /// Reads everything that a child writes there, as fast as it comes. Nothing is logged: the lines are the sink's.
    pub(crate) async fn pour(self, mut errors: pipe::Receiver, mut sink: LineSink) {
        let mut pace = Pace::new();
        let mut lines = Lines::new(MAX_SINK_LINE);
        let mut chunk = vec![0; CHUNK];
        let mut lost = 0;
        // The newest lost line: the child may end with it.
        let mut last = String::new();
        while let Some(read) = some(&mut errors, &mut chunk).await {
            lines.read(&chunk[..read], |text| {
                if !pace.takes(Instant::now(), text) {
                    lost += 1;
                    text.clone_into(&mut last);
                    return;
                }
                if lost > 0 {
                    sink(Line::Lost(std::mem::take(&mut lost)));
                }
                self.push(text);
                sink(Line::Text(text));
            });
        }
        // The last words are never lost.
        if lost > 1 {
            sink(Line::Lost(lost - 1));
        }
        if lost > 0 {
            self.push(&last);
            sink(Line::Text(&last));
        }
        lines.end(|text| {
            self.push(text);
            sink(Line::Text(text));
        });
    }

    fn push(&self, text: &str) {
        let mut lines = self.0.lock();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(text[..text.floor_char_boundary(MAX_LINE)].to_owned());
    }
}

/// Returns how many bytes were read, `None` at the end.
async fn some(errors: &mut pipe::Receiver, chunk: &mut [u8]) -> Option<usize> {
    match errors.read(chunk).await {
        Ok(0) | Err(_) => None,
        Ok(read) => Some(read),
    }
}

/// Bytes cut into lines that are not empty.
struct Lines {
    /// The start of the next line.
    open: Vec<u8>,
    max: usize,
}

impl Lines {
    fn new(max: usize) -> Self {
        let open = Vec::new();
        Self { open, max }
    }

    fn read(&mut self, mut bytes: &[u8], mut take: impl FnMut(&str)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.add(&bytes[..end]);
            self.end(&mut take);
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = self.max - self.open.len();
        self.open.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end(&mut self, mut take: impl FnMut(&str)) {
        let text = String::from_utf8_lossy(&self.open);
        let text = text.trim();
        if !text.is_empty() {
            take(text);
        }
        self.open.clear();
    }
}
