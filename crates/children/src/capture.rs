//! The captured part of a command's output: its head and its tail.
//!
//! One limit in bytes of text covers both. The first half fills once; the second half is a ring of the latest text.
//! Text between them is only counted.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// The captured output of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The text. If its middle was left out, a line says how much.
    pub text: String,
    /// Bytes of text that were left out; 0 when the text is complete.
    pub dropped_bytes: u64,
    /// Bytes the command wrote, captured or not.
    pub total_bytes: u64,
    /// Characters of text it wrote, captured or not.
    pub total_chars: u64,
}

impl Captured {
    /// Returns whether something was left out.
    pub fn is_truncated(&self) -> bool {
        self.dropped_bytes > 0
    }
}

/// Collects output and forgets its middle.
#[derive(Debug)]
pub(crate) struct Capture {
    head: String,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    dropped: u64,
    chars: u64,
}

impl Capture {
    /// Returns an empty capture of up to `limit` bytes of text.
    pub(crate) fn new(limit: usize) -> Self {
        let head_limit = limit.div_ceil(2);
        Self {
            head: String::new(),
            head_limit,
            tail: VecDeque::new(),
            tail_limit: limit - head_limit,
            dropped: 0,
            chars: 0,
        }
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        self.chars += text.chars().count() as u64;
        let mut rest = text;
        // Once any text has gone past the head, the head is closed, even if a small character would still fit.
        if self.tail.is_empty() && self.dropped == 0 {
            let fits = rest.floor_char_boundary(self.head_limit - self.head.len());
            self.head.push_str(&rest[..fits]);
            rest = &rest[fits..];
        }
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        let from_tail = excess.min(self.tail.len());
        self.tail.drain(..from_tail);
        self.tail.extend(&rest.as_bytes()[excess - from_tail..]);
        self.dropped += excess as u64;
    }

    /// Returns the captured output; `total_bytes` is the number of bytes the command wrote.
    pub(crate) fn finish(mut self, total_bytes: u64) -> Captured {
        // The ring is cut by bytes, so an incomplete first character is removed.
        let cut = self
            .tail
            .iter()
            .take_while(|&&byte| is_continuation(byte))
            .count();
        self.tail.drain(..cut);
        let dropped_bytes = self.dropped + cut as u64;
        let mut text = self.head;
        if dropped_bytes > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[... {dropped_bytes} bytes left out ...]\n");
        }
        text.push_str(&String::from_utf8_lossy(self.tail.make_contiguous()));
        Captured {
            text,
            dropped_bytes,
            total_bytes,
            total_chars: self.chars,
        }
    }
}

/// Returns whether a byte of valid UTF-8 is not the first of its character.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, pieces: &[&str]) -> Captured {
        let mut capture = Capture::new(limit);
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish(0)
    }

    #[test]
    fn text_up_to_the_limit_is_kept_whole() {
        let kept = captured(10, &["01234", "56789"]);
        assert_eq!((kept.text.as_str(), kept.is_truncated()), ("0123456789", false));
    }

    #[test]
    fn head_and_tail_are_kept_and_the_middle_counted() {
        for pieces in [&["0123456789abcdef"][..], &["0123", "4567", "89ab", "cdef"]] {
            let kept = captured(8, pieces);
            assert_eq!(kept.text, "0123\n[... 8 bytes left out ...]\ncdef");
            assert_eq!(kept.dropped_bytes, 8);
        }
    }

    #[test]
    fn no_character_is_cut_at_either_edge() {
        let kept = captured(6, &["aé", "é", "ééé"]);
        assert_eq!(kept.text, "aé\n[... 6 bytes left out ...]\né");
    }

    #[test]
    fn a_limit_of_nothing_only_counts() {
        assert_eq!(captured(0, &["abc"]).dropped_bytes, 3);
    }
}
