//! The writing half of a connection's task: writes the output, watches for stalls, and ends the connection.
//!
//! It is the last part of a connection to end: when no handler is left and everything is written, or when writing
//! is given up. It then declares the connection stopped.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bobbin_framing::FramingError;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::error::SendError;
use crate::log::Note;
use crate::outbox::OutFrame;
use crate::output::Output;
use crate::shared::Shared;
use crate::stats::Phase;

/// Writes until the connection is over.
pub(crate) async fn run(shared: Arc<Shared>, stopped: Stopped) {
    {
        let mut work = pin!(write(&shared));
        let mut patience = pin!(run_out_of_patience(&shared));
        let out_of_patience = poll_fn(|cx| {
            if work.as_mut().poll(cx).is_ready() {
                return Poll::Ready(false);
            }
            // The start of the shutdown wakes this task.
            if shared.is_stopping() {
                patience.as_mut().poll(cx).map(|()| true)
            } else {
                Poll::Pending
            }
        });
        if out_of_patience.await {
            shared.note(&Note::Warn("gave up on writing the last messages".to_owned()));
        }
    }
    drop(stopped);
}

/// Declares the connection stopped on every way out, even if the task is dropped before its first poll.
#[derive(Debug)]
pub(crate) struct Stopped(Arc<Shared>);

impl Stopped {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A task that is dropped early has skipped the shutdown sequence, so the sequence starts and ends here.
        self.0.start_shutdown();
        release(let_go(&self.0));
        self.0.with(|state, after| {
            release(state.out.break_off());
            state.phase = Phase::Stopped;
            after.changed = true;
        });
    }
}

/// Notifies senders that their messages will never be written.
fn release(frames: impl IntoIterator<Item = OutFrame>) {
    for waiter in frames.into_iter().filter_map(|frame| frame.flushed) {
        // The sender may have gone away.
        let _gone = waiter.send(Err(SendError::Closed));
    }
}

/// Starts with the shutdown; returns when handlers were given up, if the options allow that, and the flush after
/// them took too long.
async fn run_out_of_patience(shared: &Arc<Shared>) {
    if let Some(limit) = shared.options.drain_timeout
        && timeout(limit, shared.closing.cancelled()).await.is_err()
    {
        shared.with(|state, after| state.abandon(&shared.options, after));
        shared.abandon.cancel();
    }
    shared.closing.cancelled().await;
    // As long as the other side accepts bytes, waiting goes on, up to a limit.
    let written = || shared.output.lock().as_ref().map_or(0, Output::bytes_written);
    let over = Instant::now() + shared.options.max_flush_time;
    loop {
        let before = written();
        let look = Instant::now() + shared.options.flush_grace;
        sleep_until(look.min(over)).await;
        if written() == before || look >= over {
            return;
        }
    }
}

async fn write(shared: &Arc<Shared>) {
    if let Err(error) = pump(shared).await {
        // The transport is dropped first, so that the other side sees the end at once.
        let unwritten = let_go(shared);
        shared.note(&Note::Error(format!("write failed: {}", describe(&error))));
        release(unwritten);
        shared.with(|state, after| {
            release(state.out.break_off());
            state.start_shutdown(&shared.options, after);
        });
        shared.room.notify_waiters();
        shared.closing.cancelled().await;
    }
}

/// Drops the transport's writing half; returns the messages being written.
fn let_go(shared: &Shared) -> VecDeque<OutFrame> {
    let output = shared.output.lock().take();
    output.map_or_else(VecDeque::new, |output| {
        shared.peek(|state| state.counters.bytes_written = output.bytes_written());
        output.into_unwritten()
    })
}

/// Writes until the connection may be closed, then closes it.
async fn pump(shared: &Arc<Shared>) -> Result<(), FramingError> {
    let mut patience = Stall::default();
    poll_fn(|cx| {
        let mut slot = shared.output.lock();
        let Some(output) = slot.as_mut() else {
            return Poll::Ready(Ok(()));
        };
        match output.poll_write(shared, cx) {
            Poll::Ready(Ok(())) => {
                patience.timer = None;
                // A message queued after this check requests another check.
                if shared.peek(|state| state.is_closing() && state.out.is_idle()) {
                    Poll::Ready(Ok(()))
                } else {
                    Poll::Pending
                }
            }
            Poll::Ready(Err(error)) => {
                // No sender may write after the close.
                shared.peek(|state| state.out.call());
                Poll::Ready(Err(error))
            }
            Poll::Pending => {
                // It must be polled again, whatever happens to the queue.
                shared.peek(|state| state.out.call());
                match shared.options.write_stall_timeout {
                    Some(stall) => patience.poll(cx, output.bytes_written(), stall).map(Err),
                    None => Poll::Pending,
                }
            }
        }
    })
    .await?;
    let reason = shared.peek(|state| state.close_reason.clone());
    let closed = poll_fn(|cx| match shared.output.lock().as_mut() {
        Some(output) => output.poll_close(cx, &reason),
        None => Poll::Ready(Ok(())),
    });
    if let Err(error) = closed.await {
        shared.note(&Note::Debug(format!("close failed: {}", describe(&error))));
    }
    Ok(())
}

/// Watches a transport that accepts no more bytes for now.
#[derive(Default)]
struct Stall {
    /// Bytes written when the timer was set; most writes finish at once and need no timer.
    timer: Option<(u64, Pin<Box<Sleep>>)>,
}

impl Stall {
    /// Ready when the transport accepted nothing for `stall`.
    fn poll(&mut self, cx: &mut Context<'_>, written: u64, stall: Duration) -> Poll<FramingError> {
        let until = || Instant::now() + stall;
        let (before, timer) = self
            .timer
            .get_or_insert_with(|| (written, Box::pin(sleep_until(until()))));
        if *before != written {
            *before = written;
            timer.as_mut().reset(until());
        }
        timer.as_mut().poll(cx).map(|()| {
            let text = format!("the far end took nothing for {stall:?}");
            FramingError::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
        })
    }
}

/// Returns an error with its causes, on one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
