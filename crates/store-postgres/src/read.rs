//! Reads: every one bounded by an index range, none over a whole Thread.

use std::collections::BTreeMap;

use bobbin_model::{
    Approval, Event, Item, ItemId, LiveTurn, Scope, Seq, Spent, StandingAnswer, ThreadId, Turn, TurnDiff,
    TurnId,
};
use bobbin_store::{
    Closed, KnownRequest, ListFilter, LoadedThread, StoreError, StoredEvent, ThreadSummary, json,
};
use bobbin_store_sql::{EventRow, ItemRow, ThreadRow, TurnRow, number, unsigned};
use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder, Transaction};

use crate::failure::Failure;
use crate::project::plain;

pub(crate) type Read<T> = Result<T, Failure>;

/// Starts reading one moment of the database.
pub(crate) async fn snapshot(pool: &PgPool) -> Read<Transaction<'static, Postgres>> {
    Ok(pool
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?)
}

pub(crate) async fn load(pool: &PgPool, workspace: &str, id: &ThreadId) -> Read<Option<LoadedThread>> {
    // The row and the open Turn are of the same moment.
    let mut connection = snapshot(pool).await?;
    let row: Option<ThreadRow> =
        sqlx::query_as("SELECT * FROM thread WHERE workspace = $1 AND thread_id = $2 AND deleted_at IS NULL")
            .bind(workspace)
            .bind(plain(id.as_str()))
            .fetch_optional(&mut *connection)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let mut loaded = row.into_loaded()?;
    loaded.state.live = open_turn(&mut connection, workspace, id).await?;
    Ok(Some(loaded))
}

async fn open_turn(connection: &mut PgConnection, workspace: &str, id: &ThreadId) -> Read<Option<LiveTurn>> {
    let row: Option<TurnRow> = sqlx::query_as(
        "SELECT * FROM turn WHERE workspace = $1 AND thread_id = $2 AND completed_at IS NULL \
         ORDER BY turn_no DESC LIMIT 1",
    )
    .bind(workspace)
    .bind(id.as_str())
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
    turn.items = items(connection, workspace, id, turn.id, turn.id)
        .await?
        .remove(&turn.id)
        .unwrap_or_default();
    let mut live = LiveTurn::new(turn.id, turn.started_at, turn.origin_channel.clone(), features);
    live.turn = turn;
    live.cancelling = cancelling;
    live.compacting = compacting;
    live.crashes = crashes;
    live.history = history;
    add_text(connection, workspace, id, &mut live).await?;
    add_approvals(connection, workspace, id, &mut live).await?;
    live.restore_inquiries();
    let started: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT call_id FROM call_started WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3",
    )
    .bind(workspace)
    .bind(id.as_str())
    .bind(i64::from(live.turn.id.0))
    .fetch_all(&mut *connection)
    .await?;
    live.started_calls = started.iter().map(|id| text(id)).collect();
    if let Some(seq) = diff_seq {
        let event = one_event(connection, workspace, id, seq).await?;
        if let Event::DiffUpdated { diff, .. } = &*event.event {
            live.diff = Some(diff.clone());
        }
    }
    Ok(Some(live))
}

/// Returns text that was stored as bytes, with its zero bytes.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn add_text(
    connection: &mut PgConnection,
    workspace: &str,
    id: &ThreadId,
    live: &mut LiveTurn,
) -> Read<()> {
    let parts: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT item_no, text FROM item_text WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3 \
         ORDER BY part_id",
    )
    .bind(workspace)
    .bind(id.as_str())
    .bind(i64::from(live.turn.id.0))
    .fetch_all(connection)
    .await?;
    for (item_no, part) in parts {
        live.restore_text(ItemId(small(item_no)), &text(&part));
    }
    Ok(())
}

async fn add_approvals(
    connection: &mut PgConnection,
    workspace: &str,
    id: &ThreadId,
    live: &mut LiveTurn,
) -> Read<()> {
    let rows: Vec<(Vec<u8>, i64, Option<String>)> = sqlx::query_as(
        "SELECT call_id, seq, decision FROM approval WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3 \
         ORDER BY seq",
    )
    .bind(workspace)
    .bind(id.as_str())
    .bind(i64::from(live.turn.id.0))
    .fetch_all(&mut *connection)
    .await?;
    for (call_id, seq, decision) in rows {
        let call_id = text(&call_id);
        let corrupt = |reason| StoreError::CorruptThread {
            thread: id.clone(),
            reason,
        };
        let event = one_event(connection, workspace, id, seq).await?;
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
             (SELECT first.payload FROM item JOIN event AS first ON first.workspace = item.workspace \
             AND first.thread_id = item.thread_id AND first.seq = item.seq \
             WHERE item.workspace = event.workspace AND item.thread_id = event.thread_id \
             AND item.turn_no = event.turn_no AND item.item_no = 1) END AS first_item \
             FROM event WHERE workspace = $1 AND thread_id = $2 AND ",
            $rest
        )
    };
}

pub(crate) async fn one_event(
    connection: &mut PgConnection,
    workspace: &str,
    id: &ThreadId,
    seq: i64,
) -> Read<StoredEvent> {
    let row: Option<EventRow> = sqlx::query_as(event_columns!("seq = $3"))
        .bind(workspace)
        .bind(id.as_str())
        .bind(seq)
        .fetch_optional(connection)
        .await?;
    let row = row.ok_or_else(|| StoreError::CorruptThread {
        thread: id.clone(),
        reason: format!("event {seq} is missing"),
    })?;
    Ok(row.decode(id)?)
}

/// Reads the Items of a range of Turns, in order.
async fn items(
    connection: &mut PgConnection,
    workspace: &str,
    id: &ThreadId,
    first: TurnId,
    last: TurnId,
) -> Read<BTreeMap<TurnId, Vec<Item>>> {
    // A left join: an Item without its event is damage, and must not be left out.
    let rows: Vec<ItemRow> = sqlx::query_as(
        "SELECT i.turn_no, i.item_no, e.seq, e.version, e.at, e.payload FROM item i LEFT JOIN event e \
         ON e.workspace = i.workspace AND e.thread_id = i.thread_id AND e.seq = i.seq \
         WHERE i.workspace = $1 AND i.thread_id = $2 AND i.turn_no BETWEEN $3 AND $4 ORDER BY i.turn_no, i.item_no",
    )
    .bind(workspace)
    .bind(id.as_str())
    .bind(i64::from(first.0))
    .bind(i64::from(last.0))
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
    pool: &PgPool,
    workspace: &str,
    id: &ThreadId,
    before: TurnId,
    limit: u32,
) -> Read<Vec<Turn>> {
    let mut connection = snapshot(pool).await?;
    let mut rows: Vec<TurnRow> = sqlx::query_as(
        "SELECT * FROM turn WHERE workspace = $1 AND thread_id = $2 AND turn_no < $3 AND rolled_back_at IS NULL \
         ORDER BY turn_no DESC LIMIT $4",
    )
    .bind(workspace)
    .bind(plain(id.as_str()))
    .bind(i64::from(before.0))
    .bind(i64::from(limit))
    .fetch_all(&mut *connection)
    .await?;
    rows.reverse();
    with_items(&mut connection, workspace, id, rows).await
}

pub(crate) async fn turn(pool: &PgPool, workspace: &str, id: &ThreadId, turn: TurnId) -> Read<Option<Turn>> {
    let mut connection = snapshot(pool).await?;
    let rows: Vec<TurnRow> =
        sqlx::query_as("SELECT * FROM turn WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3")
            .bind(workspace)
            .bind(plain(id.as_str()))
            .bind(i64::from(turn.0))
            .fetch_all(&mut *connection)
            .await?;
    Ok(with_items(&mut connection, workspace, id, rows).await?.pop())
}

pub(crate) async fn diff(
    pool: &PgPool,
    workspace: &str,
    id: &ThreadId,
    turn: TurnId,
) -> Read<Option<TurnDiff>> {
    let mut connection = snapshot(pool).await?;
    let seq: Option<i64> = sqlx::query_scalar(
        "SELECT diff_seq FROM turn WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3 AND diff_seq IS NOT NULL",
    )
    .bind(workspace)
    .bind(plain(id.as_str()))
    .bind(i64::from(turn.0))
    .fetch_optional(&mut *connection)
    .await?;
    let Some(seq) = seq else { return Ok(None) };
    match &*one_event(&mut connection, workspace, id, seq).await?.event {
        Event::DiffUpdated { diff, .. } => Ok(Some(diff.clone())),
        _ => Ok(None),
    }
}

pub(crate) async fn turn_back(
    pool: &PgPool,
    workspace: &str,
    id: &ThreadId,
    before: TurnId,
    count: u32,
) -> Read<Option<TurnId>> {
    let turn: Option<i64> = sqlx::query_scalar(
        "SELECT turn_no FROM turn WHERE workspace = $1 AND thread_id = $2 AND turn_no < $3 \
         AND rolled_back_at IS NULL ORDER BY turn_no DESC LIMIT 1 OFFSET $4",
    )
    .bind(workspace)
    .bind(plain(id.as_str()))
    .bind(i64::from(before.0))
    .bind(i64::from(count.saturating_sub(1)))
    .fetch_optional(pool)
    .await?;
    Ok(turn.map(|turn| TurnId(small(turn))))
}

pub(crate) async fn turns_from(pool: &PgPool, workspace: &str, id: &ThreadId, first: TurnId) -> Read<u32> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM turn WHERE workspace = $1 AND thread_id = $2 AND turn_no >= $3 \
         AND rolled_back_at IS NULL AND EXISTS (SELECT 1 FROM turn WHERE workspace = $1 AND thread_id = $2 \
         AND turn_no = $3 AND rolled_back_at IS NULL)",
    )
    .bind(workspace)
    .bind(plain(id.as_str()))
    .bind(i64::from(first.0))
    .fetch_one(pool)
    .await?;
    Ok(small(count))
}

pub(crate) async fn spent(pool: &PgPool, workspace: &str, id: &ThreadId, before: TurnId) -> Read<Spent> {
    // The usage of a Turn that was rolled back counts too.
    let (tokens, cost): (i64, i64) = sqlx::query_as(
        "SELECT coalesce(sum(input_tokens + output_tokens + helper_input_tokens + helper_output_tokens), 0)::bigint, \
         coalesce(sum(cost_micros + helper_cost_micros), 0)::bigint \
         FROM turn WHERE workspace = $1 AND thread_id = $2 AND turn_no < $3",
    )
    .bind(workspace)
    .bind(plain(id.as_str()))
    .bind(i64::from(before.0))
    .fetch_one(pool)
    .await?;
    Ok(Spent {
        tokens: unsigned(tokens),
        cost_micros: unsigned(cost),
    })
}

async fn with_items(
    connection: &mut PgConnection,
    workspace: &str,
    id: &ThreadId,
    rows: Vec<TurnRow>,
) -> Read<Vec<Turn>> {
    let mut all = BTreeMap::new();
    // Turns in between that were rolled back are not read.
    for neighbours in rows.chunk_by(|turn, next| turn.turn_no + 1 == next.turn_no) {
        let (Some(from), Some(to)) = (neighbours.first(), neighbours.last()) else {
            continue;
        };
        all.append(&mut items(connection, workspace, id, from.id(), to.id()).await?);
    }
    let turns = rows.into_iter().map(|row| {
        let mut turn = row.into_turn(id)?;
        turn.items = all.remove(&turn.id).unwrap_or_default();
        Ok(turn)
    });
    turns.collect()
}

pub(crate) async fn events(
    pool: &PgPool,
    workspace: &str,
    id: &ThreadId,
    after: Seq,
    up_to: Seq,
    limit: u32,
) -> Read<Vec<StoredEvent>> {
    let rows: Vec<EventRow> = sqlx::query_as(event_columns!("seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5"))
        .bind(workspace)
        .bind(plain(id.as_str()))
        .bind(number(after))
        .bind(number(up_to))
        .bind(i64::from(limit))
        .fetch_all(pool)
        .await?;
    rows.into_iter().map(|row| Ok(row.decode(id)?)).collect()
}

pub(crate) async fn recent_events(
    pool: &PgPool,
    workspace: &str,
    id: &ThreadId,
    up_to: Seq,
    limit: u32,
) -> Read<Vec<StoredEvent>> {
    let rows: Vec<EventRow> = sqlx::query_as(event_columns!("seq <= $3 ORDER BY seq DESC LIMIT $4"))
        .bind(workspace)
        .bind(plain(id.as_str()))
        .bind(number(up_to))
        .bind(i64::from(limit))
        .fetch_all(pool)
        .await?;
    rows.into_iter().rev().map(|row| Ok(row.decode(id)?)).collect()
}

/// Starts a query for summaries: configuration and queue are not read.
fn summaries(workspace: &str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(
        "SELECT thread_id, workspace_path, user_id, origin_channel, channel_context, source, history_mode, created_at, \
         metadata, display_name, status, last_active_at, last_turn, turn_count, running, waiting_approval, \
         waiting_input, plan_pending, context_tokens, context_window, compact_at, NULL::text AS config, \
         '[]' AS queue, NULL::text AS plan, '[]' AS grants, head_seq, edge_closed, edge_updated_at \
         FROM thread WHERE deleted_at IS NULL AND workspace = ",
    );
    query.push_bind(workspace.to_owned());
    query
}

async fn read_summaries(pool: &PgPool, mut query: QueryBuilder<Postgres>) -> Read<Vec<ThreadSummary>> {
    let rows: Vec<ThreadRow> = query.build_query_as().fetch_all(pool).await?;
    rows.into_iter().map(|row| Ok(row.into_summary()?)).collect()
}

pub(crate) async fn list(pool: &PgPool, workspace: &str, filter: ListFilter) -> Read<Vec<ThreadSummary>> {
    let mut query = summaries(workspace);
    let (after, limit) = (filter.after.clone(), filter.limit);
    push_visible(&mut query, &filter);
    if let Some((at, id)) = after {
        query
            .push(" AND (last_active_at, thread_id) < (")
            .push_bind(at.0)
            .push(", ")
            .push_bind(plain(id.as_str()).into_owned())
            .push(")");
    }
    query
        .push(" ORDER BY last_active_at DESC, thread_id DESC LIMIT ")
        .push_bind(limit.map(i64::from));
    read_summaries(pool, query).await
}

/// Reads the summary of one Thread.
pub(crate) async fn summary(
    connection: &mut PgConnection,
    workspace: &str,
    thread: &str,
) -> Read<Option<ThreadSummary>> {
    let mut query = summaries(workspace);
    query.push(" AND thread_id = ").push_bind(thread.to_owned());
    let row: Option<ThreadRow> = query.build_query_as().fetch_optional(connection).await?;
    Ok(row.map(ThreadRow::into_summary).transpose()?)
}

pub(crate) async fn children(
    pool: &PgPool,
    workspace: &str,
    parent: &ThreadId,
    closed: Closed,
    limit: u32,
) -> Read<Vec<ThreadSummary>> {
    let mut query = summaries(workspace);
    query
        .push(" AND parent_id = ")
        .push_bind(plain(parent.as_str()).into_owned());
    if closed == Closed::LeftOut {
        query.push(" AND NOT edge_closed");
    }
    query
        .push(" ORDER BY created_at DESC, thread_id DESC LIMIT ")
        .push_bind(i64::from(limit));
    let mut found = read_summaries(pool, query).await?;
    found.reverse();
    Ok(found)
}

pub(crate) async fn descendants(pool: &PgPool, workspace: &str, top: &ThreadId) -> Read<Vec<ThreadId>> {
    let ids: Vec<String> = sqlx::query_scalar(
        "WITH RECURSIVE descendant (id, depth) AS ( \
         SELECT thread_id, depth FROM thread WHERE workspace = $1 AND parent_id = $2 AND deleted_at IS NULL \
         UNION SELECT thread.thread_id, thread.depth FROM thread JOIN descendant ON parent_id = descendant.id \
         WHERE workspace = $1 AND deleted_at IS NULL) SELECT id FROM descendant ORDER BY depth DESC, id",
    )
    .bind(workspace)
    .bind(plain(top.as_str()))
    .fetch_all(pool)
    .await?;
    Ok(ids.into_iter().map(ThreadId::new).collect())
}

/// Continues a condition with those of a list filter, without order and page. Threads for an internal purpose of the
/// server or a client are never listed.
pub(crate) fn push_visible(query: &mut QueryBuilder<Postgres>, filter: &ListFilter) {
    if filter.everything {
        return;
    }
    let text = |text: &str| plain(text).into_owned();
    query
        .push(" AND workspace_path = ")
        .push_bind(text(&filter.workspace_path))
        .push(
            " AND origin_channel NOT IN ('commit-suggest', 'welcome-suggest') \
             AND strpos(metadata, '\"dotcraft.internal\":') = 0",
        );
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
            .push("channel_context IS NOT DISTINCT FROM ")
            .push_bind(filter.channel_context.as_deref().map(text));
        if let Some(user) = &filter.user_id {
            query.push(" AND user_id = ").push_bind(text(user));
        }
    }
    query.push(")");
    if !filter.cross_channel_origins.is_empty() {
        let names: Vec<String> = filter
            .cross_channel_origins
            .iter()
            .map(|name| text(name))
            .collect();
        query.push(" OR origin_channel = ANY(").push_bind(names).push(")");
    }
    query.push(")");
    // The columns' collation is "C", in which `lower` changes ASCII letters only.
    if let Some(channel) = &filter.origin_channel {
        query
            .push(" AND lower(origin_channel) = ")
            .push_bind(text(channel).to_ascii_lowercase());
    }
    if let Some(title) = &filter.title {
        query
            .push(" AND lower(display_name) LIKE ")
            .push_bind(pattern(&text(title).to_ascii_lowercase()));
    }
}

/// Returns the pattern of texts that contain a text.
pub(crate) fn pattern(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

pub(crate) async fn threads_with_open_turns(pool: &PgPool, workspace: &str) -> Read<Vec<ThreadId>> {
    let ids: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT thread_id FROM turn JOIN thread USING (workspace, thread_id) \
         WHERE workspace = $1 AND completed_at IS NULL AND deleted_at IS NULL",
    )
    .bind(workspace)
    .fetch_all(pool)
    .await?;
    Ok(ids.into_iter().map(ThreadId::new).collect())
}

pub(crate) async fn is_remembered(pool: &PgPool, workspace: &str, scope: &Scope) -> Read<bool> {
    let [own, exact] = scope.standings();
    let is_there: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM approval_rule WHERE workspace = $1 AND kind = $2 \
         AND sha256(operation) IN (sha256($3), sha256($4)) AND sha256(target) = sha256($5))",
    )
    .bind(workspace)
    .bind(json(&scope.kind))
    .bind(own.recorded_operation().into_bytes())
    .bind(exact.recorded_operation().into_bytes())
    .bind(scope.target.as_bytes())
    .fetch_one(pool)
    .await?;
    Ok(is_there)
}

pub(crate) async fn standing_answers(
    pool: &PgPool,
    workspace: &str,
    limit: u32,
) -> Read<Vec<StandingAnswer>> {
    let rows: Vec<(String, Vec<u8>, Vec<u8>)> = sqlx::query_as(
        "SELECT kind, operation, target FROM approval_rule WHERE workspace = $1 \
         ORDER BY kind, operation, target LIMIT $2",
    )
    .bind(workspace)
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await?;
    let read = |(kind, operation, target): (String, Vec<u8>, Vec<u8>)| {
        // A kind of a later version covers nothing here.
        let kind = serde_json::from_str(&kind).ok()?;
        Some(StandingAnswer::from_record(
            kind,
            &text(&operation),
            text(&target),
        ))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

pub(crate) async fn request(
    pool: &PgPool,
    workspace: &str,
    about: Option<&ThreadId>,
    id: &str,
) -> Read<Option<KnownRequest>> {
    let row: Option<(String, String, Option<i64>)> = sqlx::query_as(
        "SELECT body, thread_id, seq FROM request WHERE workspace = $1 AND scope = $2 \
         AND sha256(request_id) = sha256($3)",
    )
    .bind(workspace)
    .bind(about.map_or("".into(), |thread| plain(thread.as_str())))
    .bind(id.as_bytes())
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|(body, thread, seq)| KnownRequest {
        body,
        thread: ThreadId::new(thread),
        seq: seq.and_then(|seq| u64::try_from(seq).ok()).map(Seq),
    }))
}

/// Returns a stored number that was written from one of 32 bits.
pub(crate) fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
