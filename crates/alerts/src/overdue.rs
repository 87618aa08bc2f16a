//! Which Threads are to be reported: a pure function of what is seen of them, and when.

use std::collections::HashMap;
use std::time::Duration;

use bobbin_model::ThreadId;
use tokio::time::Instant;

use crate::send::AlertKind;

/// Most attempts to report a question. A server without clients waits for no more.
const MAX_ATTEMPTS: u32 = 10;

/// A Thread with a Turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) thread: ThreadId,
    /// Whether it waits for an answer of a user.
    pub(crate) waits: bool,
}

/// The Threads that were seen last, with their times.
#[derive(Debug, Default)]
pub(crate) struct Overdue(HashMap<ThreadId, Times>);

#[derive(Debug)]
struct Times {
    /// When its Turn was first seen.
    started: Instant,
    question: Option<Question>,
}

/// A question that waits.
#[derive(Debug)]
struct Question {
    /// When it is reported.
    due: Instant,
    is_reported: bool,
    /// Attempts to report it that have failed.
    failed: u32,
}

/// The limits of the user's settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    pub(crate) question: Duration,
    pub(crate) turn: Option<Duration>,
}

impl Overdue {
    /// Compares the Threads with those of the last call. Returns the alerts that are due, which count as reported.
    pub(crate) fn look(&mut self, seen: &[Seen], now: Instant, waits: Waits) -> Vec<(ThreadId, AlertKind)> {
        let mut due = Vec::new();
        self.0.retain(|thread, times| {
            let works = seen.iter().any(|seen| seen.thread == *thread);
            if !works && waits.turn.is_some_and(|turn| now - times.started >= turn) {
                due.push((thread.clone(), AlertKind::TurnEnded));
            }
            works
        });
        for Seen {
            thread,
            waits: is_waiting,
        } in seen
        {
            let times = self.0.entry(thread.clone()).or_insert(Times {
                started: now,
                question: None,
            });
            if !is_waiting {
                times.question = None;
                continue;
            }
            let question = times.question.get_or_insert(Question {
                due: now + waits.question,
                is_reported: false,
                failed: 0,
            });
            if !question.is_reported && now >= question.due {
                question.is_reported = true;
                due.push((thread.clone(), AlertKind::Question));
            }
        }
        due
    }

    /// Returns when the next question is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        let questions = self.0.values().filter_map(|times| times.question.as_ref());
        let waiting = questions.filter(|question| !question.is_reported);
        waiting.map(|question| question.due).min()
    }

    /// Has a question reported at a later time, since this one is quiet.
    pub(crate) fn postpone(&mut self, thread: &ThreadId, due: Instant) {
        if let Some(question) = self.0.get_mut(thread).and_then(|times| times.question.as_mut()) {
            question.due = due;
            question.is_reported = false;
        }
    }

    /// Has a question reported at a later time, since its alert was not delivered. After ten attempts it is not.
    pub(crate) fn failed(&mut self, thread: &ThreadId, due: Instant) {
        if let Some(question) = self.0.get_mut(thread).and_then(|times| times.question.as_mut()) {
            question.due = due;
            question.failed += 1;
            question.is_reported = question.failed >= MAX_ATTEMPTS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Waits = Waits {
        question: Duration::from_mins(1),
        turn: Some(Duration::from_mins(10)),
    };

    fn seen(all: &[(&str, bool)]) -> Vec<Seen> {
        let seen = |(id, waits): &(&str, bool)| Seen {
            thread: ThreadId::new(*id),
            waits: *waits,
        };
        all.iter().map(seen).collect()
    }

    #[test]
    fn each_question_is_reported_once_and_a_new_one_anew() {
        let (mut overdue, start) = (Overdue::default(), Instant::now());
        let mut at = |seconds: u64, all: &[(&str, bool)]| {
            let now = start + Duration::from_secs(seconds);
            let due = overdue.look(&seen(all), now, WAITS);
            let next = overdue.next();
            let due: Vec<_> = due
                .into_iter()
                .map(|(id, kind)| (id.as_str().to_owned(), kind))
                .collect();
            (due, next.map(|next| (next - start).as_secs()))
        };
        let question = |id: &str| (id.to_owned(), AlertKind::Question);
        assert_eq!(at(0, &[("a", false), ("b", true)]), (vec![], Some(60)));
        assert_eq!(at(10, &[("a", true), ("b", true)]), (vec![], Some(60)));
        assert_eq!(
            at(60, &[("a", true), ("b", true)]),
            (vec![question("b")], Some(70))
        );
        assert_eq!(at(70, &[("a", true), ("b", true)]), (vec![question("a")], None));
        assert_eq!(at(500, &[("a", true), ("b", true)]), (vec![], None));
        assert_eq!(at(510, &[("a", false), ("b", true)]), (vec![], None));
        assert_eq!(
            at(520, &[("a", true)]),
            (vec![], Some(580)),
            "the Turn of b was short"
        );
        assert_eq!(at(580, &[("a", true)]), (vec![question("a")], None));
        assert_eq!(at(600, &[]), (vec![("a".to_owned(), AlertKind::TurnEnded)], None));
        assert_eq!(at(1300, &[]), (vec![], None));
    }

    #[test]
    fn a_report_that_failed_or_came_at_a_quiet_hour_is_due_again_later() {
        let (mut overdue, start) = (Overdue::default(), Instant::now());
        let all = seen(&[("a", true)]);
        overdue.look(&all, start, WAITS);
        let failed = start + WAITS.question;
        assert_eq!(overdue.look(&all, failed, WAITS).len(), 1);
        let again = failed + Duration::from_mins(1);
        overdue.failed(&all[0].thread, again);
        // The server looks whenever something happens in any Thread.
        let early = again - Duration::from_millis(1);
        assert_eq!(
            (overdue.look(&all, early, WAITS), overdue.next()),
            (vec![], Some(again))
        );
        assert_eq!(
            (overdue.look(&all, again, WAITS).len(), overdue.next()),
            (1, None)
        );
    }

    #[test]
    fn a_question_is_given_up_after_ten_attempts_and_quiet_hours_are_none() {
        let (mut overdue, mut now) = (Overdue::default(), Instant::now());
        let all = seen(&[("a", true)]);
        overdue.look(&all, now, WAITS);
        for _ in 0..100 {
            overdue.postpone(&all[0].thread, now);
            assert_eq!(overdue.look(&all, now, WAITS).len(), 1);
        }
        for attempt in 1..=MAX_ATTEMPTS {
            now += WAITS.question;
            overdue.failed(&all[0].thread, now);
            let due = overdue.look(&all, now, WAITS).len();
            assert_eq!(due, usize::from(attempt < MAX_ATTEMPTS), "{attempt}");
        }
        assert_eq!(overdue.next(), None);
    }
}
