//! Shows the history of a chat (20.4), and follows it from there.
//!
//! Sends the newest Turns, one flush each, so that a long chat costs one Turn's contents at a time. The view skips
//! live frames that are in the snapshot, by their number.

use bobbin_core::{CoreError, Snapshot, ThreadHandle};
use bobbin_model::{
    Delta, DeltaChannel, Event, Item, ItemBody, ItemStatus, LiveTurn, Spent, ThreadHeader, Turn, TurnId,
};
use bobbin_session::history::{Changes, Page, after_finished, call_so_far, finished_turn};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::flags;
use crate::methods::Client;
use crate::view::View;
use crate::wire::content::{ChatContent, Content, Status};

/// Default number of Turns (a guess: a few screens).
const TURNS: u32 = 50;
/// Most Turns shown.
const MAX_TURNS: u32 = 200;
/// Most bytes of contents in one answer, unless a single Turn has more.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// A cursor that clients may send without having received it.
const LAST_COMPACTION: &str = "lastCompaction";

/// The range of Turns to show: the newest ones, or those beside a cursor.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Window {
    limit: Option<u32>,
    before: Option<String>,
    after: Option<String>,
}

/// The numbers of all and of shown Turns of a chat, and the cursors to the rest.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    total: u32,
    returned: usize,
    before_cursor: Option<String>,
    after_cursor: Option<String>,
    /// Always `null`, since a chat shows compacted Turns too.
    compaction_cursor: Option<String>,
}

impl Window {
    /// Whether its cursors are valid.
    pub(crate) fn is_readable(&self) -> bool {
        let cursors = self.before.iter().chain(&self.after);
        cursors
            .into_iter()
            .all(|cursor| cursor == LAST_COMPACTION || cursor.parse::<TurnId>().is_ok())
    }

    fn limit(&self) -> u32 {
        self.limit.unwrap_or(TURNS).min(MAX_TURNS)
    }

    fn before(&self, next: TurnId) -> TurnId {
        turn(self.before.as_deref()).map_or(next, |turn| turn.min(next))
    }

    /// Reads the finished Turns of the range, oldest first.
    async fn read(
        &self,
        client: &Client,
        handle: &ThreadHandle,
        next: TurnId,
    ) -> Result<Vec<Turn>, CoreError> {
        let (end, limit) = (self.before(next), self.limit());
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Some(after) = turn(self.after.as_deref()) else {
            return client.threads().turns_before(handle.id(), end, limit).await;
        };
        // Removed Turns leave gaps in the numbers.
        let mut upper = after.0;
        loop {
            upper = upper.saturating_add(limit).min(end.0.saturating_sub(1));
            let mut turns = client
                .threads()
                .turns_before(handle.id(), TurnId(upper + 1), limit)
                .await?;
            turns.retain(|turn| turn.id > after);
            if !turns.is_empty() || upper + 1 >= end.0 {
                return Ok(turns);
            }
        }
    }
}

fn turn(cursor: Option<&str>) -> Option<TurnId> {
    cursor.and_then(|cursor| cursor.parse().ok())
}

impl Meta {
    async fn of(
        client: &Client,
        handle: &ThreadHandle,
        snapshot: &Snapshot,
        shown: &[TurnId],
    ) -> Result<Self, CoreError> {
        let before_cursor = match shown.first() {
            Some(first)
                if !client
                    .threads()
                    .turns_before(handle.id(), *first, 1)
                    .await?
                    .is_empty() =>
            {
                Some(first.to_string())
            }
            _ => None,
        };
        let after_cursor = shown.last().filter(|last| **last < snapshot.state.last_turn);
        Ok(Self {
            total: snapshot.state.turn_count,
            returned: shown.len(),
            before_cursor,
            after_cursor: after_cursor.map(TurnId::to_string),
            compaction_cursor: None,
        })
    }
}

/// Returns the contents of a range of a chat's finished Turns, as many as fit into an answer.
pub(crate) async fn past(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    window: &Window,
) -> Result<(Vec<ChatContent>, Meta), CoreError> {
    let snapshot = client.threads().snapshot(handle).await?;
    let mut turns = window
        .read(client, handle, after_finished(&snapshot.state))
        .await?;
    let forwards = window.after.is_some();
    if !forwards {
        turns.reverse();
    }
    let (mut shown, mut parts, mut bytes) = (Vec::new(), Vec::new(), 0);
    for turn in &turns {
        let (mut view, mut out) = (View::default(), Vec::new());
        view.begin_replay(snapshot.at, Spent::default(), 0);
        show_finished(&mut view, turn, &mut out);
        let told = flags::placed(out, &snapshot.state.header.metadata);
        let size = client.eca.notifications(handle.id(), &told);
        bytes += size.iter().map(|told| told.params.get().len()).sum::<usize>();
        if bytes > MAX_ANSWER_BYTES && !shown.is_empty() {
            break;
        }
        shown.push(turn.id);
        parts.push(told);
    }
    if !forwards {
        shown.reverse();
        parts.reverse();
    }
    let meta = Meta::of(client, handle, &snapshot, &shown).await?;
    Ok((parts.concat(), meta))
}

/// Shows a chat's newest Turns and follows it.
pub(crate) async fn show(client: &Client, handle: &Arc<ThreadHandle>) -> Result<(), CoreError> {
    show_part(client, handle, &Window::default()).await.map(drop)
}

/// Shows a part of a chat's history, and its running Turn, and follows it.
pub(crate) async fn show_part(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    window: &Window,
) -> Result<(ThreadHeader, Meta), CoreError> {
    // Frames that were queued when the cursor ended are in the snapshot, which is taken later.
    client.session.unsubscribe(handle.id());
    let snapshot = client.threads().snapshot(handle).await?;
    let shown = show_snapshot(client, handle, &snapshot, window).await;
    // Followed even if the history failed, since later frames are not in it.
    with_view(client, handle, |view, _| view.end_replay());
    client.follow(handle.clone(), snapshot.at.next());
    // Questions of subagents are not part of the history.
    client.session.ask_again(handle.id());
    if let Some(editor) = &client.editor {
        editor.may_answer_for(handle.id());
    }
    let meta = Meta::of(client, handle, &snapshot, &shown?).await?;
    Ok((snapshot.state.header.clone(), meta))
}

async fn show_snapshot(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    snapshot: &Snapshot,
    window: &Window,
) -> Result<Vec<TurnId>, CoreError> {
    let state = &snapshot.state;
    let next = window.before(after_finished(&snapshot.state));
    let after = turn(window.after.as_deref());
    let mut shown = Vec::new();
    let title = state.header.display_name.clone();
    let spent = client.threads().spent(snapshot).await?;
    begin(client, snapshot, spent);
    client
        .tell(
            handle.id(),
            &[ChatContent::Cleared, ChatContent::Opened(title.clone())],
        )
        .await;
    let (threads, id) = (client.threads(), handle.id());
    for page in Page::before(threads, id, next, window.limit()).await? {
        let turns = page.read(threads, id).await?;
        for turn in turns
            .iter()
            .filter(|turn| after.is_none_or(|after| turn.id > after))
        {
            shown.push(turn.id);
            let told = with_view(client, handle, |view, out| show_finished(view, turn, out));
            let told = flags::placed(told, &state.header.metadata);
            client.tell(handle.id(), &told).await;
        }
    }
    let told = with_view(client, handle, |view, out| {
        // A copy has no figures yet.
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
    Ok(shown)
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

/// Shows a Turn that has ended.
fn show_finished(view: &mut View, turn: &Turn, out: &mut Vec<ChatContent>) {
    view.forget_turn();
    finished_turn(turn, |event, at| view.event(event, at, out));
}

/// Shows the running Turn so far, its open Approvals last.
fn live_turn(view: &mut View, live: &LiveTurn, out: &mut Vec<ChatContent>) {
    view.forget_turn();
    let turn = live.turn.id;
    let changes = Changes::of(&live.turn.items);
    for item in &live.turn.items {
        if item.status == ItemStatus::Completed {
            changes.added(turn, item, |event, at| view.event(event, at, out));
        } else {
            open_item(view, live, item, out);
        }
        call_so_far(live, item, |event, at| view.event(event, at, out));
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

/// Shows an unfinished Item with its text so far.
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
