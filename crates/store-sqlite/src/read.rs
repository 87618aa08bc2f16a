//! Reads: every one bounded by an index range, none over a whole Thread.

use std::collections::BTreeMap;

use bobbin_model::{
    Approval, Event, Item, ItemId, LiveTurn, Scope, Seq, Spent, StandingAnswer, ThreadId, Turn, TurnDiff,
    TurnId,
};
use sqlx::{SqliteConnection, SqlitePool};

use crate::failure::Failure;
use bobbin_store::{
    Closed, KnownRequest, ListFilter, LoadedThread, StoreError, StoredEvent, ThreadSummary, json,
};
use bobbin_store_sql::number;
use bobbin_store_sql::{EventRow, ItemRow, ThreadRow, TurnRow};

type Read<T> = Result<T, Failure>;

pub(crate) async fn load(pool: &SqlitePool, id: &ThreadId) -> Read<Option<LoadedThread>> {
    // One transaction, so that the row and the open Turn are of the same moment.
    let mut connection = pool.begin().await?;
    let row: Option<ThreadRow> =
        sqlx::query_as("SELECT * FROM thread WHERE thread_id = ? AND deleted_at IS NULL")
            .bind(id.as_str().to_owned())
            .fetch_optional(&mut *connection)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let mut loaded = row.into_loaded()?;
    loaded.state.live = open_turn(&mut connection, id).await?;
    Ok(Some(loaded))
}

async fn open_turn(connection: &mut SqliteConnection, id: &ThreadId) -> Read<Option<LiveTurn>> {
    let row: Option<TurnRow> = sqlx::query_as(
        "SELECT * FROM turn WHERE thread_id = ? AND completed_at IS NULL ORDER BY turn_no DESC LIMIT 1",
    )
    .bind(id.as_str().to_owned())
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let features = serde_json::from_str(&row.features).map_err(|error| StoreError::CorruptThread {
        thread: id.clone(),
        reason: format!("features of turn {}: {error}", row.turn_no),
    })?;
    let (diff_seq, cancelling) = (row.diff_seq, row.cancelling.clone());
    let (compacting, crashes) = (row.compacting, row.crashes);
    let history = row.history.as_deref().map(serde_json::from_str).transpose();
    let history = history.map_err(|error| StoreError::CorruptThread {
        thread: id.clone(),
        reason: format!("history of turn {}: {error}", row.turn_no),
    })?;
    let mut turn = row.into_turn(id)?;
    turn.items = items(connection, id, turn.id, turn.id)
        .await?
        .remove(&turn.id)
        .unwrap_or_default();
    let mut live = LiveTurn::new(turn.id, turn.started_at, turn.origin_channel.clone(), features);
    live.turn = turn;
    live.cancelling = cancelling;
    live.compacting = compacting;
    live.crashes = crashes;
    live.history = history;
    add_text(connection, id, &mut live).await?;
    add_approvals(connection, id, &mut live).await?;
    live.restore_inquiries();
    let started: Vec<(String,)> =
        sqlx::query_as("SELECT call_id FROM call_started WHERE thread_id = ? AND turn_no = ?")
            .bind(id.as_str().to_owned())
            .bind(live.turn.id.0)
            .fetch_all(&mut *connection)
            .await?;
    live.started_calls = started.into_iter().map(|row| row.0).collect();
    if let Some(seq) = diff_seq {
        let event = one_event(connection, id, seq).await?;
        if let Event::DiffUpdated { diff, .. } = &*event.event {
            live.diff = Some(diff.clone());
        }
    }
    Ok(Some(live))
}

async fn add_text(connection: &mut SqliteConnection, id: &ThreadId, live: &mut LiveTurn) -> Read<()> {
    let parts: Vec<(u32, String)> = sqlx::query_as(
        "SELECT item_no, text FROM item_text WHERE thread_id = ? AND turn_no = ? ORDER BY part_id",
    )
    .bind(id.as_str().to_owned())
    .bind(live.turn.id.0)
    .fetch_all(connection)
    .await?;
    for (item_no, text) in parts {
        live.restore_text(ItemId(item_no), &text);
    }
    Ok(())
}

async fn add_approvals(connection: &mut SqliteConnection, id: &ThreadId, live: &mut LiveTurn) -> Read<()> {
    let rows: Vec<(String, i64, Option<String>)> = sqlx::query_as(
        "SELECT call_id, seq, decision FROM approval WHERE thread_id = ? AND turn_no = ? ORDER BY seq",
    )
    .bind(id.as_str().to_owned())
    .bind(live.turn.id.0)
    .fetch_all(&mut *connection)
    .await?;
    for (call_id, seq, decision) in rows {
        let corrupt = |reason| StoreError::CorruptThread {
            thread: id.clone(),
            reason,
        };
        let event = one_event(connection, id, seq).await?;
        let approval: Approval = match &*event.event {
            Event::ApprovalOpened { approval, .. } => (**approval).clone(),
            other => {
                return Err(corrupt(format!("event {seq} is {} and opens no approval", other.kind())).into());
            }
        };
        if let Some(decision) = decision {
            let decision = serde_json::from_str(&decision)
                .map_err(|error| corrupt(format!("decision about {call_id}: {error}")))?;
            live.decided.insert(call_id, (approval.scope, decision));
        } else {
            live.approvals.push(approval);
        }
    }
    Ok(())
}

/// Continues a SELECT with the columns of an event. The start of a Turn comes with its first Item, which is stored once.
macro_rules! event_columns {
    ($rest:literal) => {
        concat!(
            "SELECT seq, version, at, payload, CASE kind WHEN 'turnStarted' THEN \
             (SELECT first.payload FROM item JOIN event AS first ON first.thread_id = item.thread_id \
             AND first.seq = item.seq WHERE item.thread_id = event.thread_id AND item.turn_no = event.turn_no \
             AND item.item_no = 1) END AS first_item FROM event ",
            $rest
        )
    };
}

pub(crate) async fn one_event(
    connection: &mut SqliteConnection,
    id: &ThreadId,
    seq: i64,
) -> Read<StoredEvent> {
    let row: EventRow = sqlx::query_as(event_columns!("WHERE thread_id = ? AND seq = ?"))
        .bind(id.as_str().to_owned())
        .bind(seq)
        .fetch_one(connection)
        .await?;
    Ok(row.decode(id)?)
}

/// Reads the Items of a range of Turns, in order.
async fn items(
    connection: &mut SqliteConnection,
    id: &ThreadId,
    first: TurnId,
    last: TurnId,
) -> Read<BTreeMap<TurnId, Vec<Item>>> {
    // A left join: an Item without its event is damage, and must not be left out.
    let rows: Vec<ItemRow> = sqlx::query_as(
        "SELECT i.turn_no, i.item_no, e.seq, e.version, e.at, e.payload FROM item i \
         LEFT JOIN event e ON e.thread_id = i.thread_id AND e.seq = i.seq \
         WHERE i.thread_id = ? AND i.turn_no BETWEEN ? AND ? ORDER BY i.turn_no, i.item_no",
    )
    .bind(id.as_str().to_owned())
    .bind(first.0)
    .bind(last.0)
    .fetch_all(connection)
    .await?;
    let mut turns: BTreeMap<TurnId, Vec<Item>> = BTreeMap::new();
    for row in rows {
        let stored = row.into_event(id)?.decode(id)?;
        let (turn, item) = match &*stored.event {
            Event::ItemStarted { turn, item }
            | Event::ItemCompleted { turn, item }
            | Event::ItemAdded { turn, item }
            | Event::ApprovalResolved { turn, item, .. } => (*turn, item),
            Event::ApprovalOpened { item, approval } => (approval.turn, item),
            other => {
                return Err(StoreError::CorruptEvent {
                    thread: id.clone(),
                    seq: stored.seq,
                    reason: format!("{} carries no item", other.kind()),
                }
                .into());
            }
        };
        turns.entry(turn).or_default().push((**item).clone());
    }
    Ok(turns)
}

pub(crate) async fn turns_before(
    pool: &SqlitePool,
    id: &ThreadId,
    before: TurnId,
    limit: u32,
) -> Read<Vec<Turn>> {
    let mut connection = pool.begin().await?;
    let mut rows: Vec<TurnRow> = sqlx::query_as(
        "SELECT * FROM turn WHERE thread_id = ? AND turn_no < ? AND rolled_back_at IS NULL \
         ORDER BY turn_no DESC LIMIT ?",
    )
    .bind(id.as_str().to_owned())
    .bind(before.0)
    .bind(limit)
    .fetch_all(&mut *connection)
    .await?;
    rows.reverse();
    with_items(&mut connection, id, rows).await
}

pub(crate) async fn turn(pool: &SqlitePool, id: &ThreadId, turn: TurnId) -> Read<Option<Turn>> {
    let mut connection = pool.begin().await?;
    let rows: Vec<TurnRow> = sqlx::query_as("SELECT * FROM turn WHERE thread_id = ? AND turn_no = ?")
        .bind(id.as_str().to_owned())
        .bind(turn.0)
        .fetch_all(&mut *connection)
        .await?;
    Ok(with_items(&mut connection, id, rows).await?.pop())
}

pub(crate) async fn diff(pool: &SqlitePool, id: &ThreadId, turn: TurnId) -> Read<Option<TurnDiff>> {
    let mut connection = pool.begin().await?;
    let seq: Option<(i64,)> = sqlx::query_as(
        "SELECT diff_seq FROM turn WHERE thread_id = ? AND turn_no = ? AND diff_seq IS NOT NULL",
    )
    .bind(id.as_str().to_owned())
    .bind(turn.0)
    .fetch_optional(&mut *connection)
    .await?;
    let Some((seq,)) = seq else { return Ok(None) };
    match &*one_event(&mut connection, id, seq).await?.event {
        Event::DiffUpdated { diff, .. } => Ok(Some(diff.clone())),
        _ => Ok(None),
    }
}

pub(crate) async fn turn_back(
    pool: &SqlitePool,
    id: &ThreadId,
    before: TurnId,
    count: u32,
) -> Read<Option<TurnId>> {
    let row: Option<(u32,)> = sqlx::query_as(
        "SELECT turn_no FROM turn WHERE thread_id = ? AND turn_no < ? AND rolled_back_at IS NULL \
         ORDER BY turn_no DESC LIMIT 1 OFFSET ?",
    )
    .bind(id.as_str().to_owned())
    .bind(before.0)
    .bind(count.saturating_sub(1))
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|row| TurnId(row.0)))
}

pub(crate) async fn turns_from(pool: &SqlitePool, id: &ThreadId, first: TurnId) -> Read<u32> {
    let row: (u32,) = sqlx::query_as(
        "SELECT count(*) FROM turn WHERE thread_id = ?1 AND turn_no >= ?2 AND rolled_back_at IS NULL \
         AND EXISTS (SELECT 1 FROM turn WHERE thread_id = ?1 AND turn_no = ?2 AND rolled_back_at IS NULL)",
    )
    .bind(id.as_str().to_owned())
    .bind(first.0)
    .fetch_one(pool)
    .await?;
    Ok(row.0)
}

pub(crate) async fn spent(pool: &SqlitePool, id: &ThreadId, before: TurnId) -> Read<Spent> {
    // The usage of a Turn that was rolled back counts too.
    let row: (i64, i64) = sqlx::query_as(
        "SELECT coalesce(sum(input_tokens + output_tokens + helper_input_tokens + helper_output_tokens), 0), \
         coalesce(sum(cost_micros + helper_cost_micros), 0) FROM turn WHERE thread_id = ? AND turn_no < ?",
    )
    .bind(id.as_str().to_owned())
    .bind(before.0)
    .fetch_one(pool)
    .await?;
    let positive = |number| u64::try_from(number).unwrap_or(0);
    Ok(Spent {
        tokens: positive(row.0),
        cost_micros: positive(row.1),
    })
}

async fn with_items(connection: &mut SqliteConnection, id: &ThreadId, rows: Vec<TurnRow>) -> Read<Vec<Turn>> {
    let mut all = BTreeMap::new();
    // Turns in between that were rolled back are not read.
    for neighbours in rows.chunk_by(|turn, next| turn.turn_no + 1 == next.turn_no) {
        let (Some(from), Some(to)) = (neighbours.first(), neighbours.last()) else {
            continue;
        };
        all.append(&mut items(connection, id, from.id(), to.id()).await?);
    }
    let turns = rows.into_iter().map(|row| {
        let mut turn = row.into_turn(id)?;
        turn.items = all.remove(&turn.id).unwrap_or_default();
        Ok(turn)
    });
    turns.collect()
}

pub(crate) async fn events(
    pool: &SqlitePool,
    id: &ThreadId,
    after: Seq,
    up_to: Seq,
    limit: u32,
) -> Read<Vec<StoredEvent>> {
    let rows: Vec<EventRow> = sqlx::query_as(event_columns!(
        "WHERE thread_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
    ))
    .bind(id.as_str().to_owned())
    .bind(number(after))
    .bind(number(up_to))
    .bind(limit)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(|row| Ok(row.decode(id)?)).collect()
}

pub(crate) async fn recent_events(
    pool: &SqlitePool,
    id: &ThreadId,
    up_to: Seq,
    limit: u32,
) -> Read<Vec<StoredEvent>> {
    let rows: Vec<EventRow> = sqlx::query_as(event_columns!(
        "WHERE thread_id = ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
    ))
    .bind(id.as_str().to_owned())
    .bind(number(up_to))
    .bind(limit)
    .fetch_all(pool)
    .await?;
    rows.into_iter().rev().map(|row| Ok(row.decode(id)?)).collect()
}

/// The columns of a list, with constants for the rest of a row: configuration and queue are not read.
const SUMMARY: &str = "SELECT thread_id, workspace_path, user_id, origin_channel, channel_context, source, \
    history_mode, created_at, metadata, display_name, status, last_active_at, last_turn, turn_count, running, \
    waiting_approval, waiting_input, plan_pending, context_tokens, context_window, compact_at, NULL AS config, '[]' AS queue, NULL AS plan, '[]' AS grants, \
    head_seq, edge_closed, edge_updated_at FROM thread WHERE deleted_at IS NULL AND ";

pub(crate) async fn list(pool: &SqlitePool, filter: ListFilter) -> Read<Vec<ThreadSummary>> {
    let mut query = list_query(SUMMARY, filter);
    let rows: Vec<ThreadRow> = query.build_query_as().fetch_all(pool).await?;
    rows.into_iter().map(|row| Ok(row.into_summary()?)).collect()
}

/// Reads the summary of one Thread.
pub(crate) async fn summary(connection: &mut SqliteConnection, thread: &str) -> Read<Option<ThreadSummary>> {
    let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new(SUMMARY);
    query.push("thread_id = ").push_bind(thread.to_owned());
    let row: Option<ThreadRow> = query.build_query_as().fetch_optional(connection).await?;
    Ok(row.map(ThreadRow::into_summary).transpose()?)
}

fn list_query(columns: &str, filter: ListFilter) -> sqlx::QueryBuilder<sqlx::Sqlite> {
    let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new(columns);
    query.push("workspace_path = ");
    let (after, limit) = (filter.after.clone(), filter.limit);
    push_visible(&mut query, filter);
    if let Some((at, id)) = after {
        query
            .push(" AND (last_active_at, thread_id) < (")
            .push_bind(at.0)
            .push(", ")
            .push_bind(id.as_str().to_owned())
            .push(")");
    }
    query
        .push(" ORDER BY last_active_at DESC, thread_id DESC LIMIT ")
        .push_bind(limit.map_or(-1, i64::from));
    query
}

pub(crate) async fn children(
    pool: &SqlitePool,
    parent: &ThreadId,
    closed: Closed,
    limit: u32,
) -> Read<Vec<ThreadSummary>> {
    let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new(SUMMARY);
    query.push("parent_id = ").push_bind(parent.as_str().to_owned());
    if closed == Closed::LeftOut {
        query.push(" AND NOT edge_closed");
    }
    query
        .push(" ORDER BY created_at DESC, thread_id DESC LIMIT ")
        .push_bind(limit);
    let rows: Vec<ThreadRow> = query.build_query_as().fetch_all(pool).await?;
    rows.into_iter()
        .rev()
        .map(|row| Ok(row.into_summary()?))
        .collect()
}

pub(crate) async fn descendants(pool: &SqlitePool, top: &ThreadId) -> Read<Vec<ThreadId>> {
    let rows: Vec<(String,)> = sqlx::query_as(
        "WITH RECURSIVE below (id, depth) AS ( \
         SELECT thread_id, depth FROM thread WHERE parent_id = ? AND deleted_at IS NULL \
         UNION SELECT thread.thread_id, thread.depth FROM thread JOIN below ON parent_id = below.id \
         WHERE deleted_at IS NULL) SELECT id FROM below ORDER BY depth DESC, id",
    )
    .bind(top.as_str().to_owned())
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| ThreadId::new(row.0)).collect())
}

/// The condition that a Thread has no internal purpose of the server or a client. Others are never listed.
pub(crate) const IS_FOR_USERS: &str = "origin_channel NOT IN ('commit-suggest', 'welcome-suggest') \
                                       AND instr(metadata, '\"dotcraft.internal\":') = 0";

/// Continues a condition on the workspace's path with the conditions of a list filter, without order and page.
pub(crate) fn push_visible(query: &mut sqlx::QueryBuilder<sqlx::Sqlite>, filter: ListFilter) {
    if filter.everything {
        query.push("workspace_path");
        return;
    }
    query.push_bind(filter.workspace_path);
    query.push(" AND ").push(IS_FOR_USERS);
    if !filter.include_sub_agents {
        query.push(" AND parent_id IS NULL");
    }
    if !filter.include_archived {
        query.push(" AND status <> 'archived'");
    }
    query.push(" AND ((");
    if filter.every_user {
        query.push("TRUE");
    } else {
        query
            .push("channel_context IS ")
            .push_bind(filter.channel_context);
        if let Some(user) = filter.user_id {
            query.push(" AND user_id = ").push_bind(user);
        }
    }
    query.push(")");
    if !filter.cross_channel_origins.is_empty() {
        query.push(" OR origin_channel IN (");
        let mut names = query.separated(", ");
        for name in filter.cross_channel_origins {
            names.push_bind(name);
        }
        query.push(")");
    }
    query.push(")");
    if let Some(channel) = filter.origin_channel {
        query
            .push(" AND origin_channel = ")
            .push_bind(channel)
            .push(" COLLATE NOCASE");
    }
    if let Some(title) = filter.title {
        query.push(" AND display_name");
        push_like(query, &title);
    }
}

/// Continues a column with the condition that it contains a text; case of ASCII letters is ignored.
pub(crate) fn push_like(query: &mut sqlx::QueryBuilder<sqlx::Sqlite>, text: &str) {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    query
        .push(" LIKE ")
        .push_bind(format!("%{escaped}%"))
        .push(" ESCAPE '\\'");
}

pub(crate) async fn threads_with_open_turns(pool: &SqlitePool) -> Read<Vec<ThreadId>> {
    let rows: Vec<(String,)> = sqlx::query_as(
        "SELECT DISTINCT turn.thread_id FROM turn JOIN thread USING (thread_id) \
         WHERE completed_at IS NULL AND deleted_at IS NULL",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| ThreadId::new(row.0)).collect())
}

pub(crate) async fn is_remembered(pool: &SqlitePool, scope: &Scope) -> Read<bool> {
    let [own, exact] = scope.standings();
    let row: Option<(i64,)> =
        sqlx::query_as("SELECT 1 FROM approval_rule WHERE kind = ? AND operation IN (?, ?) AND target = ?")
            .bind(json(&scope.kind))
            .bind(own.recorded_operation())
            .bind(exact.recorded_operation())
            .bind(scope.target.clone())
            .fetch_optional(pool)
            .await?;
    Ok(row.is_some())
}

pub(crate) async fn standing_answers(pool: &SqlitePool, limit: u32) -> Read<Vec<StandingAnswer>> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT kind, operation, target FROM approval_rule ORDER BY kind, operation, target LIMIT ?",
    )
    .bind(limit)
    .fetch_all(pool)
    .await?;
    let read = |(kind, operation, target): (String, String, String)| {
        // A kind of a later version covers nothing here.
        let kind = serde_json::from_str(&kind).ok()?;
        Some(StandingAnswer::from_record(kind, &operation, target))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

pub(crate) async fn request(pool: &SqlitePool, scope: &str, id: &str) -> Read<Option<KnownRequest>> {
    let row: Option<(String, String, Option<i64>)> =
        sqlx::query_as("SELECT body, thread_id, seq FROM request WHERE scope = ? AND request_id = ?")
            .bind(scope.to_owned())
            .bind(id.to_owned())
            .fetch_optional(pool)
            .await?;
    Ok(row.map(|(body, thread, seq)| KnownRequest {
        body,
        thread: ThreadId::new(thread),
        seq: seq.and_then(|seq| u64::try_from(seq).ok()).map(Seq),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_of_threads_is_read_without_a_look_at_any_subagent() {
        // Each connection to a memory database has a database of its own.
        let one = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
        let pool = one.connect("sqlite::memory:").await.unwrap();
        sqlx::migrate!("../../migrations/sqlite")
            .run(&pool)
            .await
            .unwrap();
        let plan = async |include_sub_agents| {
            let filter = ListFilter {
                include_sub_agents,
                limit: Some(20),
                ..ListFilter::default()
            };
            let mut query = list_query(&format!("EXPLAIN QUERY PLAN {SUMMARY}"), filter);
            let steps: Vec<(i64, i64, i64, String)> = query.build_query_as().fetch_all(&pool).await.unwrap();
            steps
                .into_iter()
                .map(|step| step.3)
                .collect::<Vec<_>>()
                .join("; ")
        };
        assert_eq!(
            plan(false).await,
            "SCAN thread USING INDEX thread_top_by_activity"
        );
        assert_eq!(plan(true).await, "SCAN thread USING INDEX thread_by_activity");
    }
}
