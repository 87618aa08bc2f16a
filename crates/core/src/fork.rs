//! Starts a Thread with a copy of another Thread's conversation.
//!
//! The copy consists of the ended Turns as they are read from the store, with the same numbers, Items and tokens. It has no
//! rolled-back Turns and no link to the original. One transaction stores all of it with the new Thread. A conversation of
//! more than [`MAX_TURNS`] Turns or [`MAX_BYTES`] is refused, not cut.

use std::sync::Arc;

use bobbin_model::state::NewThread;
use bobbin_model::{Event, Outcome, Refusal, Turn, TurnFeatures, TurnId, TurnStatus, UnixMillis};

use crate::owner::weight_of_turn;
use crate::{CoreError, Snapshot, ThreadHandle, Threads};

/// Most Turns of a copy (a guess: more than a user has in one conversation).
const MAX_TURNS: usize = 2000;
/// Most bytes of a copy, about the size of a large transaction.
const MAX_BYTES: usize = 16 << 20;
/// Turns read at once.
const PAGE: u32 = 50;

impl Threads {
    /// Starts a Thread with a copy of another's Turns, up to and including an ended one.
    ///
    /// # Errors
    /// [`Refusal::TurnNotFound`], [`Refusal::TurnInProgress`], [`Refusal::NotNow`] if the conversation is too long, and as
    /// [`Threads::start_thread`].
    pub async fn fork_thread(
        self: &Arc<Self>,
        from: &ThreadHandle,
        last: TurnId,
        request: NewThread,
    ) -> Result<Snapshot, CoreError> {
        let state = self.snapshot(from).await?.state;
        if state.live_turn() == Some(last) {
            let (thread, turn) = (from.id().clone(), last);
            return Err(Refusal::TurnInProgress { thread, turn }.into());
        }
        let turns = self.turns_up_to(from, last).await?;
        // The usage of the window is known only for the newest Turn.
        let context = if state.live.is_none() && state.last_turn == last {
            state.context.tokens
        } else {
            0
        };
        let now = self.clock().now();
        let copy = turns
            .into_iter()
            .flat_map(|turn| events(turn, last, context, now));
        self.start_with(request, copy.collect()).await
    }

    async fn turns_up_to(&self, from: &ThreadHandle, last: TurnId) -> Result<Vec<Turn>, CoreError> {
        // Newest first here, and reversed at the end.
        let (mut turns, mut bytes) = (Vec::new(), 0);
        let mut before = TurnId(last.0.saturating_add(1));
        loop {
            let page = self.turns_before(from.id(), before, PAGE).await?;
            let full = page.len() == PAGE as usize;
            let Some(oldest) = page.first().map(|turn| turn.id) else {
                break;
            };
            bytes += page.iter().map(weight_of_turn).sum::<usize>();
            turns.extend(page.into_iter().rev());
            if turns.len() > MAX_TURNS || bytes > MAX_BYTES {
                return Err(Refusal::NotNow(format!(
                    "the conversation is too long to be copied: at most {MAX_TURNS} turns of {} MiB together; copy it \
                     up to an earlier message",
                    MAX_BYTES >> 20
                ))
                .into());
            }
            if !full {
                break;
            }
            before = oldest;
        }
        if turns.first().is_none_or(|turn| turn.id != last) {
            return Err(Refusal::TurnNotFound(last.to_string()).into());
        }
        turns.reverse();
        Ok(turns)
    }
}

/// Returns the events of an ended Turn, with their times.
fn events(turn: Turn, last: TurnId, context: u64, now: UnixMillis) -> Vec<(Event, UnixMillis)> {
    let (id, started_at) = (turn.id, turn.started_at);
    let mut events = Vec::with_capacity(turn.items.len() + 3);
    let mut items = turn.items.into_iter();
    let Some(user_item) = items.next() else {
        return events;
    };
    events.push((
        Event::TurnStarted {
            turn: id,
            user_item: Box::new(user_item.clone()),
            origin_channel: turn.origin_channel,
            features: TurnFeatures::default(),
            from_queue: None,
        },
        started_at,
    ));
    let items = std::iter::once(user_item).chain(items);
    events.extend(items.map(|item| {
        let at = item.created_at;
        let item = Box::new(item);
        (Event::ItemAdded { turn: id, item }, at)
    }));
    if !turn.usage.is_zero() {
        let usage = Event::UsageAdded {
            turn: id,
            usage: turn.usage,
            context_tokens: if id == last { context } else { 0 },
            context_window: None,
            // Copying costs nothing.
            cost_micros: 0,
            turn_output_tokens: Some(turn.usage.output_tokens),
        };
        events.push((usage, started_at));
    }
    let outcome = match turn.status {
        TurnStatus::Failed => Outcome::Failed {
            error: turn.error.unwrap_or_default(),
        },
        TurnStatus::Cancelled => Outcome::Cancelled {
            reason: String::new(),
        },
        TurnStatus::Completed | TurnStatus::Running | TurnStatus::WaitingApproval => Outcome::Completed,
    };
    let completed_at = turn.completed_at.unwrap_or(started_at);
    let ended = Event::TurnEnded {
        turn: id,
        outcome,
        completed_at,
        usage: turn.usage,
        plan_pending: false,
    };
    // The copy counts as the latest activity.
    events.push((ended, if id == last { now } else { completed_at }));
    events
}

/// Returns the title of a copy: `Tea (fork)`, then `Tea (fork 2)`.
pub fn fork_title(title: &str) -> String {
    let (base, number) = match title
        .strip_suffix(')')
        .and_then(|title| title.rsplit_once(" (fork"))
    {
        Some((base, "")) => (base, 2),
        Some((base, number)) => match number.trim_start().parse::<u32>() {
            Ok(number) => (base, number.saturating_add(1)),
            Err(_) => (title, 1),
        },
        None => (title, 1),
    };
    if number == 1 {
        format!("{base} (fork)")
    } else {
        format!("{base} (fork {number})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_in_their_titles() {
        for (title, copy) in [
            ("Tea", "Tea (fork)"),
            ("Tea (fork)", "Tea (fork 2)"),
            ("Tea (fork 2)", "Tea (fork 3)"),
            ("Tea (forkful)", "Tea (forkful) (fork)"),
            ("Tea (cold)", "Tea (cold) (fork)"),
        ] {
            assert_eq!(fork_title(title), copy, "{title}");
        }
    }
}
