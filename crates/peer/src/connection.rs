//! The one task of a connection: both halves of the transport, polled one after the other.
//!
//! Neither half waits for the other. They share a task so that an immediate answer is written by the same poll that
//! read the request. The reader goes first and stops after a number of messages, so the writer has its turn in
//! every poll that may leave it work. Both halves share the runtime's budget for one poll of a task. If the reader
//! uses up that budget, the writer goes first in the next poll. The task ends by itself: the reader at the end of
//! input or at shutdown, then the writer, which `closed` waits for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bobbin_framing::FrameReader;
use tokio::runtime::Handle;
use tokio::task::coop::has_budget_remaining;

use crate::current::Reading;
use crate::handlers::Handlers;
use crate::shared::Shared;
use crate::writer::Stopped;
use crate::{reader, writer};

/// Runs a connection as a task of its own.
// Neither generic nor inlined: each crate that starts a peer would compile the connection anew.
#[inline(never)]
pub(crate) fn spawn(
    runtime: &Handle,
    shared: Arc<Shared>,
    reader: Box<dyn FrameReader>,
    handlers: Handlers,
    stopped: Stopped,
) {
    runtime.spawn(run(shared, reader, handlers, stopped));
}

/// Reads and writes until the connection is over.
async fn run(shared: Arc<Shared>, reader: Box<dyn FrameReader>, handlers: Handlers, stopped: Stopped) {
    let mut input = pin!(reader::run(Arc::clone(&shared), reader, handlers));
    let mut output = pin!(writer::run(Arc::clone(&shared), stopped));
    let (mut reading, mut starved) = (true, false);
    poll_fn(|cx| {
        // The waker of a task never changes.
        shared.task.get_or_init(|| cx.waker().clone());
        let output_first = starved;
        if output_first && output.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        reading = reading && {
            let _reading = Reading::start(&shared);
            input.as_mut().poll(cx).is_pending()
        };
        // Not twice in a row, or the reader would get no turn.
        starved = !output_first && !has_budget_remaining();
        if shared.is_quiet() {
            return Poll::Pending;
        }
        output.as_mut().poll(cx)
    })
    .await;
}
