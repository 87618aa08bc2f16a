//! The store on SQLite: joins the writer and the readers behind [`Store`].

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bobbin_model::{Scope, Seq, Spent, StandingAnswer, ThreadId, Turn, TurnDiff, TurnId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::SqlitePool;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::failure::{OpenError, driver_error, store_error};
use crate::presence::Presence;
use crate::writer::{Order, QUEUE, Writer};
use crate::{Options, audit, open, read, schedule, search, usage};
use bobbin_store::{
    AuditEntry, AuditRow, Closed, FoundThread, KnownRequest, ListFilter, LoadedThread, Receipt,
    ScheduleChange, ScheduleEntry, ScheduleStore, SearchFilter, SearchPage, Store, StoreError, StoreStats,
    StoredEvent, ThreadSearch, ThreadSummary, UsageQuery, UsageRow, UsedRow, Write,
};
use bobbin_store_sql::WriterStats;

/// Most searches at a time, of the four readers.
const SEARCHES: usize = 2;
/// Largest file that is checked when it is opened, in bytes (a guess: well under a second of one reader's time).
const CHECKED: u64 = 64 << 20;

/// A store on one database file. Owns the writer's task; [`Store::close`] joins it.
pub struct SqliteStore {
    readers: SqlitePool,
    writer_pool: SqlitePool,
    orders: Mutex<Option<mpsc::Sender<Order>>>,
    /// Limits searches, which may be slow, so that other reads always find a reader.
    searches: Semaphore,
    stats: Arc<WriterStats>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// The check that starts with the store.
    check: Mutex<Option<JoinHandle<Vec<String>>>>,
}

impl SqliteStore {
    /// Opens a database, creating it if it is missing, and migrates it to the current schema.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let pools = open::open(path, &options).await?;
        let (orders, waiting) = mpsc::channel(QUEUE);
        let stats = Arc::new(WriterStats::default());
        let writer = Writer {
            pool: pools.writer.clone(),
            connection: None,
            orders: waiting,
            stats: stats.clone(),
            failed: HashMap::new(),
            audit: None,
            presence: Presence::of(path),
            removed: options.removed,
        };
        let small = std::fs::metadata(path).is_ok_and(|file| file.len() <= CHECKED);
        let check = small.then(|| tokio::spawn(first_check(pools.readers.clone())));
        Ok(Self {
            check: Mutex::new(check),
            readers: pools.readers,
            writer_pool: pools.writer,
            orders: Mutex::new(Some(orders)),
            searches: Semaphore::new(SEARCHES),
            stats,
            writer: Mutex::new(Some(tokio::spawn(writer.run()))),
        })
    }

    /// Returns the version of the linked SQLite.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn sqlite_version(&self) -> Result<String, StoreError> {
        let row: (String,) = sqlx::query_as("SELECT sqlite_version()")
            .fetch_one(&self.readers)
            .await
            .map_err(store_error)?;
        Ok(row.0)
    }

    /// Checks the whole file; slow for a large one. Returns the problems; empty if there are none.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        quick_check(&self.readers).await
    }

    /// Waits for the check that starts with the store, for a file of ordinary size. Returns the problems, which are
    /// also logged; empty after the first call.
    pub async fn first_check(&self) -> Vec<String> {
        let check = self.check.lock().take();
        match check {
            Some(check) => check.await.unwrap_or_default(),
            None => Vec::new(),
        }
    }
}

/// Checks the whole file once while the store is in use. Two sound pages may contradict each other, which no read
/// detects.
async fn first_check(readers: SqlitePool) -> Vec<String> {
    let faults = match quick_check(&readers).await {
        Ok(faults) => faults,
        Err(error) if matches!(driver_error(&error), Some(sqlx::Error::PoolClosed)) => return Vec::new(),
        Err(error) => vec![error.to_string()],
    };
    if let Some(first) = faults.first() {
        let count = faults.len();
        tracing::error!(
            count,
            first,
            "the database is damaged: what is read may be incomplete; stop the server and run `bobbin doctor`"
        );
    }
    faults
}

async fn quick_check(readers: &SqlitePool) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String,)> = sqlx::query_as("PRAGMA quick_check")
        .fetch_all(readers)
        .await
        .map_err(store_error)?;
    Ok(rows
        .into_iter()
        .map(|row| row.0)
        .filter(|line| line != "ok")
        .collect())
}

impl Store for SqliteStore {
    fn submit(&self, write: Write) -> BoxFuture<'_, Result<Receipt, StoreError>> {
        let orders = self.orders.lock().clone();
        async move {
            let (done, receipt) = oneshot::channel();
            let orders = orders.ok_or(StoreError::Closed)?;
            orders
                .send(Order::Write(write, done))
                .await
                .map_err(|_| StoreError::Closed)?;
            Ok(Receipt::new(receipt))
        }
        .boxed()
    }

    fn load(&self, id: &ThreadId) -> BoxFuture<'_, Result<Option<LoadedThread>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::load(&self.readers, &id).await?) }.boxed()
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<ThreadSummary>, StoreError>> {
        async move { Ok(read::list(&self.readers, filter).await?) }.boxed()
    }

    fn children(
        &self,
        parent: &ThreadId,
        closed: Closed,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<ThreadSummary>, StoreError>> {
        let parent = parent.clone();
        async move { Ok(read::children(&self.readers, &parent, closed, limit).await?) }.boxed()
    }

    fn descendants(&self, top: &ThreadId) -> BoxFuture<'_, Result<Vec<ThreadId>, StoreError>> {
        let top = top.clone();
        async move { Ok(read::descendants(&self.readers, &top).await?) }.boxed()
    }

    fn search(&self, filter: SearchFilter) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        async move {
            let _turn = self.searches.acquire().await.map_err(|_| StoreError::Closed)?;
            Ok(search::search(&self.readers, filter).await?)
        }
        .boxed()
    }

    fn search_threads(&self, search: ThreadSearch) -> BoxFuture<'_, Result<Vec<FoundThread>, StoreError>> {
        async move {
            let _turn = self.searches.acquire().await.map_err(|_| StoreError::Closed)?;
            Ok(search::threads(&self.readers, search).await?)
        }
        .boxed()
    }

    fn turns_before(
        &self,
        id: &ThreadId,
        before: TurnId,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Turn>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::turns_before(&self.readers, &id, before, limit).await?) }.boxed()
    }

    fn turn_back(
        &self,
        id: &ThreadId,
        before: TurnId,
        count: u32,
    ) -> BoxFuture<'_, Result<Option<TurnId>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::turn_back(&self.readers, &id, before, count).await?) }.boxed()
    }

    fn spent(&self, id: &ThreadId, before: TurnId) -> BoxFuture<'_, Result<Spent, StoreError>> {
        let id = id.clone();
        async move { Ok(read::spent(&self.readers, &id, before).await?) }.boxed()
    }

    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<(Vec<UsageRow>, Vec<UsedRow>), StoreError>> {
        async move {
            // It reads as much as a search.
            let _turn = self.searches.acquire().await.map_err(|_| StoreError::Closed)?;
            usage::read(&self.readers, query).await.map_err(store_error)
        }
        .boxed()
    }

    fn turns_from(&self, id: &ThreadId, first: TurnId) -> BoxFuture<'_, Result<u32, StoreError>> {
        let id = id.clone();
        async move { Ok(read::turns_from(&self.readers, &id, first).await?) }.boxed()
    }

    fn turn(&self, id: &ThreadId, turn: TurnId) -> BoxFuture<'_, Result<Option<Turn>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::turn(&self.readers, &id, turn).await?) }.boxed()
    }

    fn diff(&self, id: &ThreadId, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnDiff>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::diff(&self.readers, &id, turn).await?) }.boxed()
    }

    fn events(
        &self,
        id: &ThreadId,
        after: Seq,
        up_to: Seq,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::events(&self.readers, &id, after, up_to, limit).await?) }.boxed()
    }

    fn recent_events(
        &self,
        id: &ThreadId,
        up_to: Seq,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let id = id.clone();
        async move { Ok(read::recent_events(&self.readers, &id, up_to, limit).await?) }.boxed()
    }

    fn threads_with_open_turns(&self) -> BoxFuture<'_, Result<Vec<ThreadId>, StoreError>> {
        async move { Ok(read::threads_with_open_turns(&self.readers).await?) }.boxed()
    }

    fn is_remembered(&self, scope: &Scope) -> BoxFuture<'_, Result<bool, StoreError>> {
        let scope = scope.clone();
        async move { Ok(read::is_remembered(&self.readers, &scope).await?) }.boxed()
    }

    fn standing_answers(&self, limit: u32) -> BoxFuture<'_, Result<Vec<StandingAnswer>, StoreError>> {
        async move { Ok(read::standing_answers(&self.readers, limit).await?) }.boxed()
    }

    fn record(&self, entries: Vec<AuditEntry>, cut: Option<u64>) -> BoxFuture<'_, Result<(), StoreError>> {
        let orders = self.orders.lock().clone();
        async move {
            let (done, receipt) = oneshot::channel();
            let orders = orders.ok_or(StoreError::Closed)?;
            let order = Order::Audit(entries, cut, done);
            orders.send(order).await.map_err(|_| StoreError::Closed)?;
            Receipt::new(receipt).await
        }
        .boxed()
    }

    fn audit(&self, after: u64, limit: u32) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        async move {
            audit::read(&self.readers, after, limit)
                .await
                .map_err(store_error)
        }
        .boxed()
    }

    fn forget_answers(&self, answers: Option<Vec<StandingAnswer>>) -> BoxFuture<'_, Result<(), StoreError>> {
        let orders = self.orders.lock().clone();
        async move {
            let (done, receipt) = oneshot::channel();
            let orders = orders.ok_or(StoreError::Closed)?;
            let order = Order::Forget(answers, done);
            orders.send(order).await.map_err(|_| StoreError::Closed)?;
            Receipt::new(receipt).await
        }
        .boxed()
    }

    fn request(
        &self,
        about: Option<&ThreadId>,
        id: &str,
    ) -> BoxFuture<'_, Result<Option<KnownRequest>, StoreError>> {
        let scope = about.map_or_else(String::new, |thread| thread.as_str().to_owned());
        let id = id.to_owned();
        async move { Ok(read::request(&self.readers, &scope, &id).await?) }.boxed()
    }

    fn stats(&self) -> StoreStats {
        let queued = self
            .orders
            .lock()
            .as_ref()
            .map_or(0, |orders| QUEUE - orders.capacity());
        self.stats.snapshot(queued)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            drop(self.orders.lock().take());
            let writer = self.writer.lock().take();
            if let Some(writer) = writer
                && let Err(error) = writer.await
            {
                tracing::error!(%error, "the writer ended badly");
            }
            let check = self.check.lock().take();
            if let Some(check) = check {
                check.abort();
                drop(check.await);
            }
            self.readers.close().await;
            self.writer_pool.close().await;
        }
        .boxed()
    }
}

impl ScheduleStore for SqliteStore {
    fn schedule(&self) -> BoxFuture<'_, Result<Vec<ScheduleEntry>, StoreError>> {
        async move { schedule::all(&self.readers).await.map_err(store_error) }.boxed()
    }

    fn change_schedule(&self, changes: Vec<ScheduleChange>) -> BoxFuture<'_, Result<(), StoreError>> {
        let orders = self.orders.lock().clone();
        async move {
            let (done, receipt) = oneshot::channel();
            let orders = orders.ok_or(StoreError::Closed)?;
            let order = Order::Schedule(changes, done);
            orders.send(order).await.map_err(|_| StoreError::Closed)?;
            Receipt::new(receipt).await
        }
        .boxed()
    }
}
