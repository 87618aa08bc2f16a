//! A Thread's history, for dialects that show it by the same events as live ones: pages of Turns, and the events that the
//! Items of a Turn represent.

use std::collections::HashMap;

use bobbin_core::{CoreError, Threads};
use bobbin_model::{
    CallPreview, Event, Item, ItemBody, LiveTurn, Outcome, ThreadId, ThreadState, Turn, TurnId, TurnStatus,
    UnixMillis,
};

/// Number of Turns read at once.
const PAGE: u32 = 10;

/// A few neighbouring Turns of a Thread, not yet read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    before: TurnId,
    count: u32,
}

impl Page {
    /// Returns the pages of the newest `limit` Turns before a Turn, the oldest page first.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn before(
        threads: &Threads,
        id: &ThreadId,
        next: TurnId,
        limit: u32,
    ) -> Result<Vec<Self>, CoreError> {
        let (mut pages, mut left, mut end) = (Vec::new(), limit, Some(next));
        while let Some(before) = end
            && left > 0
        {
            let count = left.min(PAGE);
            pages.push(Self { before, count });
            left -= count;
            end = threads.turn_back(id, before, count).await?;
        }
        pages.reverse();
        Ok(pages)
    }

    /// Reads the Turns of the page, oldest first.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn read(self, threads: &Threads, id: &ThreadId) -> Result<Vec<Turn>, CoreError> {
        threads.turns_before(id, self.before, self.count).await
    }
}

/// Returns the Turn after the finished ones: the running Turn, or the one that comes next.
#[must_use]
pub fn after_finished(state: &ThreadState) -> TurnId {
    TurnId(state.live_turn().map_or(state.last_turn.0 + 1, |live| live.0))
}

/// Shows a Turn that has ended by the events that its Items represent, each with its time.
pub fn finished_turn(turn: &Turn, mut show: impl FnMut(&Event, UnixMillis)) {
    let changes = Changes::of(&turn.items);
    for item in &turn.items {
        changes.added(turn.id, item, &mut show);
    }
    let outcome = match turn.status {
        TurnStatus::Failed => Outcome::Failed {
            error: turn.error.clone().unwrap_or_default(),
        },
        TurnStatus::Cancelled => Outcome::Cancelled {
            reason: String::new(),
        },
        TurnStatus::Running
        | TurnStatus::WaitingApproval
        | TurnStatus::WaitingInput
        | TurnStatus::Completed => Outcome::Completed,
    };
    let completed_at = turn.completed_at.unwrap_or(turn.started_at);
    let ended = Event::TurnEnded {
        turn: turn.id,
        outcome,
        completed_at,
        usage: turn.usage,
        plan_pending: false,
    };
    show(&ended, completed_at);
}

/// File changes of a Turn by call, as recorded with the calls' results.
#[derive(Debug)]
pub struct Changes<'a>(HashMap<&'a str, &'a CallPreview>);

impl<'a> Changes<'a> {
    /// Collects the changes that the Items of a Turn record.
    #[must_use]
    pub fn of(items: &'a [Item]) -> Self {
        let of_results = items.iter().filter_map(|item| match &item.body {
            ItemBody::ToolResult {
                call_id,
                change: Some(change),
                ..
            } => Some((call_id.as_str(), &**change)),
            _ => None,
        });
        Self(of_results.collect())
    }

    /// Shows an Item that is final, and a call's file change directly after the call, as live.
    pub fn added(&self, turn: TurnId, item: &Item, mut show: impl FnMut(&Event, UnixMillis)) {
        let at = item.completed_at.unwrap_or(item.created_at);
        let added = Event::ItemAdded {
            turn,
            item: Box::new(item.clone()),
        };
        show(&added, at);
        if let ItemBody::ToolCall { call_id, .. } = &item.body
            && let Some(preview) = self.0.get(call_id.as_str())
        {
            let previewed = Event::CallPreviewed {
                turn,
                call_id: call_id.clone(),
                preview: (*preview).clone(),
            };
            show(&previewed, at);
        }
    }
}

/// Shows the progress of a running Turn's call that has no result yet: its file change, and that it has started.
pub fn call_so_far(live: &LiveTurn, item: &Item, mut show: impl FnMut(&Event, UnixMillis)) {
    let call = match &item.body {
        ItemBody::ToolCall { call_id, .. } if live.result_of(call_id).is_none() => call_id,
        ItemBody::DynamicToolCall(call) if call.answer.is_none() => &call.call_id,
        _ => return,
    };
    let turn = live.turn.id;
    if let Some(preview) = live.previews.get(call) {
        let previewed = Event::CallPreviewed {
            turn,
            call_id: call.clone(),
            preview: preview.clone(),
        };
        show(&previewed, item.created_at);
    }
    if live.started_calls.contains(call) {
        let call_id = call.clone();
        show(&Event::CallStarted { turn, call_id }, item.created_at);
    }
}
