//! Starts a Thread with a copy of another Thread's conversation.
//!
//! The copy consists of the Turns as they are read from the store, with the same numbers, Items and tokens; a running Turn
//! is copied as cancelled. It has no rolled-back Turns. One transaction stores all of it with the new Thread. A conversation
//! of more than [`MAX_TURNS`] Turns or [`MAX_BYTES`] is refused, not cut.

use std::sync::Arc;

use bobbin_model::state::NewThread;
use bobbin_model::{
    DynamicTool, Event, Item, ItemBody, ItemId, Outcome, Refusal, ThreadState, Turn, TurnFeatures, TurnId,
    TurnStatus, UnixMillis,
};

use crate::owner::weight_of_turn;
use crate::threads::starting::declared;
use crate::{CoreError, Snapshot, ThreadHandle, Threads};

/// Most Turns of a copy (a guess: more than a user has in one conversation).
const MAX_TURNS: usize = 2000;
/// Most bytes of a copy, about the size of a large transaction.
const MAX_BYTES: usize = 16 << 20;
/// Turns read at once.
const PAGE: u32 = 50;

/// The label of a copy that names the original Thread.
pub const FORKED_FROM: &str = "dotcraft.forkedFromId";

/// The end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPoint {
    /// After the newest Turn.
    End,
    /// After a Turn that has ended.
    Ended(TurnId),
    /// Before or after a Turn, or an Item in it.
    At {
        /// The Turn.
        turn: TurnId,
        /// The Item; `None` for the whole Turn.
        item: Option<ItemId>,
        /// Whether the copy ends before it.
        before: bool,
    },
}

impl Threads {
    /// Starts a Thread with a copy of another's Turns and with tools that its client declares.
    ///
    /// # Errors
    /// [`Refusal::TurnNotFound`], [`Refusal::TurnInProgress`] for [`ForkPoint::Ended`], [`Refusal::Invalid`] for an Item
    /// that the Turn does not have, [`Refusal::NotNow`] if the conversation is too long, and as [`Threads::start_thread`].
    pub async fn fork_thread(
        self: &Arc<Self>,
        from: &ThreadHandle,
        point: ForkPoint,
        request: NewThread,
        tools: Arc<[DynamicTool]>,
    ) -> Result<Snapshot, CoreError> {
        let state = self.snapshot(from).await?.state;
        if let ForkPoint::Ended(turn) = point
            && state.live_turn() == Some(turn)
        {
            let thread = from.id().clone();
            return Err(Refusal::TurnInProgress { thread, turn }.into());
        }
        let now = self.clock().now();
        let last = match point {
            ForkPoint::End => state.last_turn,
            ForkPoint::Ended(turn) | ForkPoint::At { turn, .. } => turn,
        };
        let next = TurnId(state.last_turn.0.saturating_add(1));
        let before = state
            .live_turn()
            .unwrap_or(next)
            .min(TurnId(last.0.saturating_add(1)));
        let mut turns = self.all_turns_before(from, before).await?;
        turns.extend(cancelled(&state, now).filter(|turn| turn.id <= last));
        let end = turns.last().map(|turn| turn.id);
        if point != ForkPoint::End && end != Some(last) {
            return Err(Refusal::TurnNotFound(last.to_string()).into());
        }
        if let ForkPoint::At { item, before, .. } = point {
            cut(&mut turns, item, before)?;
        }
        // The usage of the window is known only for the newest Turn.
        let newest = turns.last().map(|turn| turn.id);
        let context = if state.live.is_none() && Some(state.last_turn) == newest {
            state.context.tokens
        } else {
            0
        };
        if let Some(turn) = turns.last_mut() {
            let id = ItemId(turn.items.last().map_or(1, |item| item.id.0 + 1));
            let source = from.id().clone();
            turn.items.push(Item::whole(id, now, ItemBody::Forked { source }));
        }
        let label = Event::ThreadLabelled {
            name: FORKED_FROM.to_owned(),
            value: Some(from.id().to_string()),
        };
        let mut past = vec![(label, now)];
        past.extend(declared(tools, now));
        let copy = |turn: Turn| {
            let is_last = Some(turn.id) == newest;
            events(turn, is_last.then_some((context, now)))
        };
        past.extend(turns.into_iter().flat_map(copy));
        self.start_with(request, past).await
    }

    /// Returns the Turns before one, oldest first.
    async fn all_turns_before(
        &self,
        from: &ThreadHandle,
        mut before: TurnId,
    ) -> Result<Vec<Turn>, CoreError> {
        // Newest first here, and reversed at the end.
        let (mut turns, mut bytes) = (Vec::new(), 0);
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
        turns.reverse();
        Ok(turns)
    }
}

/// Returns the running Turn as if it were stopped now.
fn cancelled(state: &ThreadState, now: UnixMillis) -> Option<Turn> {
    let mut state = state.clone();
    let reason = String::new();
    let ended = state.decide_end_turn(Outcome::Cancelled { reason }, now);
    ended.iter().find_map(|event| state.apply(event, now))
}

/// Cuts the last Turn, and leaves it out if nothing of it is left.
fn cut(turns: &mut Vec<Turn>, item: Option<ItemId>, before: bool) -> Result<(), Refusal> {
    let Some(turn) = turns.last_mut() else {
        return Ok(());
    };
    let count = turn.items.len();
    let left = match item {
        None if before => 0,
        None => count,
        Some(id) => {
            let at = turn.items.iter().position(|item| item.id == id);
            let at = at.ok_or_else(|| Refusal::Invalid(format!("{} has no item {id}.", turn.id)))?;
            if before { at } else { at + 1 }
        }
    };
    turn.items.truncate(left);
    if left == 0 {
        turns.pop();
    } else if left < count {
        turn.status = TurnStatus::Cancelled;
    }
    Ok(())
}

/// Returns the events of a Turn, with their times. `last` has the window's tokens and the present, for the last Turn.
fn events(turn: Turn, last: Option<(u64, UnixMillis)>) -> Vec<(Event, UnixMillis)> {
    let (id, started_at) = (turn.id, turn.started_at);
    let mut events = Vec::with_capacity(turn.items.len() + 3);
    let mut items = turn.items.into_iter();
    let Some(user_item) = items.next() else {
        return events;
    };
    events.push((
        Event::TurnStarted {
            turn: id,
            user_item: Some(Box::new(user_item.clone())),
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
            context_tokens: last.map_or(0, |(context, _)| context),
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
        TurnStatus::Completed
        | TurnStatus::Running
        | TurnStatus::WaitingApproval
        | TurnStatus::WaitingInput => Outcome::Completed,
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
    events.push((ended, last.map_or(completed_at, |(_, now)| now)));
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
