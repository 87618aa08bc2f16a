//! The writing half of the transport with what it is writing: takes what is queued, as much as one flush carries,
//! writes it, and accounts for it.
//!
//! Behind a mutex of its own, so that besides the connection's task a sender who is going to wait anyway may write, when
//! nobody else does. It polls with the waker of the connection's task, which goes on where the sender had to stop. Holds one
//! batch at most, and a poll writes a few of them: a sender does not write everybody's messages for ever, nor does the
//! reader wait for that.

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

/// Most batches written by one poll; a guess. Where the transport always takes more, nothing else ends a poll.
const BATCHES_IN_ROW: usize = 8;

pub(crate) struct Output {
    writer: Box<dyn FrameWriter>,
    /// Taken from the queue and not flushed yet.
    batch: VecDeque<OutFrame>,
    /// Whether it is to be polled in the connection's own runtime.
    needs_runtime: bool,
    /// Whether the writer has the batch.
    fed: bool,
    /// What went wrong while a sender wrote; the connection's task has to know.
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

    /// Takes what is next in the queue, if what was taken before has been flushed.
    pub(crate) fn take(&mut self, state: &mut State) {
        if !self.batch.is_empty() {
            return;
        }
        state.counters.bytes_written = self.writer.bytes_written();
        state.out.take(&mut self.batch);
    }

    /// Writes batch after batch until the queue is empty. Pending while the transport takes no more, and after a number
    /// of batches; then it has asked to be polled again.
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
                        // A sender that went away does not care.
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
        // Kept for the log only.
        let kept = shared.log.is_on();
        for frame in &mut self.batch {
            match &mut frame.bytes {
                Text::Short(text) => {
                    self.writer.feed_slice(text)?;
                    if !kept {
                        encode::spent(std::mem::take(text));
                    }
                }
                Text::Long(text) if kept => self.writer.feed(text.clone())?,
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
            let options = &shared.options;
            let text = options
                .redaction
                .outgoing(&frame.methods, &text, options.max_batch);
            shared.emit(LogEntry::Write(&text));
        }
    }

    /// A number that grows whenever the transport takes bytes.
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

    /// Lets the transport go; returns what was not written in full.
    pub(crate) fn into_unwritten(self) -> VecDeque<OutFrame> {
        self.batch
    }
}

impl Shared {
    /// The output, for a sender to write by itself, if nobody is writing.
    pub(crate) fn free_output(&self) -> Option<MutexGuard<'_, Option<Output>>> {
        // Log callbacks are called by the connection only. A writer that will look again by itself needs no help.
        if self.log.is_on() || !self.writer.is_idle() {
            return None;
        }
        self.output.try_lock()
    }

    /// Writes what has been taken, as far as that goes without waiting for anything; the connection's task sees to the rest.
    pub(crate) fn write_now(&self, output: &mut Output) {
        if let Some(task) = self.task.get() {
            // A sender may be in no runtime, or in one that ends sooner.
            let _entered = output.needs_runtime.then(|| self.runtime.enter());
            let polled = catch_unwind(AssertUnwindSafe(|| {
                output.poll_write(self, &mut Context::from_waker(task))
            }));
            match polled {
                // In the end the connection's task is to see that everything is written.
                Ok(Poll::Ready(Ok(()))) if !self.is_stopping() => return,
                Ok(Poll::Ready(Ok(())) | Poll::Pending) => {}
                Ok(Poll::Ready(Err(error))) => output.failed = Some(error),
                // What has been asked for cannot be told any more: the connection ends, and not the sender.
                Err(_panic) => {
                    output.failed = Some(std::io::Error::other("the transport panicked").into());
                }
            }
        }
        // Taken, and so not called for by anyone else.
        self.peek(|state| state.out.call());
        self.call_writer();
    }
}
