//! Decides when the output and the silence of a terminal are broadcast. Pure.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Output of one terminal that waits for a broadcast; more is left out, with a note.
const MAX_PENDING: usize = 16 << 10;

/// The broadcast budget of all terminals.
#[derive(Debug)]
pub(crate) struct Budget {
    per_second: usize,
    /// Bytes that may be sent now, and the time of that figure.
    left: Mutex<(usize, Instant)>,
}

impl Budget {
    pub(crate) fn new(per_second: usize, now: Instant) -> Self {
        Self {
            per_second,
            left: Mutex::new((per_second, now)),
        }
    }

    /// Takes `bytes` from the budget, if it has them. At most a second's worth accumulates. A larger message passes when the
    /// budget is full; the excess delays later messages.
    pub(crate) fn take(&self, bytes: usize, now: Instant) -> bool {
        let mut left = self.left.lock();
        let millis = now.saturating_duration_since(left.1).as_millis();
        let gained = usize::try_from(millis)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.per_second)
            / 1000;
        if gained > 0 {
            *left = (left.0.saturating_add(gained).min(self.per_second), now);
        }
        let enough = left.0 >= bytes.min(self.per_second);
        if enough {
            left.0 = left.0.saturating_sub(bytes);
        }
        enough
    }
}

/// Output that waits for a broadcast.
#[derive(Debug)]
pub(crate) struct Pending {
    text: String,
    left_out: usize,
    every: Duration,
    /// The earliest time of its broadcast.
    from: Instant,
}

impl Pending {
    pub(crate) fn new(every: Duration, now: Instant) -> Self {
        Self {
            text: String::new(),
            left_out: 0,
            every,
            from: now,
        }
    }

    /// Adds output.
    pub(crate) fn add(&mut self, text: &str) {
        let room = MAX_PENDING - self.text.len();
        // After a gap, later output is left out too until the next broadcast.
        let fits = if self.left_out > 0 {
            0
        } else {
            text.floor_char_boundary(room)
        };
        self.text.push_str(&text[..fits]);
        self.left_out += text.len() - fits;
    }

    /// Returns when a broadcast may be due.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.text.is_empty()).then_some(self.from)
    }

    /// Returns the text of the broadcast that is due. `beside` is the size of a broadcast without its text.
    pub(crate) fn take_due(&mut self, budget: &Budget, beside: usize, now: Instant) -> Option<String> {
        if self.text.is_empty() || now < self.from {
            return None;
        }
        self.from = now + self.every;
        budget.take(self.text.len() + beside, now).then(|| self.rest())
    }

    /// Returns all waiting output.
    pub(crate) fn rest(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        if self.left_out > 0 {
            text = format!("{text}\n[... {} bytes left out ...]\n", self.left_out);
            self.left_out = 0;
        }
        text
    }
}

/// How long a terminal has been silent.
#[derive(Debug)]
pub(crate) struct Silence {
    since: Instant,
    is_reported: bool,
    stall_after: Duration,
}

impl Silence {
    pub(crate) fn new(stall_after: Duration, now: Instant) -> Self {
        Self {
            since: now,
            is_reported: false,
            stall_after,
        }
    }

    /// Notes that the silence has ended.
    pub(crate) fn end(&mut self, now: Instant) {
        self.since = now;
        self.is_reported = false;
    }

    /// Returns when the report of the silence is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.is_reported).then(|| self.since + self.stall_after)
    }

    /// Returns whether the report is due now; once for each silence.
    pub(crate) fn is_newly_due(&mut self, now: Instant) -> bool {
        let due = self.due().is_some_and(|due| due <= now);
        self.is_reported |= due;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(200);

    #[test]
    fn all_terminals_together_tell_no_more_than_so_much_a_second() {
        let begin = Instant::now();
        let budget = Budget::new(1000, begin);
        assert!(budget.take(600, begin) && !budget.take(600, begin));
        assert!(budget.take(600, begin + EVERY));
        assert!(!budget.take(1, begin + EVERY));
        let later = begin + Duration::from_mins(1);
        assert!(
            budget.take(5000, later),
            "what is larger waits for all there can be"
        );
        assert!(!budget.take(1, later));
        assert!(budget.take(1000, later + Duration::from_secs(1)));
    }

    #[test]
    fn output_is_told_in_pieces_that_joined_are_all_of_it() {
        let begin = Instant::now();
        let budget = Budget::new(1 << 20, begin);
        let mut pending = Pending::new(EVERY, begin);
        assert_eq!((pending.due(), pending.take_due(&budget, 0, begin)), (None, None));
        pending.add("a");
        assert_eq!(pending.due(), Some(begin));
        assert_eq!(pending.take_due(&budget, 0, begin).as_deref(), Some("a"));
        pending.add("b");
        pending.add("c");
        assert_eq!(pending.take_due(&budget, 0, begin), None, "too soon");
        assert_eq!(pending.take_due(&budget, 0, begin + EVERY).as_deref(), Some("bc"));
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out_with_a_word() {
        let begin = Instant::now();
        let budget = Budget::new(10, begin);
        assert!(budget.take(10, begin));
        let mut pending = Pending::new(EVERY, begin);
        pending.add(&"x".repeat(MAX_PENDING - 1));
        pending.add("éy");
        pending.add("z");
        assert_eq!(
            pending.take_due(&budget, 0, begin),
            None,
            "nothing is left to tell with"
        );
        let is_reported = pending
            .take_due(&budget, 0, begin + Duration::from_secs(1))
            .unwrap();
        assert!(
            is_reported.ends_with("x\n[... 4 bytes left out ...]\n"),
            "{}",
            &is_reported[is_reported.len() - 50..]
        );
        pending.add("on");
        assert_eq!(pending.rest(), "on");
    }

    #[test]
    fn each_silence_is_told_once() {
        let begin = Instant::now();
        let after = Duration::from_secs(45);
        let mut silence = Silence::new(after, begin);
        assert!(!silence.is_newly_due(begin + EVERY));
        assert!(silence.is_newly_due(begin + after) && !silence.is_newly_due(begin + after * 2));
        assert_eq!(silence.due(), None);
        silence.end(begin + after * 2);
        assert!(!silence.is_newly_due(begin + after * 2) && silence.is_newly_due(begin + after * 3));
    }
}
