//! The writing half of the transport: takes queued messages up to one flush, writes them, and updates the queue's
//! counts.
//!
//! It has a mutex of its own, so that a sender that will wait anyway may write when the connection's task does not.
//! It polls with the waker of the connection's task, which continues where the sender had to stop. It has at most
//! one batch, and one poll writes only a few, so that neither a sender nor the reader is delayed for long.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, ready};

use bobbin_framing::{CloseReason, FrameWriter, FramingError};
use parking_lot::MutexGuard;

use crate::encode::{self, Text};
use crate::log::LogEntry;
use crate::outbox::OutFrame;
use crate::shared::Shared;
use crate::state::State;

/// Most batches written by one poll (a guess). If the transport always accepts more, nothing else ends a poll.
const BATCHES_IN_ROW: usize = 8;

pub(crate) struct Output {
    writer: Box<dyn FrameWriter>,
    /// Taken from the queue and not flushed yet.
    batch: VecDeque<OutFrame>,
    /// Whether it must be polled in the connection's own runtime.
    needs_runtime: bool,
    /// Whether the writer has the batch.
    fed: bool,
    /// The error of a write by a sender, for the connection's task.
    failed: Option<FramingError>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl Output {
    pub(crate) fn new(writer: Box<dyn FrameWriter>) -> Self {
        Self {
            needs_runtime: writer.needs_runtime(),
            writer,
            batch: VecDeque::new(),
            fed: false,
            failed: None,
        }
    }

    /// Takes the next messages of the queue, if the previous ones have been flushed.
    pub(crate) fn take(&mut self, state: &mut State) {
        if !self.batch.is_empty() {
            return;
        }
        state.counters.bytes_written = self.writer.bytes_written();
        state.out.take(&mut self.batch);
    }

    /// Writes batch after batch until the queue is empty. Pending while the transport accepts no more, and after a
    /// number of batches; in that case it has requested another poll.
    pub(crate) fn poll_write(
        &mut self,
        shared: &Shared,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), FramingError>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        for _ in 0..BATCHES_IN_ROW {
            if self.batch.is_empty() {
                let awaited = shared.peek(|state| {
                    self.take(state);
                    state.out.waiting > 0
                });
                if awaited {
                    shared.room.notify_waiters();
                }
            }
            if !self.batch.is_empty() {
                self.feed(shared)?;
                ready!(self.writer.poll_flush(cx))?;
                self.fed = false;
                self.log(shared);
                shared.writer.has_flushed();
                while let Some(frame) = self.batch.pop_front() {
                    if let Some(waiter) = frame.flushed {
                        // The sender may have gone away.
                        let _gone = waiter.send(Ok(()));
                    }
                }
            }
            if shared.writer.is_idle() {
                return Poll::Ready(Ok(()));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Gives the batch to the writer.
    fn feed(&mut self, shared: &Shared) -> Result<(), FramingError> {
        if std::mem::replace(&mut self.fed, true) {
            return Ok(());
        }
        // Only the log needs them.
        let is_logged = shared.log.is_on();
        for frame in &mut self.batch {
            match &mut frame.bytes {
                Text::Short(text) => {
                    self.writer.feed_slice(text)?;
                    if !is_logged {
                        encode::spent(std::mem::take(text));
                    }
                }
                Text::Long(text) if is_logged => self.writer.feed(text.clone())?,
                Text::Long(text) => self.writer.feed(std::mem::take(text))?,
            }
        }
        Ok(())
    }

    fn log(&self, shared: &Shared) {
        if !shared.log.is_on() {
            return;
        }
        for frame in &self.batch {
            let text = String::from_utf8_lossy(&frame.bytes);
            shared.emit(LogEntry::Write(&text));
        }
    }

    /// Returns a number that grows whenever the transport accepts bytes.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }

    pub(crate) fn poll_close(
        &mut self,
        cx: &mut Context<'_>,
        reason: &CloseReason,
    ) -> Poll<Result<(), FramingError>> {
        self.writer.poll_close(cx, reason)
    }

    /// Drops the transport; returns the messages that were not written in full.
    pub(crate) fn into_unwritten(self) -> VecDeque<OutFrame> {
        self.batch
    }
}

impl Shared {
    /// Returns the output for a sender to write by itself, if it is free.
    pub(crate) fn free_output(&self) -> Option<MutexGuard<'_, Option<Output>>> {
        // Only the connection's task calls log callbacks. A writer that will check the queue by itself needs no
        // help.
        if self.log.is_on() || !self.writer.is_idle() {
            return None;
        }
        self.output.try_lock()
    }

    /// Writes taken messages as far as possible without waiting; the connection's task writes the rest.
    pub(crate) fn write_now(&self, output: &mut Output) {
        if let Some(task) = self.task.get() {
            // A sender may be in no runtime, or in one that ends earlier.
            let _entered = output.needs_runtime.then(|| self.runtime.enter());
            let polled = catch_unwind(AssertUnwindSafe(|| {
                output.poll_write(self, &mut Context::from_waker(task))
            }));
            match polled {
                // During shutdown the connection's task must see that everything is written.
                Ok(Poll::Ready(Ok(()))) if !self.is_stopping() => return,
                Ok(Poll::Ready(Ok(())) | Poll::Pending) => {}
                Ok(Poll::Ready(Err(error))) => output.failed = Some(error),
                // The state of the write is unknown after a panic: the connection ends, and the sender goes on.
                Err(_panic) => {
                    output.failed = Some(std::io::Error::other("the transport panicked").into());
                }
            }
        }
        // The lock was taken, so other senders did not call the writer.
        self.peek(|state| state.out.call());
        self.call_writer();
    }
}
