//! The overview of a database that another process may have open, for a list of workspaces.

use std::path::Path;

use bobbin_model::{Event, ItemBody, ThreadId, UnixMillis};
use bobbin_store::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection as _, QueryBuilder, Sqlite};

use crate::failure::{Failure, store_error};
use crate::read::IS_FOR_USERS;
use bobbin_store_sql::EventRow;

/// Items of the newest Thread that are searched for a message.
const MAX_ITEMS: u32 = 24;
/// Longest stored Item that is read, in bytes.
const MAX_ITEM_BYTES: u32 = 64 << 10;
/// Longest part of a message that is shown, in characters.
const MAX_WORDS: usize = 240;

/// The state of a workspace, as a list shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Threads with a Turn that has not ended.
    pub running: u32,
    /// Of these, the ones that wait for an answer of a user.
    pub waiting: u32,
    /// The Thread that was active last.
    pub latest: Option<LatestThread>,
}

/// The Thread of a workspace that was active last, without those of subagents and in archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestThread {
    /// The Thread.
    pub id: ThreadId,
    /// Its title.
    pub title: Option<String>,
    /// When it was active.
    pub active_at: UnixMillis,
    /// The beginning of its last message, of the agent or of the user; at most 240 characters.
    pub words: Option<String>,
}

/// A database that is read while its server may change it.
#[derive(Debug)]
pub struct OverviewReader {
    connection: SqliteConnection,
    /// Changes when another connection has written.
    version: Option<i64>,
}

impl OverviewReader {
    /// Opens a database. Writes nothing.
    ///
    /// # Errors
    /// It is no database of ours, or cannot be read.
    pub async fn open(database: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(database)
            .read_only(true)
            .disable_statement_logging();
        let connection = options.connect().await.map_err(store_error)?;
        let version = None;
        Ok(Self { connection, version })
    }

    /// Returns the overview, or `None` where nothing was written since the last call.
    ///
    /// # Errors
    /// The database cannot be read, or is of another version.
    pub async fn changed(&mut self) -> Result<Option<Overview>, StoreError> {
        let read = async {
            let (version,): (i64,) = sqlx::query_as("PRAGMA data_version")
                .fetch_one(&mut self.connection)
                .await?;
            if self.version == Some(version) {
                return Ok(None);
            }
            let overview = read(&mut self.connection).await?;
            self.version = Some(version);
            Ok(Some(overview))
        };
        read.await.map_err(|failure: Failure| failure.into())
    }

    /// Closes it.
    pub async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "a database was not closed well");
        }
    }
}

async fn read(connection: &mut SqliteConnection) -> Result<Overview, Failure> {
    let (running, waiting): (u32, u32) = sqlx::query_as(
        "SELECT count(*), coalesce(sum(waiting_approval OR waiting_input), 0) FROM thread WHERE deleted_at IS NULL \
         AND thread_id IN (SELECT thread_id FROM turn WHERE completed_at IS NULL)",
    )
    .fetch_one(&mut *connection)
    .await?;
    let mut newest = QueryBuilder::<Sqlite>::new(
        "SELECT thread_id, display_name, last_active_at FROM thread WHERE deleted_at IS NULL AND parent_id IS NULL \
         AND status <> 'archived' AND ",
    );
    newest
        .push(IS_FOR_USERS)
        .push(" ORDER BY last_active_at DESC, thread_id DESC LIMIT 1");
    let latest: Option<(String, Option<String>, i64)> =
        newest.build_query_as().fetch_optional(&mut *connection).await?;
    let latest = match latest {
        None => None,
        Some((id, title, active_at)) => {
            let id = ThreadId::new(id);
            Some(LatestThread {
                words: words(connection, &id).await?,
                id,
                title,
                active_at: UnixMillis(active_at),
            })
        }
    };
    Ok(Overview {
        running,
        waiting,
        latest,
    })
}

/// Returns the beginning of a Thread's last message.
async fn words(connection: &mut SqliteConnection, id: &ThreadId) -> Result<Option<String>, Failure> {
    let rows: Vec<EventRow> = sqlx::query_as(
        "SELECT e.seq, e.version, e.at, e.payload FROM (SELECT turn_no, item_no, seq FROM item WHERE thread_id = ?1 \
         ORDER BY turn_no DESC, item_no DESC LIMIT ?2) i JOIN event e ON e.thread_id = ?1 AND e.seq = i.seq \
         JOIN turn t ON t.thread_id = ?1 AND t.turn_no = i.turn_no \
         WHERE t.rolled_back_at IS NULL AND octet_length(e.payload) <= ?3 ORDER BY i.turn_no DESC, i.item_no DESC",
    )
    .bind(id.as_str().to_owned())
    .bind(MAX_ITEMS)
    .bind(MAX_ITEM_BYTES)
    .fetch_all(connection)
    .await?;
    for row in rows {
        let stored = row.decode(id)?;
        let (Event::ItemStarted { item, .. }
        | Event::ItemCompleted { item, .. }
        | Event::ItemAdded { item, .. }) = &*stored.event
        else {
            continue;
        };
        let text = match &item.body {
            ItemBody::AgentMessage { text } => text.clone(),
            ItemBody::UserMessage(message) => message.text().into_owned(),
            _ => continue,
        };
        if !text.trim().is_empty() {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            return Ok(Some(words.chars().take(MAX_WORDS).collect()));
        }
    }
    Ok(None)
}
