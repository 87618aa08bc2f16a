//! The write queue as plain data: messages in the order they will be written.
//!
//! Bounded in bytes and messages for senders that can wait; answers are always taken, and it is the
//! reader that pauses when they pile up to the same bound. It looks at answers only: two ends that both wait for room to
//! send must go on reading each other, or neither would ever have room. So the queue holds at most twice its
//! bound, and the answers to requests that were let in before the pause. What the writer has taken but not flushed still
//! counts. What it has flushed is accounted for by whoever looks next, as most often nobody but the next message's sender does.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use crate::budget::AnswerBudget;
use crate::encode::Text;
use crate::error::SendError;
use crate::redact::Methods;

/// Most messages that an empty queue keeps room for.
const MAX_KEPT: usize = 1024;

/// Bytes of flushed answers that a quiet connection may leave counted in a shared budget.
const MAX_UNSETTLED: usize = 16 << 10;

/// One message to be written.
#[derive(Debug)]
pub(crate) struct OutFrame {
    pub(crate) bytes: Text,
    /// Told when the message has been flushed, or never will be.
    pub(crate) flushed: Option<oneshot::Sender<Result<(), SendError>>>,
    /// The methods it belongs to, where the log needs to know.
    pub(crate) methods: Methods,
    /// Whether it answers the other side, and so was queued without room for it.
    pub(crate) is_answer: bool,
}

impl OutFrame {
    pub(crate) fn new(bytes: impl Into<Text>) -> Self {
        Self {
            bytes: bytes.into(),
            flushed: None,
            methods: Methods::Own,
            is_answer: false,
        }
    }
}

/// Messages, and how many bytes they are.
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

/// What is known of the writer without locking the state.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// It will not look at the queue by itself again, and must be called. Changes with the state locked only.
    idle: AtomicBool,
    /// It has flushed all it took, and that is not accounted for yet. Set by the writer, unset with the state locked.
    flushed: AtomicBool,
}

impl Writer {
    /// Whether it must be called.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Acquire)
    }

    /// Notes that all it took is flushed.
    pub(crate) fn has_flushed(&self) {
        self.flushed.store(true, Ordering::Release);
    }
}

#[derive(Debug)]
pub(crate) struct Outbox {
    queue: VecDeque<OutFrame>,
    /// What is queued and in flight.
    all: Load,
    /// The answers among that.
    answers: Load,
    /// What was taken by the writer and is not accounted for yet.
    in_flight: Load,
    /// The answers among that.
    in_flight_answers: Load,
    max_bytes: usize,
    max_messages: usize,
    /// Bytes at which a batch is big enough: a part of the queue, so that room comes in portions. Only a single message
    /// is more.
    batch_bytes: usize,
    /// Output is gone: nothing is taken any more.
    broken: bool,
    /// Those who wait for room.
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

    /// Has the writer look again; says whether it must be woken for that.
    pub(crate) fn call(&mut self) -> bool {
        let idle = self.writer.idle.load(Ordering::Relaxed);
        self.writer.idle.store(false, Ordering::Release);
        idle
    }

    /// Whether everything there was is written, and the writer must be called.
    pub(crate) fn is_idle(&self) -> bool {
        self.writer.is_idle()
    }

    /// Accounts for what has been flushed.
    fn settle(&mut self) {
        if self.writer.flushed.load(Ordering::Acquire) {
            self.writer.flushed.store(false, Ordering::Relaxed);
            self.messages_written += self.in_flight.messages as u64;
            self.all.subtract(std::mem::take(&mut self.in_flight));
            self.release(self.in_flight_answers.bytes);
            self.answers.subtract(std::mem::take(&mut self.in_flight_answers));
        }
    }

    /// Queues a message whatever the queue's size; drops it when the output is gone. Says whether the writer must be woken.
    pub(crate) fn push(&mut self, mut frame: OutFrame) -> bool {
        if !self.broken {
            // What has to wait holds no more than it counts for.
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

    /// Whether messages of this many bytes may be added by someone who could wait instead. An
    /// empty queue takes anything, so that a large batch is not refused for ever.
    pub(crate) fn has_room(&mut self, bytes: usize, messages: usize) -> bool {
        self.settle();
        let Load {
            messages: count,
            bytes: held,
        } = self.all;
        count == 0 || (held + bytes <= self.max_bytes && count + messages <= self.max_messages)
    }

    /// Whether the answers in the queue are over its bounds by themselves.
    pub(crate) fn is_congested(&mut self) -> bool {
        self.settle();
        self.answers.bytes > self.max_bytes || self.answers.messages > self.max_messages
    }

    /// Moves the next flush worth of messages into `batch`, for a writer that has flushed what it took before. It will look
    /// again if it leaves something, if somebody waits for what it took, or if that is much of a shared budget.
    pub(crate) fn take(&mut self, batch: &mut VecDeque<OutFrame>) {
        self.settle();
        if self.all.bytes <= self.batch_bytes {
            std::mem::swap(&mut self.queue, batch);
            (self.in_flight, self.in_flight_answers) = (self.all, self.answers);
            // It was a batch; the room of a burst is not kept.
            if self.queue.capacity() > MAX_KEPT {
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
        // The budget must not wait for the next message to hear that this much is read.
        let counts = self.budget.is_some() && self.in_flight_answers.bytes > MAX_UNSETTLED;
        let last = self.queue.is_empty() && (batch.is_empty() || (self.waiting == 0 && !counts));
        self.writer.idle.store(last, Ordering::Release);
    }

    /// Gives the output up; returns what will never be written.
    pub(crate) fn break_off(&mut self) -> VecDeque<OutFrame> {
        self.broken = true;
        self.settle();
        self.release(self.answers.bytes);
        (self.all, self.answers) = (Load::default(), Load::default());
        (self.in_flight, self.in_flight_answers) = (Load::default(), Load::default());
        std::mem::take(&mut self.queue)
    }

    /// Messages behind those being written.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes queued and in flight.
    pub(crate) fn bytes(&mut self) -> usize {
        self.settle();
        self.all.bytes
    }

    /// Messages flushed so far.
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
