//! Sends the history of a session, one page of Turns at a time, so that a long one costs a page.

use bobbin_acp_wire::SessionUpdate;
use bobbin_core::{CoreError, Snapshot, ThreadHandle};
use bobbin_model::{Event, ItemStatus, LiveTurn, Turn, UnixMillis};
use bobbin_session::history::{Changes, Page, after_finished, call_so_far, finished_turn};

use crate::methods::Client;
use crate::view::{View, plan_update};

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
    let (threads, id) = (client.threads(), handle.id());
    for page in Page::before(threads, id, after_finished(state), u32::MAX).await? {
        let turns = page.read(threads, id).await?;
        let updates = with_view(client, handle, |view, out| {
            for turn in &turns {
                show_finished(view, turn, out);
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

/// Returns a function that shows events of history.
fn past<'a>(view: &'a mut View, out: &'a mut Vec<SessionUpdate>) -> impl FnMut(&Event, UnixMillis) + use<'a> {
    |event, at| {
        view.event(event, at, |_| false, out);
    }
}

/// Shows a Turn that has ended.
fn show_finished(view: &mut View, turn: &Turn, out: &mut Vec<SessionUpdate>) {
    view.forget_turn();
    finished_turn(turn, past(view, out));
}

/// Shows the running Turn so far.
fn live_turn(view: &mut View, live: &LiveTurn, out: &mut Vec<SessionUpdate>) {
    turn_started(view, live, out);
    let turn = live.turn.id;
    let changes = Changes::of(&live.turn.items);
    for item in &live.turn.items {
        if item.status == ItemStatus::Completed {
            changes.added(turn, item, past(view, out));
        } else {
            let started = Event::ItemStarted {
                turn,
                item: Box::new(item.clone()),
            };
            past(view, out)(&started, item.created_at);
            view.text_so_far(turn, item, out);
        }
        call_so_far(live, item, past(view, out));
    }
}

/// Notes that a Turn runs.
fn turn_started(view: &mut View, live: &LiveTurn, out: &mut Vec<SessionUpdate>) {
    if let Some(first) = live.turn.items.first() {
        let started = Event::TurnStarted {
            turn: live.turn.id,
            user_item: Some(Box::new(first.clone())),
            origin_channel: None,
            features: live.features.clone(),
            from_queue: None,
        };
        past(view, out)(&started, first.created_at);
    }
}
