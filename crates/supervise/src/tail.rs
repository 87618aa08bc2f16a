//! The end of what a child writes to its standard error, for reports of failures; all of it goes to the log.
//!
//! Read at a bounded rate until the end of the stream. Bounded by one buffer and [`MAX_LINES`] lines.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use crate::pace::{Flood, Flooded, Pace};

/// Lines that a report may show.
const MAX_LINES: usize = 30;
/// Longest line; the rest of it is dropped.
const MAX_LINE: usize = 1024;
/// Bytes read at once.
const CHUNK: usize = 4096;

/// The last lines that are not empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    /// Returns the lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }

    /// Reads everything that a child writes there.
    pub(crate) async fn follow(self, name: String, mut errors: pipe::Receiver, flooded: Flooded) {
        let mut pace = Pace::new();
        let mut chunk = vec![0; CHUNK];
        let mut line = Vec::new();
        loop {
            let read = match errors.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            for &byte in &chunk[..read] {
                if byte == b'\n' {
                    self.push(&name, &mut line);
                } else if line.len() < MAX_LINE {
                    line.push(byte);
                }
            }
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
        self.push(&name, &mut line);
    }

    fn push(&self, name: &str, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line).trim().to_owned();
        line.clear();
        if !text.is_empty() {
            // Services log freely there: only a user who asks for it wants to see it.
            tracing::debug!(service = name, line = text, "a service writes");
            let mut lines = self.0.lock();
            if lines.len() == MAX_LINES {
                lines.pop_front();
            }
            lines.push_back(text);
        }
    }
}
