//! What waits to be written: one queue, first in, first out, with bounds in messages and bytes.
//!
//! Answers are always taken. Whoever sends anything else waits for room, and so does the reader: a peer
//! that asks and does not read is not asked for more. One writer takes everything that waits and writes it
//! with one flush.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

/// Messages written with one flush at most.
const BATCH_MESSAGES: usize = 512;
/// Bytes, likewise.
const BATCH_BYTES: usize = 256 << 10;

#[derive(Default)]
struct Queue {
    messages: VecDeque<(Bytes, Option<oneshot::Sender<()>>)>,
    bytes: usize,
    closed: bool,
}

pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
    drained: Notify,
    max_messages: usize,
    max_bytes: usize,
}

/// What the writer writes next.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) messages: Vec<Bytes>,
    pub(crate) flushed: Vec<oneshot::Sender<()>>,
}

impl Outbox {
    pub(crate) fn new(max_messages: usize, max_bytes: usize) -> Self {
        Self {
            queue: Mutex::default(),
            filled: Notify::new(),
            drained: Notify::new(),
            max_messages,
            max_bytes,
        }
    }

    /// Queues messages behind everything else; the last one tells when it was flushed. Returns whether
    /// they were taken: not after the end.
    pub(crate) fn push(&self, messages: Vec<Bytes>, flushed: Option<oneshot::Sender<()>>) -> bool {
        {
            let mut queue = self.queue.lock();
            if queue.closed {
                return false;
            }
            let count = messages.len();
            let mut flushed = flushed;
            for (n, message) in messages.into_iter().enumerate() {
                queue.bytes += message.len();
                let tell = if n + 1 == count { flushed.take() } else { None };
                queue.messages.push_back((message, tell));
            }
        }
        self.filled.notify_one();
        true
    }

    /// Waits until there is room for more, or the end.
    pub(crate) async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            {
                let queue = self.queue.lock();
                let full = queue.messages.len() >= self.max_messages || queue.bytes >= self.max_bytes;
                if !full || queue.closed {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Waits for something to write; `None` when the queue is closed and empty.
    ///
    /// # Cancel safety
    /// Safe: nothing is taken before it is returned.
    pub(crate) async fn next(&self) -> Option<Batch> {
        loop {
            {
                let mut queue = self.queue.lock();
                if !queue.messages.is_empty() {
                    let batch = queue.take();
                    drop(queue);
                    self.drained.notify_waiters();
                    return Some(batch);
                }
                if queue.closed {
                    return None;
                }
            }
            self.filled.notified().await;
        }
    }

    /// Takes nothing more; what is queued is still written.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.filled.notify_one();
        self.drained.notify_waiters();
    }

    /// Drops everything that waits. Their senders are told by the dropped channel.
    pub(crate) fn clear(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        queue.bytes = 0;
        let dropped = std::mem::take(&mut queue.messages);
        drop(queue);
        drop(dropped);
        self.filled.notify_one();
        self.drained.notify_waiters();
    }

    /// Returns messages and bytes that wait.
    pub(crate) fn depth(&self) -> (usize, usize) {
        let queue = self.queue.lock();
        (queue.messages.len(), queue.bytes)
    }
}

impl Queue {
    fn take(&mut self) -> Batch {
        let mut batch = Batch::default();
        let mut bytes = 0;
        while let Some((message, _)) = self.messages.front() {
            bytes += message.len();
            if batch.messages.len() >= BATCH_MESSAGES || (bytes > BATCH_BYTES && !batch.messages.is_empty()) {
                break;
            }
            if let Some((message, flushed)) = self.messages.pop_front() {
                self.bytes -= message.len();
                batch.messages.push(message);
                batch.flushed.extend(flushed);
            }
        }
        batch
    }
}
