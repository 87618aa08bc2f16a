//! One command's output on its way from the pipe to the sink and into the capture.
//!
//! Standard output and standard error share one pipe, so the kernel itself keeps the order in which they
//! were written. Bounds: one read of [`CHUNK_BYTES`] and its text are held at a time, the rest waits in
//! the pipe. While the command runs, a full sink holds it back like a full pipe would; once it is being ended,
//! chunks the sink has no room for are left out of the stream (never out of the capture).

use std::fs::File;
use std::io::Read as _;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Captured;
use crate::capture::Capture;
use crate::utf8::Utf8Stream;

/// The largest chunk of text a sink receives, in bytes.
pub const CHUNK_BYTES: usize = 8 * 1024;

/// Chunks that wait in [`output_channel`]: 128 KiB at most (guess: twice a pipe).
const CHANNEL_CHUNKS: usize = 16;

/// Most bytes read after the group was killed. A pipe holds no more unless a process that left
/// the group goes on writing (Linux `pipe-max-size`, default).
const LEFTOVER_BYTES: usize = 1024 * 1024;

/// Receives output as it arrives, in chunks of at most [`CHUNK_BYTES`] that never cut a character.
///
/// A receiver that was dropped does not disturb the command.
pub type OutputSink = mpsc::Sender<String>;

/// Returns a sink with a reasonable bound and its receiver.
pub fn output_channel() -> (OutputSink, mpsc::Receiver<String>) {
    mpsc::channel(CHANNEL_CHUNKS)
}

/// What to do when the sink has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Wait, and so hold the command back.
    Wait,
    /// Leave the chunk out.
    KeepUp,
}

/// Reads a command's output and hands it on.
#[derive(Debug)]
pub(crate) struct Output {
    /// `None` after the end of the output.
    pipe: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    decoder: Utf8Stream,
    capture: Capture,
    sink: Option<OutputSink>,
    /// Text that is captured but not yet with the sink.
    ready: String,
    pace: Pace,
    total_bytes: u64,
    last_read: Instant,
}

impl Output {
    /// Returns the reader of `pipe` that keeps up to `captured_bytes`.
    pub(crate) fn new(pipe: pipe::Receiver, sink: Option<OutputSink>, captured_bytes: usize) -> Self {
        Self {
            pipe: Some(pipe),
            buffer: vec![0; CHUNK_BYTES].into_boxed_slice(),
            decoder: Utf8Stream::default(),
            capture: Capture::new(captured_bytes),
            sink,
            ready: String::new(),
            pace: Pace::Wait,
            total_bytes: 0,
            last_read: Instant::now(),
        }
    }

    /// Returns whether nobody holds the other end of the pipe any more.
    pub(crate) fn ended(&self) -> bool {
        self.pipe.is_none()
    }

    /// Returns when the last bytes arrived, or when reading began.
    pub(crate) fn last_read(&self) -> Instant {
        self.last_read
    }

    /// Stops waiting for the sink.
    pub(crate) fn keep_up(&mut self) {
        self.pace = Pace::KeepUp;
    }

    /// Moves output until its end.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing that was read is lost when the future is dropped.
    pub(crate) async fn pump(&mut self) {
        loop {
            self.hand_over().await;
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut self.buffer).await {
                Ok(0) => self.pipe = None,
                Ok(count) => self.accept(count),
                Err(error) => {
                    tracing::warn!(%error, "cannot read a child's output");
                    self.pipe = None;
                }
            }
        }
    }

    /// Moves what is still in the pipe, without waiting for more to be written.
    ///
    /// # Cancel safety
    ///
    /// Safe, and can be called again.
    pub(crate) async fn flush(&mut self) {
        self.hand_over().await;
        // The runtime's own reads believe a readiness that may be older than the last bytes, so this asks
        // the kernel itself.
        let fd = self.pipe.take().and_then(|pipe| pipe.into_nonblocking_fd().ok());
        if let Some(mut pipe) = fd.map(File::from) {
            let mut left = LEFTOVER_BYTES;
            while left > 0 {
                match pipe.read(&mut self.buffer) {
                    Ok(count) if count > 0 => {
                        left = left.saturating_sub(count);
                        self.accept(count);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    // The end, or nothing there now.
                    _ => break,
                }
            }
        }
        let kept = self.ready.len();
        self.decoder.finish(&mut self.ready);
        self.capture.push(&self.ready[kept..]);
        self.hand_over().await;
    }

    /// Returns what was captured.
    pub(crate) fn into_captured(self) -> Captured {
        self.capture.finish(self.total_bytes)
    }

    /// Takes the first `count` bytes of the buffer in.
    fn accept(&mut self, count: usize) {
        self.total_bytes += count as u64;
        self.last_read = Instant::now();
        let kept = self.ready.len();
        self.decoder.push(&self.buffer[..count], &mut self.ready);
        self.capture.push(&self.ready[kept..]);
    }

    /// Gives the sink what is ready for it.
    async fn hand_over(&mut self) {
        while !self.ready.is_empty() {
            let Some(sink) = &self.sink else {
                self.ready.clear();
                return;
            };
            let permit = match self.pace {
                Pace::Wait => sink.reserve().await.ok(),
                Pace::KeepUp => sink.try_reserve().ok(),
            };
            match permit {
                Some(permit) => permit.send(take_chunk(&mut self.ready)),
                // No room that we would wait for, or nobody there.
                None => self.ready.clear(),
            }
        }
    }
}

/// Cuts the next chunk off `ready`.
fn take_chunk(ready: &mut String) -> String {
    let rest = ready.split_off(ready.floor_char_boundary(CHUNK_BYTES));
    std::mem::replace(ready, rest)
}
