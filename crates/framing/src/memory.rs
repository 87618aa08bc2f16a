//! Two connected ends that pass whole frames in memory.
//!
//! Each direction has at most [`MAX_FRAMES`] frames and [`MAX_BYTES`] bytes (always at least one frame, of any
//! size). Beyond that the writer waits until the other end reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::error::FramingError;
use crate::frame::{CloseReason, FrameReader, FrameWriter};

/// Most frames in one direction; a guess.
const MAX_FRAMES: usize = 256;
/// Most bytes in one direction; about as many as in a socket's buffer.
const MAX_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
struct Pipe {
    frames: VecDeque<Bytes>,
    bytes: usize,
    closed: bool,
    reason: Option<CloseReason>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn has_room(&self) -> bool {
        self.frames.is_empty() || (self.frames.len() < MAX_FRAMES && self.bytes < MAX_BYTES)
    }

    fn close(&mut self) -> (Option<Waker>, Option<Waker>) {
        self.closed = true;
        (self.reader.take(), self.writer.take())
    }
}

fn wake(wakers: (Option<Waker>, Option<Waker>)) {
    for waker in [wakers.0, wakers.1].into_iter().flatten() {
        waker.wake();
    }
}

/// The reading half of one end of a memory pair.
#[derive(Debug)]
pub struct MemoryReader {
    pipe: Arc<Mutex<Pipe>>,
    total: u64,
}

/// The writing half of one end of a memory pair.
#[derive(Debug)]
pub struct MemoryWriter {
    pipe: Arc<Mutex<Pipe>>,
    fed: VecDeque<Bytes>,
    total: u64,
}

/// Creates two connected ends.
pub fn memory_pair() -> ((MemoryReader, MemoryWriter), (MemoryReader, MemoryWriter)) {
    let (there, back) = (Arc::default(), Arc::default());
    let reader = |pipe: &Arc<Mutex<Pipe>>| MemoryReader {
        pipe: Arc::clone(pipe),
        total: 0,
    };
    let writer = |pipe: &Arc<Mutex<Pipe>>| MemoryWriter {
        pipe: Arc::clone(pipe),
        fed: VecDeque::new(),
        total: 0,
    };
    ((reader(&back), writer(&there)), (reader(&there), writer(&back)))
}

impl FrameReader for MemoryReader {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FramingError>>> {
        let mut pipe = self.pipe.lock();
        let Some(frame) = pipe.frames.pop_front() else {
            if pipe.closed {
                return Poll::Ready(None);
            }
            pipe.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        pipe.bytes -= frame.len();
        let writer = pipe.writer.take();
        drop(pipe);
        wake((None, writer));
        self.total += frame.len() as u64;
        Poll::Ready(Some(Ok(frame)))
    }

    fn bytes_read(&self) -> u64 {
        self.total
    }

    fn preserves_boundaries(&self) -> bool {
        true
    }

    fn close_reason(&self) -> Option<CloseReason> {
        self.pipe.lock().reason.clone()
    }
}

impl Drop for MemoryReader {
    fn drop(&mut self) {
        let wakers = self.pipe.lock().close();
        wake(wakers);
    }
}

impl FrameWriter for MemoryWriter {
    fn feed(&mut self, frame: Bytes) -> Result<(), FramingError> {
        self.fed.push_back(frame);
        Ok(())
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), FramingError>> {
        let mut pipe = self.pipe.lock();
        while !self.fed.is_empty() {
            if pipe.closed {
                return Poll::Ready(Err(FramingError::Closed));
            }
            if !pipe.has_room() {
                pipe.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            if let Some(frame) = self.fed.pop_front() {
                pipe.bytes += frame.len();
                self.total += frame.len() as u64;
                pipe.frames.push_back(frame);
            }
            if let Some(reader) = pipe.reader.take() {
                reader.wake();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>, reason: &CloseReason) -> Poll<Result<(), FramingError>> {
        let mut pipe = self.pipe.lock();
        pipe.reason = Some(reason.clone());
        let wakers = pipe.close();
        drop(pipe);
        wake(wakers);
        Poll::Ready(Ok(()))
    }

    fn bytes_written(&self) -> u64 {
        self.total
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        let wakers = self.pipe.lock().close();
        wake(wakers);
    }
}
