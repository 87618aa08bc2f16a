//! The reading half of a connection's task: takes frames, checks them and dispatches them.
//!
//! It owns the handler tables and the reading half of the transport, and drops both when input ends. It never waits
//! for a handler. It pauses while answers fill the write queue, so that another side that sends requests without
//! reading is bounded. It also pauses after a number of messages, so that the writing half has its turn.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bobbin_framing::{FrameReader, FramingError};
use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::dispatch::Dispatcher;
use crate::handlers::Handlers;
use crate::log::Note;
use crate::options::{EofPolicy, OversizeReply};
use crate::shared::{InLine, Shared};
use crate::stats::{Phase, millis};
use crate::writer::describe;

/// Most messages read in a row while their answers wait to be written (a guess). Far less than the runtime's budget
/// for one poll, which the writing half shares.
const MESSAGES_IN_ROW: u32 = 32;

/// One turn of the reader.
enum Turn {
    Frame(Bytes),
    Error(FramingError),
    End,
    /// Shutdown has started.
    Stop,
}

/// Reads until input ends or shutdown starts, then completes the shutdown.
pub(crate) async fn run(shared: Arc<Shared>, reader: Box<dyn FrameReader>, handlers: Handlers) {
    let ended = read(&shared, reader, handlers).await;
    if ended {
        end_of_input(&shared).await;
    }
    shared.start_shutdown();
}

/// Returns whether the input ended.
async fn read(shared: &Arc<Shared>, mut reader: Box<dyn FrameReader>, handlers: Handlers) -> bool {
    let mut dispatcher = Dispatcher::new(shared, handlers, reader.preserves_boundaries());
    let mut notice = Notice::default();
    let (mut errors_in_row, mut in_row) = (0_u32, 0_u32);
    loop {
        if shared.is_stopping() || (dispatcher.is_congested() && !wait_for_room(shared).await) {
            return false;
        }
        let turn = poll_fn(|cx| {
            let turn = match reader.poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => Turn::Frame(frame),
                Poll::Ready(Some(Err(error))) => Turn::Error(error),
                Poll::Ready(None) => Turn::End,
                // Checked only when nothing is readable: readable messages were sent before the stop.
                Poll::Pending if shared.is_stopping() => Turn::Stop,
                Poll::Pending => {
                    in_row = 0;
                    notice.poll(cx, shared, reader.is_partial());
                    return Poll::Pending;
                }
            };
            notice.clear();
            Poll::Ready(turn)
        })
        .await;
        let good = match turn {
            Turn::Stop => return false,
            Turn::End => return true,
            Turn::Frame(frame) => {
                dispatcher.set_framed(reader.preserves_boundaries());
                dispatcher.frame(&frame, reader.bytes_read())
            }
            // A complete body that declares another charset than UTF-8.
            Turn::Error(error @ FramingError::Charset(_)) => {
                dispatcher.set_framed(reader.preserves_boundaries());
                dispatcher.parse_error(&describe(&error));
                false
            }
            Turn::Error(error) => {
                read_error(shared, &error);
                false
            }
        };
        errors_in_row = if good { 0 } else { errors_in_row + 1 };
        if errors_in_row >= shared.options.max_consecutive_errors {
            shared.note(&Note::Error(format!(
                "{errors_in_row} read errors in a row: connection given up"
            )));
            return true;
        }
        in_row += 1;
        if in_row >= MESSAGES_IN_ROW {
            in_row = 0;
            rest().await;
        }
    }
}

/// Ends this poll of the task and requests another.
async fn rest() {
    let mut rested = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut rested, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Waits until the write queue is within its limits; returns whether reading goes on.
pub(crate) async fn wait_for_room(shared: &Arc<Shared>) -> bool {
    let _in_line = InLine::enter(shared);
    loop {
        let mut room = pin!(shared.room.notified());
        room.as_mut().enable();
        if shared.is_stopping() {
            return false;
        }
        if !shared.peek(|state| state.out.is_congested()) {
            return true;
        }
        // Shutdown notifies too.
        room.await;
    }
}

fn read_error(shared: &Arc<Shared>, error: &FramingError) {
    shared.peek(|state| state.counters.read_errors += 1);
    shared.note(&Note::Error(format!("read error: {}", describe(error))));
    if matches!(error, FramingError::TooLarge { .. })
        && shared.options.oversize_reply == OversizeReply::Always
    {
        crate::dispatch::reply_invalid(shared, "message too large");
    }
}

/// Applies the end-of-input policy before the shutdown sequence.
async fn end_of_input(shared: &Arc<Shared>) {
    shared.note(&Note::Debug("end of input".to_owned()));
    let EofPolicy::DrainFirst(patience) = shared.options.eof_policy else {
        return;
    };
    shared.with(|state, after| {
        state.input_ended = true;
        // Their answers cannot arrive any more, and handlers may be waiting for them.
        state.fail_calls(after);
    });
    let drained = shared.wait_until(|state| state.is_idle() || state.phase != Phase::Active);
    // The result does not matter: work that still runs is cancelled next.
    let _in_time = timeout(patience, drained).await;
}

/// Logs repeatedly that a message is unfinished.
#[derive(Default)]
struct Notice {
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Notice {
    fn poll(&mut self, cx: &mut Context<'_>, shared: &Shared, partial: bool) {
        if !partial {
            self.timer = None;
            return;
        }
        let period = shared.options.partial_message_notice;
        let (since, timer) = self
            .timer
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(period))));
        while timer.as_mut().poll(cx).is_ready() {
            let age = millis(since.elapsed());
            shared.note(&Note::Debug(format!(
                "an incoming message stands unfinished for {age} ms"
            )));
            *timer = Box::pin(sleep(period));
        }
    }

    fn clear(&mut self) {
        self.timer = None;
    }
}
