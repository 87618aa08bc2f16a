//! Showing what a chat has been so far (20.4), and following it from there.
//!
//! The newest Turns, one flush each, so that a long chat costs one Turn's contents at a time. Live frames that
//! the snapshot has already are left out by number.

use bobbin_core::{CoreError, Snapshot, ThreadHandle};
use bobbin_model::{
    CallPreview, Delta, DeltaChannel, Event, Item, ItemBody, ItemStatus, LiveTurn, Outcome, Spent,
    ThreadHeader, Turn, TurnId, TurnStatus,
};
use std::collections::HashMap;
use std::sync::Arc;

use crate::flags;
use crate::methods::Client;
use crate::view::View;
use crate::wire::content::{ChatContent, Content, Status};

/// Turns shown when the client does not say (a guess: some screens full).
const TURNS: u32 = 50;
/// Turns read at once.
const PAGE: u32 = 10;
/// Most Turns shown.
const MAX_TURNS: u32 = 200;

/// Shows a chat's history and follows it.
pub(crate) async fn show(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    limit: Option<u32>,
) -> Result<ThreadHeader, CoreError> {
    // What was on its way when the cursor ended is in the snapshot, which is taken later.
    client.session.unsubscribe(handle.id());
    let snapshot = client.hub().snapshot(handle).await?;
    let shown = show_snapshot(client, handle, &snapshot, limit).await;
    // Followed whatever became of the history: what comes next is not in it.
    with_view(client, handle, |view, _| view.end_replay());
    client.follow(handle.clone(), snapshot.at.next());
    // What subagents ask is no part of it.
    client.session.ask_again(handle.id());
    if let Some(editor) = &client.editor {
        editor.may_answer_for(handle.id());
    }
    shown.map(|()| snapshot.state.header.clone())
}

async fn show_snapshot(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    snapshot: &Snapshot,
    limit: Option<u32>,
) -> Result<(), CoreError> {
    let state = &snapshot.state;
    let next = TurnId(state.live_turn().map_or(state.last_turn.0 + 1, |live| live.0));
    let limit = limit.unwrap_or(TURNS).min(MAX_TURNS);
    let title = state.header.display_name.clone();
    let spent = client.hub().spent(snapshot).await?;
    begin(client, snapshot, spent);
    client
        .tell(
            handle.id(),
            &[ChatContent::Cleared, ChatContent::Opened(title.clone())],
        )
        .await;
    for (before, count) in pages(client, handle, next, limit).await?.into_iter().rev() {
        let turns = client.hub().turns_before(handle.id(), before, count).await?;
        for turn in &turns {
            let told = with_view(client, handle, |view, out| finished_turn(view, turn, out));
            let told = flags::placed(told, &state.header.metadata);
            client.tell(handle.id(), &told).await;
        }
    }
    let told = with_view(client, handle, |view, out| {
        // A copy does not know yet.
        if view.in_window > 0 {
            view.usage(out);
        }
        if let Some(live) = &state.live {
            live_turn(view, live, out);
        }
        view.end_replay();
        out.extend(title.map(|title| Content::Metadata { title }.into()));
        if let Some(live) = &state.live {
            out.push(ChatContent::Status(Status::Running));
            if let Some(reason) = &live.cancelling {
                let (turn, reason) = (live.turn.id, reason.clone());
                view.event(&Event::TurnCancelling { turn, reason }, live.turn.started_at, out);
            }
        }
    });
    let told = flags::placed(told, &state.header.metadata);
    client.tell(handle.id(), &told).await;
    Ok(())
}

/// Returns where each page of the newest Turns ends and how many it has at most, the newest page first.
async fn pages(
    client: &Client,
    handle: &ThreadHandle,
    next: TurnId,
    mut left: u32,
) -> Result<Vec<(TurnId, u32)>, CoreError> {
    let mut pages = Vec::new();
    let mut end = Some(next);
    while let Some(before) = end
        && left > 0
    {
        let count = left.min(PAGE);
        pages.push((before, count));
        left -= count;
        end = client.hub().turn_back(handle.id(), before, count).await?;
    }
    Ok(pages)
}

fn begin(client: &Client, snapshot: &Snapshot, spent: Spent) {
    let header = &snapshot.state.header;
    let model = header.config.as_ref().and_then(|config| config.model.as_deref());
    client.limit(&header.id, model);
    let chats = &client.eca.chats;
    let tokens = snapshot.state.context.tokens;
    chats.with(&header.id, |chat| {
        chat.view.begin_replay(snapshot.at, spent, tokens);
    });
}

fn with_view(
    client: &Client,
    handle: &ThreadHandle,
    work: impl FnOnce(&mut View, &mut Vec<ChatContent>),
) -> Vec<ChatContent> {
    let mut out = Vec::new();
    client
        .eca
        .chats
        .with(handle.id(), |chat| work(&mut chat.view, &mut out));
    out
}

/// Shows a Turn that has ended, by the events that its Items stand for.
fn finished_turn(view: &mut View, turn: &Turn, out: &mut Vec<ChatContent>) {
    view.forget_turn();
    let changes = changes(&turn.items);
    for item in &turn.items {
        added(view, turn.id, item, out);
        previewed(view, turn.id, item, &changes, out);
    }
    let outcome = match turn.status {
        TurnStatus::Failed => Outcome::Failed {
            error: turn.error.clone().unwrap_or_default(),
        },
        TurnStatus::Cancelled => Outcome::Cancelled {
            reason: String::new(),
        },
        TurnStatus::Running | TurnStatus::WaitingApproval | TurnStatus::Completed => Outcome::Completed,
    };
    let ended = Event::TurnEnded {
        turn: turn.id,
        outcome,
        completed_at: turn.completed_at.unwrap_or(turn.started_at),
        usage: turn.usage,
        plan_pending: false,
    };
    view.event(&ended, turn.started_at, out);
}

/// Shows what there is of the Turn that runs; its open Approvals last.
fn live_turn(view: &mut View, live: &LiveTurn, out: &mut Vec<ChatContent>) {
    view.forget_turn();
    let turn = live.turn.id;
    let changes = changes(&live.turn.items);
    for item in &live.turn.items {
        if item.status == ItemStatus::Completed {
            added(view, turn, item, out);
            previewed(view, turn, item, &changes, out);
            let call = match &item.body {
                ItemBody::ToolCall { call_id, .. } if live.result_of(call_id).is_none() => call_id,
                _ => continue,
            };
            if let Some(preview) = live.previews.get(call) {
                let (call_id, preview) = (call.clone(), preview.clone());
                let previewed = Event::CallPreviewed {
                    turn,
                    call_id,
                    preview,
                };
                view.event(&previewed, item.created_at, out);
            }
            if live.started_calls.contains(call) {
                let call_id = call.clone();
                view.event(&Event::CallStarted { turn, call_id }, item.created_at, out);
            }
        } else {
            open_item(view, live, item, out);
            if let ItemBody::DynamicToolCall(call) = &item.body
                && live.started_calls.contains(&call.call_id)
            {
                let call_id = call.call_id.clone();
                view.event(&Event::CallStarted { turn, call_id }, item.created_at, out);
            }
        }
    }
    for approval in &live.approvals {
        let asked = live.item(approval.item);
        if let Some(item) = asked {
            let event = Event::ApprovalOpened {
                item: Box::new(item.clone()),
                approval: Box::new(approval.clone()),
            };
            view.event(&event, approval.opened_at, out);
        }
    }
    view.resume_message(live.turn.cost_micros);
}

/// What the calls of a Turn have changed in files, by the calls: recorded with their results.
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

/// Shows what a call has changed, right behind the call as it was shown live.
fn previewed(view: &mut View, turn: TurnId, item: &Item, changes: &Changes<'_>, out: &mut Vec<ChatContent>) {
    if let ItemBody::ToolCall { call_id, .. } = &item.body
        && let Some(preview) = changes.get(call_id.as_str())
    {
        let previewed = Event::CallPreviewed {
            turn,
            call_id: call_id.clone(),
            preview: (*preview).clone(),
        };
        view.event(&previewed, item.created_at, out);
    }
}

fn added(view: &mut View, turn: TurnId, item: &Item, out: &mut Vec<ChatContent>) {
    let at = item.completed_at.unwrap_or(item.created_at);
    let item = Box::new(item.clone());
    view.event(&Event::ItemAdded { turn, item }, at, out);
}

/// Shows an Item that text still follows, with its text so far.
fn open_item(view: &mut View, live: &LiveTurn, item: &Item, out: &mut Vec<ChatContent>) {
    let turn = live.turn.id;
    let started = Event::ItemStarted {
        turn,
        item: Box::new(item.clone()),
    };
    view.event(&started, item.created_at, out);
    let (channel, text, call) = match &item.body {
        ItemBody::AgentMessage { text } => (DeltaChannel::AgentMessage, text.as_str(), None),
        ItemBody::Reasoning { text } => (DeltaChannel::Reasoning, text.as_str(), None),
        ItemBody::ToolCall {
            tool_name, call_id, ..
        } => {
            let text = live.arguments.get(&item.id).map_or("", String::as_str);
            let call = Arc::new((tool_name.clone(), call_id.clone()));
            (DeltaChannel::ToolArguments, text, Some(call))
        }
        _ => return,
    };
    if text.is_empty() {
        return;
    }
    let delta = Delta {
        turn,
        item: item.id,
        channel,
        offset: 0,
        text: text.into(),
        call,
    };
    view.delta(&delta, out);
}
