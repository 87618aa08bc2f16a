//! The one task of a connection: both halves of the transport, polled one after the other.
//!
//! Neither half waits for the other; they share a task so that what the reader answers at once is written by the
//! same poll that read the question. The reader goes first and stops after a number of messages, so the writer
//! has its turn in every poll. The task ends by itself: the reader when input ends or shutdown begins, the writer last
//! of all, which is what `closed` waits for.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use bobbin_framing::FrameReader;

use crate::handlers::Handlers;
use crate::shared::Shared;
use crate::{reader, writer};

/// Reads and writes until the connection is over.
pub(crate) async fn run(shared: Arc<Shared>, reader: Box<dyn FrameReader>, handlers: Handlers) {
    let mut input = pin!(reader::run(Arc::clone(&shared), reader, handlers));
    let mut output = pin!(writer::run(Arc::clone(&shared)));
    let mut reading = true;
    poll_fn(|cx| {
        // A task is always woken by the same waker.
        shared.task.get_or_init(|| cx.waker().clone());
        reading = reading && input.as_mut().poll(cx).is_pending();
        output.as_mut().poll(cx)
    })
    .await;
}
