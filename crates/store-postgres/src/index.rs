//! Updates the searchable text from the events: in small steps, between the writer's batches.
//!
//! The transaction that adds searchable text also marks the Thread. Each step indexes some of it in a transaction of its
//! own. So a crash loses at most one step, and no write waits longer than one step.

use bobbin_model::ThreadId;
use bobbin_store::StoredEvent;
use bobbin_store::step::{Step, reached};
use bobbin_store_sql::SearchText;
use sqlx::PgConnection;

use crate::failure::Failure;
use crate::project::plain;
use crate::read;

/// Text indexed in one step, in bytes (a guess: well under the time of a few commits).
const STEP_BYTES: usize = 64 << 10;
/// Most events read in one step.
const STEP_EVENTS: i64 = 100;

/// Returns a text as it is searched for: case is ignored in every language, whatever the language of the database.
pub(crate) fn folded(text: &str) -> String {
    plain(text).to_lowercase()
}

/// Indexes some new text. Returns whether there is more.
pub(crate) async fn step(connection: &mut PgConnection, workspace: &str) -> Result<bool, Failure> {
    let pending: Option<(String, i64)> = sqlx::query_as(
        "SELECT thread_id, coalesce(seq, 0) FROM search_pending LEFT JOIN search_mark USING (workspace, thread_id) \
         WHERE workspace = $1 LIMIT 1",
    )
    .bind(workspace)
    .fetch_optional(&mut *connection)
    .await?;
    let Some((thread, mark)) = pending else {
        return Ok(false);
    };
    let new: Vec<i64> = sqlx::query_scalar(
        "SELECT seq FROM event WHERE workspace = $1 AND thread_id = $2 AND seq > $3 \
         AND kind IN ('itemCompleted', 'itemAdded', 'threadRenamed', 'threadStarted') ORDER BY seq LIMIT $4",
    )
    .bind(workspace)
    .bind(&thread)
    .bind(mark)
    .bind(STEP_EVENTS)
    .fetch_all(&mut *connection)
    .await?;
    let mut is_done = i64::try_from(new.len()).is_ok_and(|events| events < STEP_EVENTS);
    let (mut last, mut bytes) = (mark, 0);
    let id = ThreadId::new(thread.as_str());
    for seq in new {
        if bytes >= STEP_BYTES {
            is_done = false;
            break;
        }
        last = seq;
        // One at a time: an event may be large.
        match read::one_event(connection, workspace, &id, seq).await {
            Ok(stored) => bytes += index(connection, workspace, &thread, &stored).await?,
            // Reading the Thread reports the damage; a search only misses the event.
            Err(Failure::Store(error)) => tracing::warn!(%error, "an event is left out of searches"),
            Err(error) => return Err(error),
        }
    }
    sqlx::query(
        "INSERT INTO search_mark (workspace, thread_id, seq) VALUES ($1, $2, $3) \
         ON CONFLICT (workspace, thread_id) DO UPDATE SET seq = excluded.seq",
    )
    .bind(workspace)
    .bind(&thread)
    .bind(last)
    .execute(&mut *connection)
    .await?;
    if is_done {
        sqlx::query("DELETE FROM search_pending WHERE workspace = $1 AND thread_id = $2")
            .bind(workspace)
            .bind(&thread)
            .execute(&mut *connection)
            .await?;
    }
    reached(Step::BeforeIndexCommit);
    Ok(true)
}

/// Removes some of a Thread's searchable text. Returns whether there was any.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    workspace: &str,
    thread: &str,
    rows: i64,
) -> Result<bool, sqlx::Error> {
    for statement in [
        "DELETE FROM search_pending WHERE workspace = $1 AND thread_id = $2",
        "DELETE FROM search_mark WHERE workspace = $1 AND thread_id = $2",
    ] {
        sqlx::query(statement)
            .bind(workspace)
            .bind(thread)
            .execute(&mut *connection)
            .await?;
    }
    let removed = sqlx::query(
        "DELETE FROM search_item WHERE workspace = $1 AND entry IN \
         (SELECT entry FROM search_item WHERE workspace = $1 AND thread_id = $2 ORDER BY entry LIMIT $3)",
    )
    .bind(workspace)
    .bind(thread)
    .bind(rows)
    .execute(connection)
    .await?;
    Ok(removed.rows_affected() > 0)
}

/// Indexes an event; returns the approximate number of indexed bytes.
async fn index(
    connection: &mut PgConnection,
    workspace: &str,
    thread: &str,
    stored: &StoredEvent,
) -> Result<usize, sqlx::Error> {
    let Some(SearchText { place, kind, text }) = SearchText::of(&stored.event) else {
        return Ok(0);
    };
    if place.is_none() {
        sqlx::query("DELETE FROM search_item WHERE workspace = $1 AND thread_id = $2 AND turn_no IS NULL")
            .bind(workspace)
            .bind(thread)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(
        "INSERT INTO search_item (workspace, thread_id, turn_no, item_no, kind, at, text, folded) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(workspace)
    .bind(thread)
    .bind(place.map(|(turn, _)| i64::from(turn.0)))
    .bind(place.map(|(_, item)| i64::from(item.0)))
    .bind(kind)
    .bind(stored.at.0)
    .bind(plain(&text))
    .bind(folded(&text))
    .execute(connection)
    .await?;
    Ok(text.len())
}
