//! The one task of a connection: both halves of the transport, polled one after the other.
//!
//! Neither half waits for the other; they share a task so that what the reader answers at once is written by the
//! same poll that read the question. The reader goes first and stops after a number of messages, so the writer
//! has its turn in every poll that may leave it something to do. They also share what the runtime lets a task do in
//! one poll; where the reader has used that up and left the writer nothing, the writer goes first in the next poll,
//! and the reader again in the one after. The task ends by itself: the reader when input ends or shutdown begins, the
//! writer last of all, which is what `closed` waits for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bobbin_framing::FrameReader;
use tokio::task::coop::has_budget_remaining;

use crate::current::Reading;
use crate::handlers::Handlers;
use crate::shared::Shared;
use crate::writer::Stopped;
use crate::{reader, writer};

/// Reads and writes until the connection is over.
pub(crate) async fn run(
    shared: Arc<Shared>,
    reader: Box<dyn FrameReader>,
    handlers: Handlers,
    stopped: Stopped,
) {
    let mut input = pin!(reader::run(Arc::clone(&shared), reader, handlers));
    let mut output = pin!(writer::run(Arc::clone(&shared), stopped));
    let (mut reading, mut starved) = (true, false);
    poll_fn(|cx| {
        // A task is always woken by the same waker.
        shared.task.get_or_init(|| cx.waker().clone());
        let output_first = starved;
        if output_first && output.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        reading = reading && {
            let _reading = Reading::begin(&shared);
            input.as_mut().poll(cx).is_pending()
        };
        // Not twice in a row: then it would be the reader that gets nothing.
        starved = !output_first && !has_budget_remaining();
        if shared.is_quiet() {
            return Poll::Pending;
        }
        output.as_mut().poll(cx)
    })
    .await;
}
