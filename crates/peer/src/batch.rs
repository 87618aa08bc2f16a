//! Answers to incoming batches, gathered until each batch is complete. Plain data.
//!
//! Bounded by the admitted requests and the batch limit: a batch is open only while one of its requests is. One
//! limit in bytes covers all gathered answers of the connection; an answer over the limit is replaced by an error.
//! Rules: peer spec 5.

use std::collections::HashMap;

use crate::encode;

/// The destination of the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyTo {
    /// Directly to the wire.
    Single,
    /// Into an array with others.
    Batch { batch: u64, element: usize },
}

#[derive(Debug, Default)]
struct Batch {
    answers: Vec<(usize, Vec<u8>)>,
    /// Elements that still need an answer, plus one while elements are still being read.
    open: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Batches {
    last: u64,
    open: HashMap<u64, Batch>,
    /// Bytes of all gathered answers.
    bytes: usize,
}

impl Batches {
    /// Opens a batch; it stays open at least until [`dispatched`](Self::dispatched).
    pub(crate) fn open(&mut self) -> u64 {
        self.last += 1;
        self.open.insert(
            self.last,
            Batch {
                answers: Vec::new(),
                open: 1,
            },
        );
        self.last
    }

    /// Announces that an element will be answered.
    pub(crate) fn expect(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.open += 1;
        }
    }

    /// Whether an answer of this many bytes fits within `limit` beside the gathered ones.
    pub(crate) fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.bytes.saturating_add(bytes) <= limit
    }

    /// Adds an expected answer; returns the array when this was the last one.
    pub(crate) fn file(&mut self, batch: u64, element: usize, message: Vec<u8>) -> Option<Vec<u8>> {
        let open = self.open.get_mut(&batch)?;
        self.bytes += message.len();
        open.answers.push((element, message));
        self.close_one(batch)
    }

    /// Notes that every element has been read; returns the array if all answers are there.
    pub(crate) fn dispatched(&mut self, batch: u64) -> Option<Vec<u8>> {
        self.close_one(batch)
    }

    fn close_one(&mut self, key: u64) -> Option<Vec<u8>> {
        let batch = self.open.get_mut(&key)?;
        batch.open -= 1;
        if batch.open > 0 {
            return None;
        }
        let mut answers = self.open.remove(&key)?.answers;
        if answers.is_empty() {
            return None;
        }
        answers.sort_unstable_by_key(|&(element, _)| element);
        let messages: Vec<Vec<u8>> = answers.into_iter().map(|(_, answer)| answer).collect();
        self.bytes -= messages.iter().map(Vec::len).sum::<usize>();
        Some(encode::array(&messages))
    }
}
