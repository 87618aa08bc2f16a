//! The store on SQLite: joins the writer and the readers behind [`Store`].

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bobbin_model::{Scope, Seq, ThreadId, Turn, TurnId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::SqlitePool;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::writer::{Counters, Order, QUEUE, Writer};
use crate::{
    KnownRequest, ListFilter, LoadedThread, Options, Receipt, SearchFilter, SearchPage, Store, StoreError,
    StoreStats, StoredEvent, ThreadSummary, Write, open, read, search,
};

/// Searches at a time, of the four readers there are.
const SEARCHES: usize = 2;

/// One database file. Owns the writer's task; [`Store::close`] joins it.
pub struct SqliteStore {
    readers: SqlitePool,
    writer_pool: SqlitePool,
    orders: Mutex<Option<mpsc::Sender<Order>>>,
    /// Searches may take a while; they leave readers to everybody else.
    searches: Semaphore,
    counters: Arc<Counters>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteStore {
    /// Opens a database, creating it when missing, and brings it to the present schema.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::NetworkFileSystem`].
    pub async fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        let pools = open::open(path, &options).await?;
        let (orders, waiting) = mpsc::channel(QUEUE);
        let counters = Arc::new(Counters::default());
        let writer = Writer {
            pool: pools.writer.clone(),
            orders: waiting,
            counters: counters.clone(),
            on_step: options.on_step,
            failed: HashMap::new(),
        };
        Ok(Self {
            readers: pools.readers,
            writer_pool: pools.writer,
            orders: Mutex::new(Some(orders)),
            searches: Semaphore::new(SEARCHES),
            counters,
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
            .await?;
        Ok(row.0)
    }

    /// Checks the whole file; takes a while for a large one. Returns what is wrong, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = sqlx::query_as("PRAGMA quick_check")
            .fetch_all(&self.readers)
            .await?;
        Ok(rows
            .into_iter()
            .map(|row| row.0)
            .filter(|line| line != "ok")
            .collect())
    }
}

impl Store for SqliteStore {
    fn submit(&self, write: Write) -> BoxFuture<'_, Result<Receipt, StoreError>> {
        let orders = self.orders.lock().clone();
        async move {
            let (done, receipt) = oneshot::channel();
            let orders = orders.ok_or(StoreError::Closed)?;
            orders.send((write, done)).await.map_err(|_| StoreError::Closed)?;
            Ok(Receipt::new(receipt))
        }
        .boxed()
    }

    fn load(&self, id: &ThreadId) -> BoxFuture<'_, Result<Option<LoadedThread>, StoreError>> {
        let id = id.clone();
        async move { read::load(&self.readers, &id).await }.boxed()
    }

    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<Vec<ThreadSummary>, StoreError>> {
        read::list(&self.readers, filter).boxed()
    }

    fn search(&self, filter: SearchFilter) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        async move {
            let _turn = self.searches.acquire().await.map_err(|_| StoreError::Closed)?;
            search::search(&self.readers, filter).await
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
        async move { read::turns_before(&self.readers, &id, before, limit).await }.boxed()
    }

    fn turn_back(
        &self,
        id: &ThreadId,
        before: TurnId,
        count: u32,
    ) -> BoxFuture<'_, Result<Option<TurnId>, StoreError>> {
        let id = id.clone();
        async move { read::turn_back(&self.readers, &id, before, count).await }.boxed()
    }

    fn turns_from(&self, id: &ThreadId, first: TurnId) -> BoxFuture<'_, Result<u32, StoreError>> {
        let id = id.clone();
        async move { read::turns_from(&self.readers, &id, first).await }.boxed()
    }

    fn turn(&self, id: &ThreadId, turn: TurnId) -> BoxFuture<'_, Result<Option<Turn>, StoreError>> {
        let id = id.clone();
        async move { read::turn(&self.readers, &id, turn).await }.boxed()
    }

    fn events(
        &self,
        id: &ThreadId,
        after: Seq,
        up_to: Seq,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let id = id.clone();
        async move { read::events(&self.readers, &id, after, up_to, limit).await }.boxed()
    }

    fn recent_events(
        &self,
        id: &ThreadId,
        up_to: Seq,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        let id = id.clone();
        async move { read::recent_events(&self.readers, &id, up_to, limit).await }.boxed()
    }

    fn threads_with_open_turns(&self) -> BoxFuture<'_, Result<Vec<ThreadId>, StoreError>> {
        read::threads_with_open_turns(&self.readers).boxed()
    }

    fn is_remembered(&self, scope: &Scope) -> BoxFuture<'_, Result<bool, StoreError>> {
        let scope = scope.clone();
        async move { read::is_remembered(&self.readers, &scope).await }.boxed()
    }

    fn request(
        &self,
        about: Option<&ThreadId>,
        id: &str,
    ) -> BoxFuture<'_, Result<Option<KnownRequest>, StoreError>> {
        let scope = about.map_or_else(String::new, |thread| thread.as_str().to_owned());
        let id = id.to_owned();
        async move { read::request(&self.readers, &scope, &id).await }.boxed()
    }

    fn stats(&self) -> StoreStats {
        let queued = self
            .orders
            .lock()
            .as_ref()
            .map_or(0, |orders| QUEUE - orders.capacity());
        self.counters.snapshot(queued)
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
            self.readers.close().await;
            self.writer_pool.close().await;
        }
        .boxed()
    }
}
