//! Imports the conversations of another database as finished history.
//!
//! The other database may be hostile. It is opened read-only, the schema of the tables that are read must equal
//! ours, values are checked for size before they are read, and only its events and streamed text are read. All rows
//! follow from the events, by the same projection as a server's own writes. Each Thread is imported in one
//! transaction or not at all.

mod history;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bobbin_model::{Event, Seq, ThreadHeader, ThreadId, ThreadState, UnixMillis};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::open::{self, Options, newest_version};
use bobbin_store::{StoreError, StoredEvent, Summary, Write};
use bobbin_store_sql::EventRow;

use crate::failure::{OpenError, store_error};
use crate::project;
use history::Left;

/// Largest event that is read, in bytes: several times the largest that a server writes.
const MAX_EVENT: i64 = 16 << 20;
/// Most bytes of one open Turn's events in memory.
const MAX_TURN: usize = 256 << 20;
/// Events read and written at a time.
const PAGE: i64 = 16;
/// Most reported reasons; the rest is counted.
const MAX_REASONS: usize = 20;
/// The tables that are read in the other database.
const TABLES: &str = "('event', 'item_text')";

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Threads that were imported.
    pub taken: u32,
    /// Threads whose id exists here already.
    pub known: u32,
    /// Threads that were left out as damaged.
    pub damaged: u32,
    /// Id and reason of the first damaged Threads.
    pub reasons: Vec<(String, String)>,
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no database of Bobbin.
    #[error("it is no database of Bobbin ({0})")]
    Foreign(String),
    /// A newer version of Bobbin has written it.
    #[error(
        "a newer version of Bobbin has written it (schema {found}, this one knows {known}); use that version"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// This workspace's database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// This workspace's database could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Imports the Threads of the database `from` into the one at `database`, whose workspace is `root`. No other
/// process may have either database open. `from` is not changed, but SQLite may create files next to it.
///
/// # Errors
/// [`ImportError`]. Threads imported before stay.
pub async fn import(
    from: &Path,
    database: &Path,
    root: &str,
    now: UnixMillis,
) -> Result<Imported, ImportError> {
    let options = SqliteConnectOptions::new()
        .filename(from)
        .read_only(true)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .disable_statement_logging();
    let mut source = options.connect().await.map_err(foreign)?;
    check(&mut source).await?;
    let pools = open::open(database, &Options::default()).await?;
    let mut target = pools.writer.acquire().await.map_err(store_error)?;
    let importing = Import {
        source: &mut source,
        target: &mut target,
        root,
        now,
        done: Imported::default(),
        places: HashMap::new(),
    };
    let imported = importing.run().await;
    drop(target);
    pools.readers.close().await;
    pools.writer.close().await;
    if let Err(error) = source.close().await {
        tracing::debug!(%error, "the imported database was not closed well");
    }
    imported
}

fn foreign(error: sqlx::Error) -> ImportError {
    ImportError::Foreign(match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        error => error.to_string(),
    })
}

/// Checks that the tables to be read are as our own migrations make them: no view, no trigger, no computed column.
async fn check(source: &mut SqliteConnection) -> Result<(), ImportError> {
    let wrong = |why: &str| ImportError::Foreign(why.to_owned());
    let acting = "SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1";
    let acts = sqlx::query(acting)
        .fetch_optional(&mut *source)
        .await
        .map_err(foreign)?;
    if acts.is_some() {
        return Err(wrong("it has triggers or views"));
    }
    let version: Result<(Option<i64>,), _> = sqlx::query_as("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut *source)
        .await;
    let (Ok((Some(found),)), known) = (version, newest_version()) else {
        return Err(wrong("it says no version"));
    };
    if found > known {
        return Err(ImportError::Newer { found, known });
    }
    let mut ours = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging()
        .connect()
        .await
        .map_err(store_error)?;
    open::migrate(&mut ours).await?;
    if schema(&mut ours).await.map_err(foreign)? != schema(source).await.map_err(foreign)? {
        return Err(wrong("its tables are not as Bobbin makes them"));
    }
    Ok(())
}

/// Returns the definitions of these tables, in order.
async fn schema(
    connection: &mut SqliteConnection,
) -> Result<Vec<(String, String, Option<String>)>, sqlx::Error> {
    let text = format!(
        "SELECT type, name, sql FROM sqlite_schema WHERE lower(tbl_name) IN {TABLES} OR lower(name) IN {TABLES} ORDER BY name"
    );
    sqlx::query_as(sqlx::AssertSqlSafe(text))
        .fetch_all(connection)
        .await
}

struct Import<'a> {
    source: &'a mut SqliteConnection,
    target: &'a mut SqliteConnection,
    root: &'a str,
    now: UnixMillis,
    done: Imported,
    /// Root and depth of each imported Thread: the parent of a subagent must be among them.
    places: HashMap<ThreadId, (ThreadId, u32)>,
}

/// Why a Thread was not imported, or why the import stops.
enum Stop {
    Left(Left),
    Failed(ImportError),
}

impl From<Left> for Stop {
    fn from(left: Left) -> Self {
        Self::Left(left)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// An unreadable row means that the Thread is damaged.
fn unread(error: sqlx::Error) -> Stop {
    let ImportError::Foreign(why) = foreign(error) else {
        return Stop::Left(Left::Damaged(String::new()));
    };
    Stop::Left(Left::Damaged(why))
}

fn unwritten(error: sqlx::Error) -> Stop {
    store_error(error).into()
}

impl Import<'_> {
    async fn run(mut self) -> Result<Imported, ImportError> {
        let mut waiting = self.headers().await?;
        // Parents first: one pass for each level of the tree.
        loop {
            let (ready, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|header| {
                let source = header.source.sub_agent();
                source.is_none_or(|source| self.places.contains_key(&source.parent))
            });
            if ready.is_empty() {
                for header in later {
                    self.leave_out(
                        &header.id,
                        "the conversation that it belongs to was not taken".to_owned(),
                    );
                }
                return Ok(self.done);
            }
            for header in ready {
                self.thread(header).await?;
            }
            waiting = later;
        }
    }

    /// Reads the first event of every Thread.
    async fn headers(&mut self) -> Result<Vec<ThreadHeader>, ImportError> {
        let mut headers = Vec::new();
        let mut last = String::new();
        loop {
            let next: Option<(String,)> =
                sqlx::query_as("SELECT thread_id FROM event WHERE thread_id > ? ORDER BY thread_id LIMIT 1")
                    .bind(last.clone())
                    .fetch_optional(&mut *self.source)
                    .await
                    .map_err(foreign)?;
            let Some((id,)) = next else { return Ok(headers) };
            if !history::is_id(&id) {
                return Err(ImportError::Foreign("a thread has an impossible name".to_owned()));
            }
            let thread = ThreadId::new(id.as_str());
            let first = match self.page(&thread, Seq(0), 1).await {
                Ok((events, _)) => events.into_iter().next().map(|first| first.event),
                Err(Stop::Left(left)) => {
                    self.left(&thread, left);
                    last = id;
                    continue;
                }
                Err(Stop::Failed(error)) => return Err(error),
            };
            let header = match first.as_deref() {
                Some(Event::ThreadStarted { thread: header }) => {
                    history::header(&thread, (**header).clone(), self.root)
                }
                _ => Err(Left::Damaged("its beginning is missing".to_owned())),
            };
            match header {
                Ok(header) => headers.push(header),
                Err(left) => self.left(&thread, left),
            }
            last = id;
        }
    }

    fn left(&mut self, id: &ThreadId, left: Left) {
        if let Left::Damaged(why) = left {
            self.leave_out(id, why);
        }
    }

    fn leave_out(&mut self, id: &ThreadId, why: String) {
        self.done.damaged += 1;
        if self.done.reasons.len() < MAX_REASONS {
            self.done.reasons.push((id.as_str().to_owned(), why));
        }
    }

    /// Imports one Thread, unless it exists here.
    async fn thread(&mut self, header: ThreadHeader) -> Result<(), ImportError> {
        let id = header.id.clone();
        let place = match header.source.sub_agent() {
            None => (id.clone(), 0),
            Some(source) => match self.places.get(&source.parent) {
                Some((root, depth)) if history::hangs_below(&header, root, *depth) => {
                    (root.clone(), source.depth)
                }
                _ => {
                    self.leave_out(&id, "its place among subagents is wrong".to_owned());
                    return Ok(());
                }
            },
        };
        let is_known = sqlx::query("SELECT 1 FROM thread WHERE thread_id = ?")
            .bind(id.as_str().to_owned())
            .fetch_optional(&mut *self.target)
            .await
            .map_err(store_error)?
            .is_some();
        if is_known {
            self.done.known += 1;
            self.places.insert(id, place);
            return Ok(());
        }
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut *self.target)
            .await
            .map_err(store_error)?;
        let taken = self.take(header).await;
        let end = if taken.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = sqlx::query(end).execute(&mut *self.target).await;
        match taken {
            Ok(()) => {
                ended.map_err(store_error)?;
                self.done.taken += 1;
                self.places.insert(id, place);
                Ok(())
            }
            Err(Stop::Left(left)) => {
                ended.map_err(store_error)?;
                self.left(&id, left);
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Writes a Thread into the open transaction.
    async fn take(&mut self, header: ThreadHeader) -> Result<(), Stop> {
        let id = header.id.clone();
        let mut state = ThreadState::new(header.clone());
        let (mut last, mut held) = (Seq(0), 0);
        loop {
            let (page, bytes) = self.page(&id, last, PAGE).await?;
            let Some(newest) = page.last().map(|stored| stored.seq) else {
                break;
            };
            let mut events = Vec::with_capacity(page.len());
            for StoredEvent { seq, at, event } in page {
                history::check_number(seq)?;
                let at = history::time(at);
                let admitted = if last == Seq(0) && events.is_empty() {
                    let thread = Box::new(header.clone());
                    Some(Event::ThreadStarted { thread })
                } else {
                    let event = Arc::try_unwrap(event).unwrap_or_else(|shared| (*shared).clone());
                    history::admit(&state, event)?
                };
                if let Some(event) = admitted {
                    history::apply(&mut state, &event, at);
                    let event = Arc::new(event);
                    events.push(StoredEvent { seq, at, event });
                }
            }
            held = if state.live.is_some() { held + bytes } else { 0 };
            if held > MAX_TURN {
                return Err(Left::Damaged("a turn is too large".to_owned()).into());
            }
            self.write(&state, events, newest).await?;
            last = newest;
        }
        self.restore_text(&mut state).await?;
        let now = self.now;
        let closing = history::close(&state, now).into_iter();
        let mut events = Vec::new();
        for (event, number) in closing.zip(last.0 + 1..) {
            history::apply(&mut state, &event, now);
            let (seq, event) = (Seq(number), Arc::new(event));
            events.push(StoredEvent { seq, at: now, event });
        }
        let last = events.last().map_or(last, |event| event.seq);
        self.write(&state, events, last).await
    }

    /// Reads events after a Seq, with their size in bytes.
    async fn page(
        &mut self,
        id: &ThreadId,
        after: Seq,
        limit: i64,
    ) -> Result<(Vec<StoredEvent>, usize), Stop> {
        let rows: Vec<(i64, i64, i64, Option<String>)> = sqlx::query_as(
            "SELECT seq, version, at, CASE WHEN typeof(payload) = 'text' AND octet_length(payload) <= ? THEN payload END \
             FROM event WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        )
        .bind(MAX_EVENT)
        .bind(id.as_str().to_owned())
        .bind(bobbin_store_sql::number(after))
        .bind(limit)
        .fetch_all(&mut *self.source)
        .await
        .map_err(unread)?;
        let mut bytes = 0;
        let mut events = Vec::with_capacity(rows.len());
        for (seq, version, at, payload) in rows {
            let payload = payload.ok_or_else(|| Left::Damaged("an event is too large".to_owned()))?;
            bytes += payload.len();
            let row = EventRow {
                seq,
                version,
                at,
                payload,
                first_item: None,
            };
            events.push(row.decode(id).map_err(|error| Left::Damaged(error.to_string()))?);
        }
        Ok((events, bytes))
    }

    /// Restores the streamed text of an open Turn's Items, as a server does when it resumes the Turn.
    async fn restore_text(&mut self, state: &mut ThreadState) -> Result<(), Stop> {
        let (id, Some(live)) = (state.header.id.as_str().to_owned(), &mut state.live) else {
            return Ok(());
        };
        let mut left = MAX_TURN;
        let mut after = i64::MIN;
        loop {
            let next: Option<(i64, u32, Option<String>)> = sqlx::query_as(
                "SELECT part_id, item_no, CASE WHEN typeof(text) = 'text' AND octet_length(text) <= ? THEN text END FROM item_text \
                 WHERE thread_id = ? AND turn_no = ? AND part_id > ? ORDER BY part_id LIMIT 1",
            )
            .bind(MAX_EVENT)
            .bind(id.clone())
            .bind(live.turn.id.0)
            .bind(after)
            .fetch_optional(&mut *self.source)
            .await
            .map_err(unread)?;
            let Some((part, item, Some(text))) = next else {
                return Ok(());
            };
            let Some(rest) = left.checked_sub(text.len()) else {
                return Ok(());
            };
            (left, after) = (rest, part);
            live.restore_text(bobbin_model::ItemId(item), &text);
        }
    }

    async fn write(&mut self, state: &ThreadState, events: Vec<StoredEvent>, last: Seq) -> Result<(), Stop> {
        if events.is_empty() {
            return Ok(());
        }
        let write = Write {
            thread: state.header.id.clone(),
            owner: 0,
            state: Summary::of(state, &events),
            events,
            head_seq: last,
            text: Vec::new(),
            remember: None,
            request: None,
            audit: Vec::new(),
        };
        project::script(&write)
            .run(&mut *self.target)
            .await
            .map_err(unwritten)
    }
}
