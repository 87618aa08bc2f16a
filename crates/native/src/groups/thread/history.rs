//! `thread/turns/list` and `thread/items/list`: a Thread's history page by page, in both orders (07 §6.3, §6.4).
//!
//! A cursor is a place between two entries, with the order and the list that it belongs to. A place outlives a rollback:
//! the next page goes on with what is left on its side. Turns are read in windows of their numbers; numbers of Turns that
//! were rolled back are gaps.

use std::fmt;

use bobbin_core::{CoreError, Snapshot, Threads};
use bobbin_model as model;
use bobbin_model::{ItemId, ThreadId, TurnId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::thread::history_types::SortDirection::{Ascending, Descending};
use bobbin_native_wire::thread::history_types::{
    ItemOfTurn, SortDirection, ThreadItemsListParams, ThreadItemsListResult, ThreadTurnsListParams,
    ThreadTurnsListResult,
};
use bobbin_native_wire::turn::types::Turn;
use bobbin_peer::Responder;

use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::convert;
use crate::groups::thread::read::{MAX_TURN_BYTES, NO_CURSOR};

/// Largest page of Turns, and of Items.
const MAX_TURNS: u32 = 100;
const MAX_ITEMS: u32 = 500;
/// Sizes of pages without a limit.
const DEFAULT_TURNS: u32 = 20;
const DEFAULT_ITEMS: u32 = 100;
/// Numbers of Turns that one read of the store covers.
const WINDOW: u32 = 16;

/// A place in a history: behind or before an Item of a Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    turn: u32,
    item: u32,
}

/// A cursor: `ORDER TURN ITEM LIST`, with points between. The order of a cursor for both orders is `b`.
struct Cursor<'a> {
    order: Option<SortDirection>,
    at: Position,
    list: &'a str,
}

impl fmt::Display for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            Some(Ascending) => 'a',
            Some(Descending) => 'd',
            None => 'b',
        };
        write!(f, "{order}.{}.{}.{}", self.at.turn, self.at.item, self.list)
    }
}

impl Cursor<'_> {
    /// Reads a cursor that belongs to this list and order. Returns its place, and whether the entry there is included.
    fn read(text: &str, list: &str, order: SortDirection) -> Option<(Position, bool)> {
        let mut parts = text.splitn(4, '.');
        let of = match parts.next()? {
            "a" => Some(Ascending),
            "d" => Some(Descending),
            "b" => None,
            _ => return None,
        };
        let at = Position {
            turn: parts.next()?.parse().ok()?,
            item: parts.next()?.parse().ok()?,
        };
        let fits = parts.next()? == list && of.is_none_or(|of| of == order);
        fits.then_some((at, of.is_none()))
    }
}

/// The start of a page and its order.
#[derive(Clone, Copy)]
struct Page {
    order: SortDirection,
    /// The place of an earlier page, and whether the entry there is included. `None`: the end at which the order starts.
    start: Option<(Position, bool)>,
    limit: usize,
}

impl Page {
    fn read(
        list: &str,
        cursor: Option<&str>,
        order: Option<SortDirection>,
        limit: Option<u32>,
        (default, most): (u32, u32),
    ) -> Result<Self, String> {
        let order = order.unwrap_or_default();
        let limit = limit.unwrap_or(default);
        if !(1..=most).contains(&limit) {
            return Err(format!("'limit' must be 1 to {most}."));
        }
        let start = match cursor.map(|cursor| Cursor::read(cursor, list, order)) {
            None => None,
            Some(Some(start)) => Some(start),
            Some(None) => return Err(NO_CURSOR.to_owned()),
        };
        Ok(Self {
            order,
            start,
            limit: limit as usize,
        })
    }

    /// Whether an entry is on this page or a later one.
    fn has(&self, position: Position) -> bool {
        match (self.start, self.order) {
            (None, _) => true,
            (Some((at, true)), _) if position == at => true,
            (Some((at, _)), Ascending) => position > at,
            (Some((at, _)), Descending) => position < at,
        }
    }
}

/// The Turns of a Thread from a place on, window by window.
struct Turns<'a> {
    threads: &'a Threads,
    snapshot: &'a Snapshot,
    order: SortDirection,
    /// The next window starts with this number, in the order.
    next: Option<u32>,
}

impl<'a> Turns<'a> {
    fn new(client: &'a Client, snapshot: &'a Snapshot, page: &Page) -> Self {
        let last = snapshot.state.last_turn.0;
        let next = match (page.start, page.order) {
            (Some((at, _)), Ascending) => at.turn.max(1),
            (Some((at, _)), Descending) => at.turn.min(last),
            (None, Ascending) => 1,
            (None, Descending) => last,
        };
        Self {
            threads: client.threads(),
            snapshot,
            order: page.order,
            next: (1..=last).contains(&next).then_some(next),
        }
    }

    /// Reads the next window. `None`: the history ends here. A window can be empty.
    async fn window(&mut self) -> Result<Option<Vec<model::Turn>>, CoreError> {
        let Some(next) = self.next else { return Ok(None) };
        let state = &self.snapshot.state;
        let last = state.last_turn.0;
        let (from, to) = match self.order {
            Ascending => (next, next.saturating_add(WINDOW - 1).min(last)),
            Descending => (next.saturating_sub(WINDOW - 1).max(1), next),
        };
        self.next = match self.order {
            Ascending => (to < last).then_some(to + 1),
            Descending => (from > 1).then_some(from - 1),
        };
        let before = TurnId(to.saturating_add(1));
        let mut turns = self
            .threads
            .turns_before(&state.header.id, before, WINDOW)
            .await?;
        turns.retain(|turn| turn.id.0 >= from);
        if let Some(live) = &state.live
            && (from..=to).contains(&live.turn.id.0)
        {
            turns.retain(|turn| turn.id != live.turn.id);
            turns.push(live.turn.clone());
        }
        if self.order == Descending {
            turns.reverse();
        }
        Ok(Some(turns))
    }
}

pub(super) async fn turns(client: &Client, params: ThreadTurnsListParams, responder: Responder) {
    let list = &params.thread_id;
    let page = Page::read(
        list,
        params.cursor.as_deref(),
        params.sort_direction,
        params.limit,
        (DEFAULT_TURNS, MAX_TURNS),
    );
    let page = match page {
        Ok(page) => page,
        Err(detail) => return refuse_params(responder, detail),
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let reader = client.clone();
    client.answer_large(responder, async move |responder| {
        let read = async {
            let snapshot = reader.threads().snapshot(&thread).await?;
            turn_page(&reader, &snapshot, &page).await
        };
        match read.await {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

async fn turn_page(
    client: &Client,
    snapshot: &Snapshot,
    page: &Page,
) -> Result<ThreadTurnsListResult, CoreError> {
    let id = &snapshot.state.header.id;
    let position = |turn: TurnId| Position {
        turn: turn.0,
        item: 0,
    };
    let cursor = |order, turn| {
        let list = id.as_str();
        Cursor {
            order,
            at: position(turn),
            list,
        }
        .to_string()
    };
    let mut data: Vec<(TurnId, Turn)> = Vec::new();
    let mut more = false;
    let mut turns = Turns::new(client, snapshot, page);
    'pages: while let Some(window) = turns.window().await? {
        for turn in window.into_iter().filter(|turn| page.has(position(turn.id))) {
            more = data.len() == page.limit;
            if more {
                break 'pages;
            }
            let shown = Turn {
                items: None,
                ..client.native.turn(id, &turn)
            };
            data.push((turn.id, shown));
        }
    }
    let last = data.last().filter(|_| more).map(|(turn, _)| *turn);
    Ok(ThreadTurnsListResult {
        next_cursor: last.map(|turn| cursor(Some(page.order), turn)),
        backwards_cursor: data.first().map(|(turn, _)| cursor(None, *turn)),
        data: data.into_iter().map(|(_, turn)| turn).collect(),
    })
}

pub(super) async fn items(client: &Client, params: ThreadItemsListParams, responder: Responder) {
    let turn = match params.turn_id.as_deref().map(str::parse::<TurnId>) {
        None => None,
        Some(Ok(turn)) => Some(turn),
        Some(Err(_)) => {
            let unknown = params.turn_id.unwrap_or_default();
            return refuse(responder, RpcError::turn_not_found(&unknown));
        }
    };
    let list = turn.map_or_else(
        || params.thread_id.clone(),
        |turn| format!("{turn}.{}", params.thread_id),
    );
    let page = Page::read(
        &list,
        params.cursor.as_deref(),
        params.sort_direction,
        params.limit,
        (DEFAULT_ITEMS, MAX_ITEMS),
    );
    let page = match page {
        Ok(page) => page,
        Err(detail) => return refuse_params(responder, detail),
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let reader = client.clone();
    client.answer_large(responder, async move |responder| {
        let read = async {
            let snapshot = reader.threads().snapshot(&thread).await?;
            item_page(&reader, &snapshot, turn, &page, &list).await
        };
        match read.await {
            Ok(Some(result)) => responder.ok(result),
            Ok(None) => {
                let unknown = turn.map(|turn| turn.to_string()).unwrap_or_default();
                refuse(responder, RpcError::turn_not_found(&unknown));
            }
            Err(error) => fail(responder, &error),
        }
    });
}

/// Returns a page of Items; `None` if the one Turn is not there.
async fn item_page(
    client: &Client,
    snapshot: &Snapshot,
    only: Option<TurnId>,
    page: &Page,
    list: &str,
) -> Result<Option<ThreadItemsListResult>, CoreError> {
    let mut entries = Entries {
        page: *page,
        shown: client.native.tool_executions(),
        data: Vec::new(),
        bytes: 0,
        more: false,
    };
    if let Some(only) = only {
        let Some(turn) = one_turn(client, snapshot, only).await? else {
            return Ok(None);
        };
        entries.take(&turn);
    } else {
        let mut turns = Turns::new(client, snapshot, page);
        'pages: while let Some(window) = turns.window().await? {
            for turn in &window {
                entries.take(turn);
                if entries.more {
                    break 'pages;
                }
            }
        }
    }
    let last = entries
        .data
        .last()
        .filter(|_| entries.more)
        .map(|(position, _)| *position);
    Ok(Some(ThreadItemsListResult {
        next_cursor: last.map(|at| {
            let order = Some(page.order);
            Cursor { order, at, list }.to_string()
        }),
        data: entries.data.into_iter().map(|(_, entry)| entry).collect(),
    }))
}

async fn one_turn(
    client: &Client,
    snapshot: &Snapshot,
    only: TurnId,
) -> Result<Option<model::Turn>, CoreError> {
    let state = &snapshot.state;
    if let Some(live) = state.live.as_ref().filter(|live| live.turn.id == only) {
        return Ok(Some(live.turn.clone()));
    }
    let before = TurnId(only.0.saturating_add(1));
    let id: &ThreadId = &state.header.id;
    let found = client.threads().turns_before(id, before, 1).await?;
    Ok(found.into_iter().find(|turn| turn.id == only))
}

/// The Items of a page.
struct Entries {
    page: Page,
    shown: convert::ToolExecutions,
    data: Vec<(Position, ItemOfTurn)>,
    bytes: usize,
    /// Whether the page is full and another Item follows.
    more: bool,
}

impl Entries {
    /// Takes the Items of the next Turn, until the page is full.
    fn take(&mut self, turn: &model::Turn) {
        let mut items: Vec<&model::Item> = turn.items.iter().filter(|item| self.shown.shows(item)).collect();
        if self.page.order == Descending {
            items.reverse();
        }
        for item in items {
            let ItemId(number) = item.id;
            let position = Position {
                turn: turn.id.0,
                item: number,
            };
            if !self.page.has(position) {
                continue;
            }
            let is_full = self.data.len() == self.page.limit || self.bytes > MAX_TURN_BYTES;
            self.more = is_full && !self.data.is_empty();
            if self.more {
                return;
            }
            self.bytes += bobbin_core::weight_of_item(item);
            let entry = ItemOfTurn {
                turn_id: turn.id.to_string(),
                item: convert::item_of(turn, item),
            };
            self.data.push((position, entry));
        }
    }
}
