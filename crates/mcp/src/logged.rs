//! What a server writes beside its messages: to the log, and its last line for people who ask why it failed.
//!
//! Read until its end or until the server is given up, at a bounded rate; bounded by one buffer and one line.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use crate::pace::{Flood, Flooded, Pace};

/// Longest line that is kept; the rest of it is passed over.
const MAX_LINE: usize = 1024;
/// Bytes read at once.
const CHUNK: usize = 4096;

/// The last line that said something.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastLine(Arc<Mutex<String>>);

impl LastLine {
    /// Returns it; empty when nothing was said.
    pub(crate) fn get(&self) -> String {
        self.0.lock().clone()
    }

    /// Reads everything that a server writes there.
    pub(crate) async fn follow(self, server: String, mut errors: pipe::Receiver, flooded: Flooded) {
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
                    self.take(&server, &mut line);
                } else if line.len() < MAX_LINE {
                    line.push(byte);
                }
            }
            match pace.took(Instant::now(), &chunk[..read]) {
                Ok(None) => {}
                Ok(Some(until)) => sleep_until(until).await,
                Err(Flood) => {
                    // The first stream that floods is named.
                    drop(flooded.set("standard error"));
                    break;
                }
            }
        }
        self.take(&server, &mut line);
    }

    fn take(&self, server: &str, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line).trim().to_owned();
        line.clear();
        if !text.is_empty() {
            // Servers log whatever they like there: nobody but a person who asks for it wants to see it.
            tracing::debug!(server, line = text, "an MCP server writes");
            *self.0.lock() = text;
        }
    }
}
