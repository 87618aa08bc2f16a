//! Which Threads are to be reported: a pure function of what is seen of them, and when.

use std::collections::HashMap;
use std::time::Duration;

use bobbin_model::ThreadId;
use tokio::time::Instant;

use crate::send::AlertKind;

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
    /// When its question was first seen, and whether it was reported.
    question: Option<(Instant, bool)>,
}

/// The limits of the user's settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    pub(crate) question: Duration,
    pub(crate) turn: Option<Duration>,
}

impl Overdue {
    /// Compares the Threads with those of the last call. Returns the alerts that are due, and when the next one may be.
    pub(crate) fn look(
        &mut self,
        seen: &[Seen],
        now: Instant,
        waits: Waits,
    ) -> (Vec<(ThreadId, AlertKind)>, Option<Instant>) {
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
            let (since, is_reported) = times.question.get_or_insert((now, false));
            if !*is_reported && now - *since >= waits.question {
                *is_reported = true;
                due.push((thread.clone(), AlertKind::Question));
            }
        }
        let questions = self.0.values().filter_map(|times| times.question);
        let next = questions.filter(|(_, is_reported)| !is_reported);
        (due, next.map(|(since, _)| since + waits.question).min())
    }

    /// Takes back that a question was reported.
    pub(crate) fn again(&mut self, thread: &ThreadId) {
        if let Some(Times {
            question: Some((_, is_reported)),
            ..
        }) = self.0.get_mut(thread)
        {
            *is_reported = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Waits = Waits {
        question: Duration::from_secs(60),
        turn: Some(Duration::from_secs(600)),
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
            let (due, next) = overdue.look(&seen(all), now, WAITS);
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
    fn a_report_that_failed_or_came_at_a_quiet_hour_is_due_again() {
        let (mut overdue, start) = (Overdue::default(), Instant::now());
        let all = seen(&[("a", true)]);
        overdue.look(&all, start, WAITS);
        let later = start + WAITS.question;
        assert_eq!(overdue.look(&all, later, WAITS).0.len(), 1);
        overdue.again(&all[0].thread);
        let (due, next) = overdue.look(&all, later, WAITS);
        assert_eq!((due.len(), next), (1, None));
    }
}
