//! The writing half of a connection's task: takes what is queued, as much as one flush carries, writes it, and
//! accounts for it. Ends the connection's life.
//!
//! It outlives everything else of a connection: it ends when no handler is left and everything is written,
//! or when that is given up, and then declares the connection stopped.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bobbin_framing::{FrameWriter, FramingError};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::error::SendError;
use crate::log::{LogEntry, Note};
use crate::outbox::OutFrame;
use crate::shared::Shared;
use crate::stats::Phase;

/// Writes until the connection is over.
pub(crate) async fn run(shared: Arc<Shared>, writer: Box<dyn FrameWriter>) {
    // Declares the connection stopped on every way out, a dropped task among them.
    let stopped = Stopped(Arc::clone(&shared));
    {
        let mut work = pin!(write(&shared, writer));
        let mut patience = pin!(run_out_of_patience(&shared));
        let out_of_patience = poll_fn(|cx| {
            if work.as_mut().poll(cx).is_ready() {
                return Poll::Ready(false);
            }
            // The beginning of the shutdown wakes this task.
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

struct Stopped(Arc<Shared>);

impl Drop for Stopped {
    fn drop(&mut self) {
        // A task that is dropped early has skipped the sequence; what is begun here ends here too.
        self.0.begin_shutdown();
        self.0.with(|state, after| {
            release(state.out.break_off());
            state.phase = Phase::Stopped;
            after.changed = true;
        });
    }
}

/// Tells senders that their messages will never be written.
fn release(frames: impl IntoIterator<Item = OutFrame>) {
    for waiter in frames.into_iter().filter_map(|frame| frame.flushed) {
        // A sender that went away does not care.
        let _gone = waiter.send(Err(SendError::Closed));
    }
}

/// Begins with the shutdown; returns when handlers were given up where they may be, and the flush after them took
/// too long.
async fn run_out_of_patience(shared: &Arc<Shared>) {
    if let Some(limit) = shared.options.drain_timeout
        && timeout(limit, shared.closing.cancelled()).await.is_err()
    {
        shared.with(|state, after| state.abandon(&shared.options, after));
        shared.abandon.cancel();
    }
    shared.closing.cancelled().await;
    sleep(shared.options.flush_grace).await;
}

async fn write(shared: &Arc<Shared>, mut writer: Box<dyn FrameWriter>) {
    if let Err(error) = pump(shared, writer.as_mut()).await {
        // The transport goes first: a far end that still reads is to see the end now.
        drop(writer);
        shared.note(&Note::Error(format!("write failed: {}", describe(&error))));
        shared.with(|state, after| {
            release(state.out.break_off());
            state.begin_shutdown(&shared.options, after);
        });
        shared.room.notify_waiters();
        shared.closing.cancelled().await;
    }
}

/// Writes batch after batch until the connection may be closed, then closes it.
async fn pump(shared: &Arc<Shared>, writer: &mut dyn FrameWriter) -> Result<(), FramingError> {
    let mut batch = Vec::new();
    let mut written = Vec::new();
    loop {
        // One visit to the state accounts for the last batch and takes the next.
        let (closing, awaited) = shared.peek(|state| {
            state.out.done(&written);
            state.counters.messages_written += written.len() as u64;
            state.counters.bytes_written = writer.bytes_written();
            state.out.take(&mut batch);
            state.out.idle = batch.is_empty();
            (state.is_closing(), state.out.waiting > 0)
        });
        if !written.is_empty() {
            for waiter in written.drain(..).filter_map(|frame: OutFrame| frame.flushed) {
                // A sender that went away does not care.
                let _gone = waiter.send(Ok(()));
            }
            if awaited {
                shared.room.notify_waiters();
            }
        }
        if !batch.is_empty() {
            if let Err(error) = write_batch(shared, writer, &batch).await {
                release(batch);
                return Err(error);
            }
            std::mem::swap(&mut batch, &mut written);
        } else if closing {
            break;
        } else {
            next_poll().await;
        }
    }
    let reason = shared.peek(|state| state.close_reason.clone());
    if let Err(error) = poll_fn(|cx| writer.poll_close(cx, &reason)).await {
        shared.note(&Note::Debug(format!("close failed: {}", describe(&error))));
    }
    Ok(())
}

/// Ends this poll of the task.
async fn next_poll() {
    let mut over = false;
    poll_fn(|_| {
        if std::mem::replace(&mut over, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

async fn write_batch(
    shared: &Arc<Shared>,
    writer: &mut dyn FrameWriter,
    batch: &[OutFrame],
) -> Result<(), FramingError> {
    for frame in batch {
        writer.feed(frame.bytes.clone())?;
    }
    flush(writer, shared.options.write_stall_timeout).await?;
    if shared.log.is_on() {
        for frame in batch {
            let text = String::from_utf8_lossy(&frame.bytes);
            shared.emit(LogEntry::Write(
                &shared.options.redaction.apply(frame.method.as_deref(), &text),
            ));
        }
    }
    Ok(())
}

/// Flushes; fails when the transport takes nothing at all for `stall`.
async fn flush(writer: &mut dyn FrameWriter, stall: Option<Duration>) -> Result<(), FramingError> {
    // Most flushes end at once and need no timer.
    if let Poll::Ready(result) = poll_fn(|cx| Poll::Ready(writer.poll_flush(cx))).await {
        return result;
    }
    let Some(stall) = stall else {
        return poll_fn(|cx| writer.poll_flush(cx)).await;
    };
    let mut written = writer.bytes_written();
    let mut timer = pin!(sleep_until(Instant::now() + stall));
    poll_fn(|cx| {
        if let Poll::Ready(result) = writer.poll_flush(cx) {
            return Poll::Ready(result);
        }
        if writer.bytes_written() != written {
            written = writer.bytes_written();
            timer.as_mut().reset(Instant::now() + stall);
        }
        timer.as_mut().poll(cx).map(|()| {
            let text = format!("the far end took nothing for {stall:?}");
            Err(FramingError::Io(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                text,
            )))
        })
    })
    .await
}

/// An error with its causes, on one line.
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
