//! The write queue as plain data: messages in writing order.
//!
//! Limited in bytes and messages for senders that can wait. Answers are always accepted; the reader pauses when the
//! queued answers reach the same limits. The reader counts answers only: two ends that both wait for room must go
//! on reading each other, or neither would get room. So the queue has at most twice its limits, and the answers
//! to requests admitted before the pause. Messages that the writer has taken but not flushed still count. Flushed
//! messages are subtracted at the next access, usually by the next message's sender.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use crate::budget::AnswerBudget;
use crate::encode::Text;
use crate::error::SendError;

/// Most messages for which an empty queue retains its allocation.
const MAX_IDLE_CAPACITY: usize = 1024;

/// Most bytes of flushed answers that a quiet connection may leave counted in a shared budget.
const MAX_UNSETTLED: usize = 16 << 10;

/// One message to be written.
#[derive(Debug)]
pub(crate) struct OutFrame {
    pub(crate) bytes: Text,
    /// Receives the result when the message has been flushed, or never will be.
    pub(crate) flushed: Option<oneshot::Sender<Result<(), SendError>>>,
    /// Whether it is an answer, which is queued without waiting for room.
    pub(crate) is_answer: bool,
}

impl OutFrame {
    pub(crate) fn new(bytes: impl Into<Text>) -> Self {
        Self {
            bytes: bytes.into(),
            flushed: None,
            is_answer: false,
        }
    }
}

/// A number of messages and their bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    messages: usize,
    bytes: usize,
}

impl Load {
    fn add(&mut self, frame: &OutFrame) {
        self.messages += 1;
        self.bytes += frame.bytes.len();
    }

    fn subtract(&mut self, other: Self) {
        self.messages -= other.messages;
        self.bytes -= other.bytes;
    }
}

/// The writer's flags, readable without locking the state.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// The writer is idle and must be called. Changes only with the state locked.
    idle: AtomicBool,
    /// The writer has flushed everything it took, and this is not subtracted yet. The writer sets it; it is cleared
    /// with the state locked.
    flushed: AtomicBool,
}

impl Writer {
    /// Whether it must be called.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Acquire)
    }

    /// Notes that everything taken is flushed.
    pub(crate) fn has_flushed(&self) {
        self.flushed.store(true, Ordering::Release);
    }
}

#[derive(Debug)]
pub(crate) struct Outbox {
    queue: VecDeque<OutFrame>,
    /// The messages queued and in flight.
    all: Load,
    /// The answers in that.
    answers: Load,
    /// Taken by the writer and not yet subtracted.
    in_flight: Load,
    /// The answers in that.
    in_flight_answers: Load,
    max_bytes: usize,
    max_messages: usize,
    /// Bytes at which a batch is complete: a part of the queue, so that room appears in portions. Only a single
    /// message may be larger.
    batch_bytes: usize,
    /// Output is gone: nothing more is accepted.
    broken: bool,
    /// Senders that wait for room.
    pub(crate) waiting: usize,
    messages_written: u64,
    writer: Arc<Writer>,
    /// Counts the bytes of the answers of several connections.
    budget: Option<Arc<AnswerBudget>>,
}

impl Outbox {
    pub(crate) fn new(max_bytes: usize, max_messages: usize, flush_bytes: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            all: Load::default(),
            answers: Load::default(),
            in_flight: Load::default(),
            in_flight_answers: Load::default(),
            max_bytes,
            max_messages,
            batch_bytes: (max_bytes / 8).clamp(1, flush_bytes.max(1)),
            broken: false,
            waiting: 0,
            messages_written: 0,
            writer: Arc::default(),
            budget: None,
        }
    }

    /// Returns an outbox whose answers count in a shared budget as well.
    pub(crate) fn with_budget(mut self, budget: Option<Arc<AnswerBudget>>) -> Self {
        self.budget = budget;
        self
    }

    fn release(&self, bytes: usize) {
        if let Some(budget) = &self.budget {
            budget.release(bytes);
        }
    }

    pub(crate) fn writer(&self) -> Arc<Writer> {
        Arc::clone(&self.writer)
    }

    /// Requests that the writer check the queue; says whether the writer must be woken.
    pub(crate) fn call(&mut self) -> bool {
        let idle = self.writer.idle.load(Ordering::Relaxed);
        self.writer.idle.store(false, Ordering::Release);
        idle
    }

    /// Whether everything is written and the writer must be called.
    pub(crate) fn is_idle(&self) -> bool {
        self.writer.is_idle()
    }

    /// Subtracts flushed messages.
    fn settle(&mut self) {
        if self.writer.flushed.load(Ordering::Acquire) {
            self.writer.flushed.store(false, Ordering::Relaxed);
            self.messages_written += self.in_flight.messages as u64;
            self.all.subtract(std::mem::take(&mut self.in_flight));
            self.release(self.in_flight_answers.bytes);
            self.answers.subtract(std::mem::take(&mut self.in_flight_answers));
        }
    }

    /// Queues a message whatever the queue's size; drops it when the output is gone. Says whether the writer must
    /// be woken.
    pub(crate) fn push(&mut self, mut frame: OutFrame) -> bool {
        if !self.broken {
            // A waiting message must not hold more memory than it counts for.
            if let Text::Short(text) = &mut frame.bytes
                && !self.queue.is_empty()
            {
                text.shrink_to_fit();
            }
            self.all.add(&frame);
            if frame.is_answer {
                self.answers.add(&frame);
                if let Some(budget) = &self.budget {
                    budget.add(frame.bytes.len());
                }
            }
            self.queue.push_back(frame);
        }
        self.call()
    }

    /// Whether a sender that could wait may add messages of this many bytes. An empty queue accepts anything, so
    /// that a large batch is not refused for ever.
    pub(crate) fn has_room(&mut self, bytes: usize, messages: usize) -> bool {
        self.settle();
        let Load {
            messages: count,
            bytes: queued,
        } = self.all;
        count == 0 || (queued + bytes <= self.max_bytes && count + messages <= self.max_messages)
    }

    /// Whether the queued answers alone exceed the limits.
    pub(crate) fn is_congested(&mut self) -> bool {
        self.settle();
        self.answers.bytes > self.max_bytes || self.answers.messages > self.max_messages
    }

    /// Moves the messages of the next flush into `batch`, after the writer has flushed the previous ones. The
    /// writer will check the queue again if messages are left, if senders wait for room, or if the batch is much of
    /// a shared budget.
    pub(crate) fn take(&mut self, batch: &mut VecDeque<OutFrame>) {
        self.settle();
        if self.all.bytes <= self.batch_bytes {
            std::mem::swap(&mut self.queue, batch);
            (self.in_flight, self.in_flight_answers) = (self.all, self.answers);
            // After a burst, the large allocation is released.
            if self.queue.capacity() > MAX_IDLE_CAPACITY {
                self.queue = VecDeque::new();
            }
        }
        while let Some(next) = self.queue.front() {
            let size = next.bytes.len();
            if !batch.is_empty() && self.in_flight.bytes + size > self.batch_bytes {
                break;
            }
            let Some(frame) = self.queue.pop_front() else {
                break;
            };
            self.in_flight.add(&frame);
            if frame.is_answer {
                self.in_flight_answers.add(&frame);
            }
            batch.push_back(frame);
        }
        // A shared budget must be updated without waiting for the next message.
        let counts = self.budget.is_some() && self.in_flight_answers.bytes > MAX_UNSETTLED;
        let last = self.queue.is_empty() && (batch.is_empty() || (self.waiting == 0 && !counts));
        self.writer.idle.store(last, Ordering::Release);
    }

    /// Closes the queue; returns the messages that will never be written.
    pub(crate) fn break_off(&mut self) -> VecDeque<OutFrame> {
        self.broken = true;
        self.settle();
        self.release(self.answers.bytes);
        (self.all, self.answers) = (Load::default(), Load::default());
        (self.in_flight, self.in_flight_answers) = (Load::default(), Load::default());
        std::mem::take(&mut self.queue)
    }

    /// Returns the number of messages behind those being written.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the bytes queued and in flight.
    pub(crate) fn bytes(&mut self) -> usize {
        self.settle();
        self.all.bytes
    }

    /// Returns the number of messages flushed so far.
    pub(crate) fn messages_written(&mut self) -> u64 {
        self.settle();
        self.messages_written
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.release(self.answers.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_counts_answers_until_they_are_flushed_or_given_up() {
        let budget = Arc::new(AnswerBudget::new(10));
        let outbox = || Outbox::new(1000, 100, 10).with_budget(Some(budget.clone()));
        let answer = |size| OutFrame {
            is_answer: true,
            ..OutFrame::new(bytes::Bytes::from(vec![b'x'; size]))
        };
        let (mut read, mut broken, mut dropped) = (outbox(), outbox(), outbox());
        read.push(OutFrame::new(bytes::Bytes::from_static(
            b"no answer, however long",
        )));
        assert!(budget.has_room());
        for outbox in [&mut read, &mut broken, &mut dropped] {
            outbox.push(answer(10));
            assert!(!budget.has_room());
        }
        while read.bytes() > 0 {
            read.take(&mut VecDeque::new());
            read.writer().has_flushed();
        }
        broken.break_off();
        broken.push(answer(10));
        assert!(!budget.has_room());
        drop(dropped);
        assert!(budget.has_room());
    }

    #[test]
    fn the_writer_looks_again_after_much_of_a_budget_and_not_after_little() {
        let budget = Arc::new(AnswerBudget::new(usize::MAX));
        for (size, again) in [(100, false), (MAX_UNSETTLED + 1, true)] {
            let mut outbox = Outbox::new(1 << 20, 100, 10).with_budget(Some(budget.clone()));
            outbox.push(OutFrame {
                is_answer: true,
                ..OutFrame::new(bytes::Bytes::from(vec![b'x'; size]))
            });
            outbox.take(&mut VecDeque::new());
            assert_eq!(!outbox.is_idle(), again, "{size}");
        }
    }

    #[test]
    fn a_flush_stays_below_its_size_unless_one_message_is_larger() {
        let mut outbox = Outbox::new(1000, 100, 10);
        for size in [4, 6, 1, 12, 3] {
            outbox.push(OutFrame::new(bytes::Bytes::from(vec![b'x'; size])));
        }
        let mut flushes = Vec::new();
        loop {
            let mut batch = VecDeque::new();
            outbox.take(&mut batch);
            if batch.is_empty() {
                break;
            }
            outbox.writer().has_flushed();
            flushes.push(batch.iter().map(|frame| frame.bytes.len()).collect::<Vec<_>>());
        }
        assert_eq!(flushes, [vec![4, 6], vec![1], vec![12], vec![3]]);
    }
}
