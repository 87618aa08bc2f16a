//! Numbers of notifications on the wire, for clients that declared `eventCursors`.
//!
//! A frame can become several notifications, and a connection can break between any two. So a number counts messages,
//! not frames: the frame's Seq times [`Part::COUNT`] plus the message's place. Numbers rise and have gaps. A client
//! stores the last one that it has processed and treats it as opaque.

use bobbin_core::{Frame, Part};
use bobbin_model::Seq;

const COUNT: u64 = Part::COUNT as u64;

/// The place where a client stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It has this many messages of the frame and all before it.
    Within(Seq, u8),
    /// It has everything up to this frame.
    Behind(Seq),
    /// It stopped within messages that were combined for it alone, which cannot be repeated.
    Unknown,
}

/// Returns the number of a frame's message at `place`.
pub(crate) fn number(frame: &Frame, place: usize) -> u64 {
    let place = match frame.part {
        Part::Whole | Part::Rest(_) => u64::try_from(place).unwrap_or(COUNT),
        Part::Behind(place) => u64::from(place),
    };
    frame.seq.0 * COUNT + place.min(COUNT - 1)
}

/// Returns the number that says "everything up to this frame".
pub(crate) fn behind(seq: Seq) -> u64 {
    seq.0 * COUNT + COUNT - 1
}

/// Reads a number back.
pub(crate) fn stopped(number: u64) -> Stopped {
    let (seq, place) = (Seq(number / COUNT), number % COUNT);
    match place {
        _ if number == 0 => Stopped::Behind(Seq(0)),
        place if place == COUNT - 1 => Stopped::Behind(seq),
        place if place < COUNT / 2 => Stopped::Within(seq, u8::try_from(place + 1).unwrap_or(0)),
        _ => Stopped::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_where_a_client_stopped() {
        let cases = [
            (0, Stopped::Behind(Seq(0))),
            (8 * 5, Stopped::Within(Seq(5), 1)),
            (8 * 5 + 2, Stopped::Within(Seq(5), 3)),
            (8 * 5 + 4, Stopped::Unknown),
            (behind(Seq(5)), Stopped::Behind(Seq(5))),
        ];
        for (number, want) in cases {
            assert_eq!(stopped(number), want, "{number}");
        }
    }
}
