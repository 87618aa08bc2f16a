//! Updates the search index from the events: in small steps, between the writer's batches.
//!
//! The transaction that adds searchable text also marks the Thread. Each step indexes some of it in a transaction
//! of its own. So a crash loses at most one step, and no write waits longer than one step.

use bobbin_model::ThreadId;
use bobbin_store::StoredEvent;
use bobbin_store::step::{Step, reached};
use bobbin_store_sql::SearchText;
use sqlx::{Connection, SqliteConnection};

use crate::failure::Failure;
use crate::read;
use crate::script::Script;

/// Text indexed in one step, in bytes: about 10 ms of work (measured at 1 MB a second).
const STEP_BYTES: usize = 8 << 10;
/// Most events read in one step.
const STEP_EVENTS: u32 = 100;

/// Marks a Thread as not fully indexed, in the transaction of the new text.
pub(crate) fn mark(script: &mut Script, thread: &str) {
    script
        .then("INSERT OR IGNORE INTO search_pending (thread_id) VALUES (?)")
        .bind(thread.to_owned());
}

/// Indexes some new text. Returns whether there is more.
pub(crate) async fn step(connection: &mut SqliteConnection) -> Result<bool, Failure> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let pending: Option<(String, i64)> = sqlx::query_as(
        "SELECT thread_id, coalesce(seq, 0) FROM search_pending LEFT JOIN search_mark USING (thread_id) LIMIT 1",
    )
    .fetch_optional(&mut *transaction)
    .await?;
    let Some((thread, mark)) = pending else {
        return Ok(false);
    };
    let new: Vec<(i64,)> = sqlx::query_as(
        "SELECT seq FROM event WHERE thread_id = ? AND seq > ? \
         AND kind IN ('itemCompleted', 'itemAdded', 'threadRenamed', 'threadStarted') ORDER BY seq LIMIT ?",
    )
    .bind(thread.clone())
    .bind(mark)
    .bind(STEP_EVENTS)
    .fetch_all(&mut *transaction)
    .await?;
    let mut done = new.len() < STEP_EVENTS as usize;
    let (mut last, mut bytes) = (mark, 0);
    let id = ThreadId::new(thread.as_str());
    for (seq,) in new {
        if bytes >= STEP_BYTES {
            done = false;
            break;
        }
        last = seq;
        // One at a time: an event may be large.
        match read::one_event(&mut transaction, &id, seq).await {
            Ok(stored) => bytes += index(&mut transaction, &thread, &stored).await?,
            // Reading the Thread reports the damage; a search only misses the event.
            Err(error) => tracing::warn!(%error, "an event is left out of searches"),
        }
    }
    sqlx::query("INSERT OR REPLACE INTO search_mark (thread_id, seq) VALUES (?, ?)")
        .bind(thread.clone())
        .bind(last)
        .execute(&mut *transaction)
        .await?;
    if done {
        sqlx::query("DELETE FROM search_pending WHERE thread_id = ?")
            .bind(thread)
            .execute(&mut *transaction)
            .await?;
    }
    reached(Step::BeforeIndexCommit);
    transaction.commit().await?;
    Ok(true)
}

/// Removes some of a Thread's text from the index. Returns whether there was any.
pub(crate) async fn remove(
    connection: &mut SqliteConnection,
    thread: &str,
    rows: i64,
) -> Result<bool, sqlx::Error> {
    for statement in [
        "DELETE FROM search_pending WHERE thread_id = ?",
        "DELETE FROM search_mark WHERE thread_id = ?",
    ] {
        sqlx::query(statement)
            .bind(thread.to_owned())
            .execute(&mut *connection)
            .await?;
    }
    // The index does not store the text, so deleting needs the original text.
    sqlx::query(
        "INSERT INTO search_text (search_text, rowid, text) \
         SELECT 'delete', entry, text FROM search_item WHERE thread_id = ? ORDER BY entry LIMIT ?",
    )
    .bind(thread.to_owned())
    .bind(rows)
    .execute(&mut *connection)
    .await?;
    let removed = sqlx::query(
        "DELETE FROM search_item WHERE entry IN \
         (SELECT entry FROM search_item WHERE thread_id = ? ORDER BY entry LIMIT ?)",
    )
    .bind(thread.to_owned())
    .bind(rows)
    .execute(connection)
    .await?;
    Ok(removed.rows_affected() > 0)
}

/// Indexes an event; returns the approximate number of indexed bytes.
async fn index(
    connection: &mut SqliteConnection,
    thread: &str,
    stored: &StoredEvent,
) -> Result<usize, sqlx::Error> {
    let Some(SearchText { place, kind, text }) = SearchText::of(&stored.event) else {
        return Ok(0);
    };
    if place.is_none() {
        remove_title(connection, thread).await?;
    }
    let inserted = sqlx::query(
        "INSERT INTO search_item (thread_id, turn_no, item_no, kind, at, text) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(thread.to_owned())
    .bind(place.map(|(turn, _)| turn.0))
    .bind(place.map(|(_, item)| item.0))
    .bind(kind)
    .bind(stored.at.0)
    .bind(text.clone().into_owned())
    .execute(&mut *connection)
    .await?;
    sqlx::query("INSERT INTO search_text (rowid, text) VALUES (?, ?)")
        .bind(inserted.last_insert_rowid())
        .bind(text.clone().into_owned())
        .execute(connection)
        .await?;
    Ok(text.len())
}

async fn remove_title(connection: &mut SqliteConnection, thread: &str) -> Result<(), sqlx::Error> {
    for statement in [
        "INSERT INTO search_text (search_text, rowid, text) \
         SELECT 'delete', entry, text FROM search_item WHERE thread_id = ? AND turn_no IS NULL",
        "DELETE FROM search_item WHERE thread_id = ? AND turn_no IS NULL",
    ] {
        sqlx::query(statement)
            .bind(thread.to_owned())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
