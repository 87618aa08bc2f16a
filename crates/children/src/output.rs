//! One command's output on its way from the pipe to the sink and into the capture.
//!
//! Standard output and standard error share one pipe, so the kernel preserves the order of writing. At most one
//! read of [`CHUNK_BYTES`] and its text are in memory; the rest waits in the pipe. While the command runs, a full
//! sink blocks it as a full pipe would. While the command is being ended, chunks that do not fit into the sink are
//! left out of the stream, but never out of the capture.

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

/// Most bytes read after the group was killed. A pipe has no more unless a process outside the group goes on
/// writing (Linux `pipe-max-size`, default).
const LEFTOVER_BYTES: usize = 1024 * 1024;

/// Receives output as it arrives, in chunks of at most [`CHUNK_BYTES`] that never split a character.
///
/// Dropping the receiver does not affect the command.
pub type OutputSink = mpsc::Sender<String>;

/// Returns a sink with a reasonable bound and its receiver.
pub fn output_channel() -> (OutputSink, mpsc::Receiver<String>) {
    mpsc::channel(CHANNEL_CHUNKS)
}

/// The treatment of a chunk for which the sink has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// The reader waits, which blocks the command.
    Wait,
    /// The chunk is left out of the stream.
    Drop,
}

/// Reads a command's output and passes it on.
#[derive(Debug)]
pub(crate) struct Output {
    /// `None` after the end of the output.
    pipe: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    decoder: Utf8Stream,
    capture: Capture,
    sink: Option<OutputSink>,
    /// Captured text that the sink has not received yet.
    ready: String,
    pace: Pace,
    total_bytes: u64,
    last_read: Instant,
}

impl Output {
    /// Returns the reader of `pipe` that captures up to `captured_bytes`.
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

    /// Returns whether the other end of the pipe is closed everywhere.
    pub(crate) fn ended(&self) -> bool {
        self.pipe.is_none()
    }

    /// Returns when the last bytes arrived, or when reading began.
    pub(crate) fn last_read(&self) -> Instant {
        self.last_read
    }

    /// Stops waiting for the sink.
    pub(crate) fn never_wait(&mut self) {
        self.pace = Pace::Drop;
    }

    /// Moves output until its end.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses no output.
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

    /// Moves the rest of the pipe without waiting for more output.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe; can be called again.
    pub(crate) async fn flush(&mut self) {
        self.hand_over().await;
        // The runtime caches readiness, which may be older than the last bytes, so this asks the kernel.
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
                    // The end, or an empty pipe.
                    _ => break,
                }
            }
        }
        let old_length = self.ready.len();
        self.decoder.finish(&mut self.ready);
        self.capture.push(&self.ready[old_length..]);
        self.hand_over().await;
    }

    /// Returns the captured output.
    pub(crate) fn into_captured(self) -> Captured {
        self.capture.finish(self.total_bytes)
    }

    /// Accepts the first `count` bytes of the buffer.
    fn accept(&mut self, count: usize) {
        self.total_bytes += count as u64;
        self.last_read = Instant::now();
        let old_length = self.ready.len();
        self.decoder.push(&self.buffer[..count], &mut self.ready);
        self.capture.push(&self.ready[old_length..]);
    }

    /// Passes `ready` to the sink.
    async fn hand_over(&mut self) {
        while !self.ready.is_empty() {
            let Some(sink) = &self.sink else {
                self.ready.clear();
                return;
            };
            let permit = match self.pace {
                Pace::Wait => sink.reserve().await.ok(),
                Pace::Drop => sink.try_reserve().ok(),
            };
            match permit {
                Some(permit) => permit.send(take_chunk(&mut self.ready)),
                // The sink is full and should not block, or its receiver is gone.
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
