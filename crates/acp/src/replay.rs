//! Sends the history of a session, one page of Turns at a time, so that a long one costs a page.

use std::collections::HashMap;

use bobbin_acp_wire::SessionUpdate;
use bobbin_core::{CoreError, Snapshot, ThreadHandle};
use bobbin_model::{
    CallPreview, Event, Item, ItemBody, ItemStatus, LiveTurn, Outcome, Turn, TurnId, TurnStatus,
};

use crate::methods::Client;
use crate::view::{View, plan_update};

/// Number of Turns read at once.
const PAGE: u32 = 10;

/// Sends all of a session's history, and its running Turn so far.
///
/// # Errors
/// The history cannot be read.
pub(crate) async fn all(
    client: &Client,
    handle: &ThreadHandle,
    snapshot: &Snapshot,
) -> Result<(), CoreError> {
    let state = &snapshot.state;
    let next = TurnId(state.live_turn().map_or(state.last_turn.0 + 1, |live| live.0));
    for before in pages(client, handle, next).await?.into_iter().rev() {
        let turns = client.threads().turns_before(handle.id(), before, PAGE).await?;
        let updates = with_view(client, handle, |view, out| {
            for turn in &turns {
                finished_turn(view, turn, out);
            }
        });
        client.send(handle.id(), updates).await;
    }
    let updates = with_view(client, handle, |view, out| {
        view.usage(out);
        if let Some(live) = &state.live {
            live_turn(view, live, out);
        }
        out.extend(state.plan.as_ref().and_then(plan_update));
    });
    client.send(handle.id(), updates).await;
    Ok(())
}

/// Notes the running Turn of a session without sending it.
pub(crate) fn skip(client: &Client, handle: &ThreadHandle, snapshot: &Snapshot) {
    let Some(live) = &snapshot.state.live else {
        return;
    };
    let turn = live.turn.id;
    with_view(client, handle, |view, out| {
        turn_started(view, live, out);
        for item in &live.turn.items {
            view.seed_call(turn, item);
            if item.status != ItemStatus::Completed {
                view.seed_text(item);
            }
        }
    });
}

/// Returns the end of each page of a session's Turns, the newest page first.
async fn pages(client: &Client, handle: &ThreadHandle, next: TurnId) -> Result<Vec<TurnId>, CoreError> {
    let mut pages = Vec::new();
    let mut end = Some(next);
    while let Some(before) = end {
        pages.push(before);
        end = client.threads().turn_back(handle.id(), before, PAGE).await?;
    }
    Ok(pages)
}

fn with_view(
    client: &Client,
    handle: &ThreadHandle,
    work: impl FnOnce(&mut View, &mut Vec<SessionUpdate>),
) -> Vec<SessionUpdate> {
    let mut out = Vec::new();
    client
        .acp
        .sessions
        .with(handle.id(), |open| work(&mut open.view, &mut out));
    out
}

/// Shows an event of history.
fn event(view: &mut View, event: &Event, item: &Item, out: &mut Vec<SessionUpdate>) {
    let at = item.completed_at.unwrap_or(item.created_at);
    view.event(event, at, |_| false, out);
}

/// Shows a Turn that has ended, with the events that its Items represent.
fn finished_turn(view: &mut View, turn: &Turn, out: &mut Vec<SessionUpdate>) {
    view.forget_turn();
    let changes = changes(&turn.items);
    for item in &turn.items {
        added(view, turn.id, item, &changes, out);
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
    view.event(&ended, completed_at, |_| false, out);
}

/// Shows the running Turn so far.
fn live_turn(view: &mut View, live: &LiveTurn, out: &mut Vec<SessionUpdate>) {
    turn_started(view, live, out);
    let turn = live.turn.id;
    let changes = changes(&live.turn.items);
    for item in &live.turn.items {
        if item.status == ItemStatus::Completed {
            added(view, turn, item, &changes, out);
        } else {
            let started = Event::ItemStarted {
                turn,
                item: Box::new(item.clone()),
            };
            event(view, &started, item, out);
            view.text_so_far(turn, item, out);
        }
        let call = match &item.body {
            ItemBody::ToolCall { call_id, .. } if live.result_of(call_id).is_none() => call_id,
            ItemBody::DynamicToolCall(call) if call.answer.is_none() => &call.call_id,
            _ => continue,
        };
        if let Some(preview) = live.previews.get(call) {
            let (call_id, preview) = (call.clone(), preview.clone());
            let previewed = Event::CallPreviewed {
                turn,
                call_id,
                preview,
            };
            event(view, &previewed, item, out);
        }
        if live.started_calls.contains(call) {
            let call_id = call.clone();
            event(view, &Event::CallStarted { turn, call_id }, item, out);
        }
    }
}

/// Notes that a Turn runs.
fn turn_started(view: &mut View, live: &LiveTurn, out: &mut Vec<SessionUpdate>) {
    if let Some(first) = live.turn.items.first() {
        let started = Event::TurnStarted {
            turn: live.turn.id,
            user_item: Box::new(first.clone()),
            origin_channel: None,
            features: live.features.clone(),
            from_queue: None,
        };
        event(view, &started, first, out);
    }
}

/// File changes of a Turn by call, as recorded with the calls' results.
type Changes<'a> = HashMap<&'a str, &'a CallPreview>;

fn changes(items: &[Item]) -> Changes<'_> {
    let of_results = items.iter().filter_map(|item| match &item.body {
        ItemBody::ToolResult {
            call_id,
            change: Some(change),
            ..
        } => Some((call_id.as_str(), &**change)),
        _ => None,
    });
    of_results.collect()
}

/// Shows an Item that is final, and a call's file change directly after the call, as live.
fn added(view: &mut View, turn: TurnId, item: &Item, changes: &Changes<'_>, out: &mut Vec<SessionUpdate>) {
    let added = Event::ItemAdded {
        turn,
        item: Box::new(item.clone()),
    };
    event(view, &added, item, out);
    if let ItemBody::ToolCall { call_id, .. } = &item.body
        && let Some(preview) = changes.get(call_id.as_str())
    {
        let previewed = Event::CallPreviewed {
            turn,
            call_id: call_id.clone(),
            preview: (*preview).clone(),
        };
        event(view, &previewed, item, out);
    }
}
