//! The history of a Thread by pages: Turns, and items. Newest first unless the client wants otherwise.
//!
//! A cursor is the place of a page's end: a Turn, and for items how many of its items come before. The present Turn has
//! what it has so far; what follows comes live.

use bobbin_core::{CoreError, Snapshot, Threads};
use bobbin_model::{Item, ItemBody, LiveTurn, Turn, TurnId};
use serde_json::{Value, json};

use crate::items::{self, Call};
use crate::turns;

/// Entries of a page where the client names no number, and at most.
const PAGE: usize = 25;
const MAX_PAGE: usize = 200;
/// Most bytes of the Turns that are read for a page, unless one alone has more.
const MAX_BYTES: usize = 4 << 20;

/// Most bytes of a page, unless one entry alone has more: the client takes no message without a limit.
const MAX_PAGE_BYTES: usize = 2 << 20;

/// A page, its cursors included.
pub(crate) struct Page {
    pub(crate) data: Vec<Value>,
    pub(crate) next: Option<String>,
}

/// The direction of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    NewestFirst,
    OldestFirst,
}

pub(crate) fn limit(wanted: Option<u64>) -> usize {
    wanted.map_or(PAGE, |wanted| {
        usize::try_from(wanted).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE)
    })
}

/// Returns a page of Turns.
pub(crate) async fn turns(
    threads: &Threads,
    snapshot: &Snapshot,
    cursor: Option<&str>,
    limit: usize,
    direction: Direction,
) -> Result<Page, CoreError> {
    let live = snapshot.state.live.as_ref().map(|live| &live.turn);
    if direction == Direction::OldestFirst {
        let all = everything(threads, snapshot).await?;
        let from = cursor
            .and_then(|cursor| cursor.parse::<usize>().ok())
            .unwrap_or_default();
        let all: Vec<&Turn> = all.iter().chain(live).collect();
        let data: Vec<Value> = all
            .iter()
            .skip(from)
            .take(limit)
            .map(|turn| turns::turn(turn))
            .collect();
        let next = from + data.len();
        return Ok(Page {
            data,
            next: (next < all.len()).then(|| next.to_string()),
        });
    }
    let before = cursor.and_then(|cursor| cursor.parse::<TurnId>().ok());
    let live = live.filter(|live| before.is_none_or(|before| live.id < before));
    let room = limit - usize::from(live.is_some()).min(limit - 1);
    let (read, more) = threads.turns_of(snapshot, before, room, MAX_BYTES).await?;
    let mut data: Vec<Value> = read.iter().chain(live).map(turns::turn).collect();
    data.reverse();
    let first = read.first().or(live).map(|turn| turn.id);
    Ok(Page {
        data,
        next: first.filter(|_| more).map(|first| first.to_string()),
    })
}

/// Reads all ended Turns, up to a bound in bytes from the newest on.
async fn everything(threads: &Threads, snapshot: &Snapshot) -> Result<Vec<Turn>, CoreError> {
    let read = threads
        .turns_of(snapshot, None, usize::MAX, 4 * MAX_BYTES)
        .await?;
    Ok(read.0)
}

/// Returns a page of items.
pub(crate) async fn items(
    threads: &Threads,
    snapshot: &Snapshot,
    of_turn: Option<TurnId>,
    cursor: Option<&str>,
    limit: usize,
    direction: Direction,
) -> Result<Page, CoreError> {
    let root = &snapshot.state.header.workspace_path;
    let live = snapshot.state.live.as_ref();
    let is_wanted = |turn: &TurnId| of_turn.is_none_or(|wanted| wanted == *turn);
    if direction == Direction::OldestFirst {
        let all = everything(threads, snapshot).await?;
        let mut entries: Vec<Value> = all
            .iter()
            .filter(|turn| is_wanted(&turn.id))
            .flat_map(|turn| of_turn_items(turn, None, root))
            .collect();
        if let Some(live) = live.filter(|live| is_wanted(&live.turn.id)) {
            entries.extend(of_turn_items(&live.turn, Some(live), root));
        }
        let from = cursor
            .and_then(|cursor| cursor.parse::<usize>().ok())
            .unwrap_or_default();
        let mut bytes = 0;
        let fits = |entry: &&Value| {
            let size = entry.to_string().len();
            let fits = bytes == 0 || bytes + size <= MAX_PAGE_BYTES;
            bytes += size;
            fits
        };
        let data: Vec<Value> = entries
            .iter()
            .skip(from)
            .take(limit)
            .take_while(fits)
            .cloned()
            .collect();
        let end = from + data.len();
        let next = (end < entries.len()).then(|| end.to_string());
        return Ok(Page { data, next });
    }
    // Of the Turn at the cursor, so many items come before it.
    let place = cursor.and_then(|cursor| {
        let (turn, left) = cursor.split_once(':')?;
        Some((turn.parse::<TurnId>().ok()?, left.parse::<usize>().ok()?))
    });
    let before = match (place, of_turn) {
        (Some((turn, _)), _) | (None, Some(turn)) => Some(TurnId(turn.0.saturating_add(1))),
        (None, None) => None,
    };
    let (mut data, mut bytes) = (Vec::new(), 0);
    let mut take = |turn: &Turn, live: Option<&LiveTurn>| -> Option<String> {
        let mut entries = of_turn_items(turn, live, root);
        if let Some((_, left)) = place.filter(|(at, _)| *at == turn.id) {
            entries.truncate(left);
        }
        while let Some(entry) = entries.pop() {
            let size = entry.to_string().len();
            if data.len() == limit || bytes > 0 && bytes + size > MAX_PAGE_BYTES {
                return Some(format!("{}:{}", turn.id, entries.len() + 1));
            }
            bytes += size;
            data.push(entry);
        }
        None
    };
    let mut next = None;
    if let Some(live) =
        live.filter(|live| before.is_none_or(|before| live.turn.id < before) && is_wanted(&live.turn.id))
    {
        next = take(&live.turn, Some(live));
    }
    let mut end = before;
    while next.is_none() {
        let (read, more) = threads.turns_of(snapshot, end, 20, MAX_BYTES).await?;
        let oldest = read.first().map(|turn| turn.id);
        for turn in read.iter().rev().filter(|turn| is_wanted(&turn.id)) {
            if next.is_none() {
                next = take(turn, None);
            }
        }
        end = oldest;
        if !more || of_turn.is_some() {
            break;
        }
    }
    Ok(Page { data, next })
}

/// Returns the items of a Turn, oldest first.
pub(crate) fn of_turn_items(turn: &Turn, live: Option<&LiveTurn>, root: &str) -> Vec<Value> {
    let entry = |item: Value, made: &Item| {
        json!({
            "turnId": turn.id.to_string(),
            "item": item,
            "startedAtMs": made.created_at.0,
            "completedAtMs": made.completed_at.map(|at| at.0),
        })
    };
    let mut entries: Vec<Value> = Vec::new();
    let mut calls: Vec<(String, usize, Call)> = Vec::new();
    for item in &turn.items {
        let known = |calls: &mut Vec<(String, usize, Call)>, id: &str, change: &mut dyn FnMut(&mut Call)| {
            if let Some((_, _, call)) = calls.iter_mut().find(|(known, ..)| known == id) {
                change(call);
            }
        };
        match &item.body {
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                ..
            } => {
                let id = items::call_item_id(turn.id, call_id);
                let mut call = Call::new(id, tool_name, arguments.as_ref(), root, item.created_at);
                if let Some(preview) = live.and_then(|live| live.previews.get(call_id)) {
                    call.preview(preview);
                }
                calls.push((call_id.clone(), entries.len(), call));
                entries.push(entry(Value::Null, item));
            }
            ItemBody::DynamicToolCall(call) => {
                let shown = items::of_client(turn.id, call, root, item.created_at);
                calls.push((call.call_id.clone(), entries.len(), shown));
                entries.push(entry(Value::Null, item));
            }
            ItemBody::CommandExecution(run) => known(&mut calls, &run.call_id, &mut |call| call.run(run)),
            ItemBody::ToolResult {
                call_id,
                result,
                success,
                refused,
                change,
                ..
            } => known(&mut calls, call_id, &mut |call| {
                if let Some(change) = change {
                    call.preview(change);
                }
                call.end(result, *success, *refused);
            }),
            _ => {
                if let Some(shown) = items::of(turn.id, item) {
                    entries.push(entry(shown, item));
                }
            }
        }
    }
    for (_, place, mut call) in calls {
        if live.is_none() {
            call.stop();
        }
        entries[place]["item"] = call.item();
    }
    entries
}
