//! Pieces of streamed text that say which they are and when they were made, and finding them in what arrives.
//!
//! A piece is `@`, six digits of number, nineteen of the machine's monotonic clock in nanoseconds, filling, a space.
//! It looks the same inside a JSON string, so a reader finds pieces in raw bytes, however messages were joined or
//! cut, at the price of a search for one byte.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

const NUMBER: usize = 6;
const TIME: usize = 19;
/// Bytes of a piece without filling.
pub(crate) const SHORTEST: usize = 1 + NUMBER + TIME + 1;

/// Returns the machine's monotonic clock, the same in every process.
pub(crate) fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// Makes the piece of a number, `bytes` long or as short as it gets.
pub(crate) fn piece(number: usize, bytes: usize) -> String {
    let nanos = now().as_nanos();
    let mut piece = format!("@{number:06}{nanos:019}");
    piece.extend(std::iter::repeat_n('.', bytes.saturating_sub(SHORTEST)));
    piece.push(' ');
    piece
}

/// Why the pieces of a stream are not what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfOrder {
    pub(crate) expected: usize,
    pub(crate) found: usize,
}

/// Finds pieces 0, 1, 2 … in a stream of bytes, each once and in order.
///
/// A reader that the stream has left behind is given the finished Item instead of the pieces that it misses: the
/// text begins again with piece 0. Of that only what is missing counts.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    next: usize,
    /// Next piece of the finished Item's text, once that has begun.
    whole: Option<usize>,
    with_item: usize,
    rest: Vec<u8>,
}

/// Returns the digits behind a mark; `None`: not all of them are there yet. A long message comes in fragments, and the head
/// of one, which begins with what no text has, may stand between them.
fn digits_behind(bytes: &[u8]) -> Option<[u8; NUMBER + TIME]> {
    let mut digits = [0; NUMBER + TIME];
    let mut at = 0;
    for digit in &mut digits {
        while matches!(bytes.get(at)?, 0x00 | 0x80) {
            at += match bytes.get(at + 1)? {
                126 => 4,
                127 => 10,
                _ => 2,
            };
        }
        *digit = *bytes.get(at)?;
        at += 1;
    }
    Some(digits)
}

impl Scanner {
    /// Returns how many were found.
    pub(crate) fn found(&self) -> usize {
        self.next
    }

    /// Returns how many of them came with the finished Item only.
    pub(crate) fn with_item(&self) -> usize {
        self.with_item
    }

    /// Takes more bytes and tells `each` found piece's time. Stops looking at piece `end`: behind the stream its
    /// text comes once more, as a whole.
    pub(crate) fn scan(
        &mut self,
        bytes: &[u8],
        end: usize,
        mut each: impl FnMut(Duration),
    ) -> Result<(), OutOfOrder> {
        let joined;
        let mut left = if self.rest.is_empty() {
            bytes
        } else {
            self.rest.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.rest);
            &joined
        };
        while self.next < end
            && let Some(at) = memchr::memchr(b'@', left)
        {
            let Some(digits) = digits_behind(&left[at + 1..]) else {
                self.rest = left[at..].to_vec();
                break;
            };
            left = &left[at + 1..];
            // Anything else that has an '@' in it.
            let (Some(found), Some(nanos)) = (digits_of(&digits[..NUMBER]), digits_of(&digits[NUMBER..]))
            else {
                continue;
            };
            if self.take(usize::try_from(found).unwrap_or(usize::MAX))? {
                each(Duration::from_nanos(nanos));
            }
        }
        Ok(())
    }

    /// Takes a piece's number; returns whether it is new.
    fn take(&mut self, found: usize) -> Result<bool, OutOfOrder> {
        if found == 0 && self.next > 0 && self.whole.is_none() {
            self.whole = Some(0);
        }
        let expected = self.whole.unwrap_or(self.next);
        if found != expected {
            return Err(OutOfOrder { expected, found });
        }
        if let Some(whole) = &mut self.whole {
            *whole += 1;
        }
        let new = found == self.next;
        self.next += usize::from(new);
        self.with_item += usize::from(new && self.whole.is_some());
        Ok(new)
    }
}

fn digits_of(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(numbers: impl IntoIterator<Item = usize>) -> Vec<u8> {
        let message = |number| format!("{{\"mail\":\"a@b\",\"delta\":\"{}\"}}", piece(number, 40));
        numbers.into_iter().map(message).collect::<String>().into_bytes()
    }

    #[test]
    fn every_piece_is_found_wherever_the_bytes_are_cut() {
        let bytes = text(0..5);
        for size in 1..bytes.len() {
            let (mut scanner, mut times) = (Scanner::default(), Vec::new());
            for part in bytes.chunks(size) {
                scanner.scan(part, 5, |time| times.push(time)).unwrap();
            }
            assert_eq!(scanner.found(), 5, "{size}");
            assert!(times.is_sorted() && times[4] <= now(), "{size}");
        }
    }

    #[test]
    fn a_piece_with_the_head_of_a_fragment_in_it_is_found() {
        let bytes = text(0..2);
        for head in [
            &[0x80, 0x05][..],
            &[0x00, 126, 0x40, 0x40],
            &[0x00, 127, 0, 0, 0, 0, 0, 1, 0, 0],
        ] {
            for at in 1..bytes.len() {
                let whole = [&bytes[..at], head, &bytes[at..]].concat();
                let mut scanner = Scanner::default();
                let (first, second) = whole.split_at(at + 1);
                scanner.scan(first, 2, |_| {}).unwrap();
                scanner.scan(second, 2, |_| {}).unwrap();
                assert_eq!(scanner.found(), 2, "{at}");
            }
        }
    }

    #[test]
    fn a_missing_a_repeated_and_a_swapped_piece_are_told() {
        for numbers in [
            vec![0, 2],
            vec![0, 1, 1],
            vec![1, 0],
            vec![0, 1, 0, 0],
            vec![0, 1, 0, 2],
        ] {
            let found = Scanner::default().scan(&text(numbers.clone()), 9, |_| {});
            assert!(found.is_err(), "{numbers:?}");
        }
    }

    #[test]
    fn a_finished_item_makes_up_for_what_is_missing() {
        let (mut scanner, mut times) = (Scanner::default(), 0);
        scanner
            .scan(&text([0, 1, 2, 0, 1, 2, 3, 4, 0, 1]), 5, |_| times += 1)
            .unwrap();
        assert_eq!((scanner.found(), scanner.with_item(), times), (5, 2, 5));
    }

    #[test]
    fn what_comes_behind_the_last_piece_is_not_looked_at() {
        let mut scanner = Scanner::default();
        scanner.scan(&text([0, 1, 0, 1]), 2, |_| {}).unwrap();
        assert_eq!(scanner.found(), 2);
    }
}
