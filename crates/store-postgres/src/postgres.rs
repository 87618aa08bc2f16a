//! The store on PostgreSQL: joins the writer and the readers behind [`Store`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Scope, Seq, Spent, StandingAnswer, ThreadId, Turn, TurnDiff, TurnId};
use bobbin_store::{
    AuditEntry, AuditRow, Closed, FoundThread, Holding, KnownRequest, Lease, ListFilter, LoadedThread,
    Receipt, ScheduleChange, ScheduleEntry, ScheduleStore, SearchFilter, SearchPage, Store, StoreError,
    StoreStats, StoredEvent, ThreadSearch, ThreadSummary, UsageQuery, UsageRow, UsedRow, Write,
};
use bobbin_store_sql::WriterStats;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::PgPool;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::failure::OpenError;
use crate::lease::Keeper;
use crate::open::{self, Opened, Options};
use crate::read::Read;
use crate::writer::{Order, QUEUE, Writer};
use crate::{audit, read, schedule, search, usage};

/// Most searches at a time, of the connections.
const SEARCHES: usize = 2;
/// How long a read or a transaction may take. A statement alone ends sooner: then the database says why.
pub(crate) const GIVE_UP: Duration = Duration::from_secs(30);

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The store of one workspace in a database. Owns the writer's task; [`Store::close`] joins it.
pub struct PostgresStore {
    pool: PgPool,
    workspace: Arc<str>,
    lease: Lease,
    orders: Mutex<Option<mpsc::Sender<Order>>>,
    /// Limits searches, which may be slow, so that other reads always find a connection.
    searches: Semaphore,
    stats: Arc<WriterStats>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl PostgresStore {
    /// Opens the store of a workspace, and migrates the database to the current schema.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(access: &Access, options: Options) -> Result<Self, OpenError> {
        let Opened { pool, term, taken } = open::open(access, &options).await?;
        let (orders, waiting) = mpsc::channel(QUEUE);
        let stats = Arc::new(WriterStats::default());
        let (states, lease) = watch::channel(Holding::Until(taken + options.lease));
        let (doubt, closing) = (Arc::new(Notify::new()), CancellationToken::new());
        let keeper = Keeper {
            access: access.clone(),
            term: term.clone(),
            length: options.lease,
            states,
            doubt: doubt.clone(),
            closing: closing.clone(),
            connection: None,
        };
        let workspace = term.workspace.clone();
        let writer = Writer {
            pool: pool.clone(),
            term,
            doubt,
            patience: options.patience,
            connection: None,
            orders: waiting,
            stats: stats.clone(),
            failed: HashMap::new(),
            audit: None,
        };
        let keeping = tokio::spawn(keeper.run(taken));
        let writing = tokio::spawn(async move {
            writer.run().await;
            // Last: nothing is written any more.
            closing.cancel();
            if let Err(error) = keeping.await {
                tracing::error!(%error, "the lease was not given up");
            }
        });
        Ok(Self {
            pool,
            workspace,
            lease: Lease::new(lease),
            orders: Mutex::new(Some(orders)),
            searches: Semaphore::new(SEARCHES),
            stats,
            writer: Mutex::new(Some(writing)),
        })
    }

    async fn read<T>(&self, read: impl Future<Output = Read<T>>) -> Result<T, StoreError> {
        match timeout(GIVE_UP, read).await {
            Ok(done) => done.map_err(StoreError::from),
            Err(_) => Err(StoreError::Unreachable("it does not answer".to_owned())),
        }
    }

    /// Reads as a search does: only some of the connections may be used so at a time.
    async fn search_for<T>(&self, read: impl Future<Output = Read<T>>) -> Result<T, StoreError> {
        let _turn = self.searches.acquire().await.map_err(|_| StoreError::Closed)?;
        self.read(read).await
    }

    /// Gives the writer an order.
    async fn order(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<(), StoreError>>) -> Order,
    ) -> Result<Receipt, StoreError> {
        let (done, receipt) = oneshot::channel();
        let orders = self.orders.lock().clone().ok_or(StoreError::Closed)?;
        orders.send(order(done)).await.map_err(|_| StoreError::Closed)?;
        Ok(Receipt::new(receipt))
    }
}

impl Store for PostgresStore {
    fn submit(&self, write: Write) -> Answer<'_, Receipt> {
        self.order(|done| Order::Write(write, done)).boxed()
    }

    fn load(&self, id: &ThreadId) -> Answer<'_, Option<LoadedThread>> {
        let id = id.clone();
        async move { self.read(read::load(&self.pool, &self.workspace, &id)).await }.boxed()
    }

    fn list(&self, filter: ListFilter) -> Answer<'_, Vec<ThreadSummary>> {
        self.read(read::list(&self.pool, &self.workspace, filter)).boxed()
    }

    fn children(&self, parent: &ThreadId, closed: Closed, limit: u32) -> Answer<'_, Vec<ThreadSummary>> {
        let parent = parent.clone();
        async move {
            self.read(read::children(
                &self.pool,
                &self.workspace,
                &parent,
                closed,
                limit,
            ))
            .await
        }
        .boxed()
    }

    fn descendants(&self, top: &ThreadId) -> Answer<'_, Vec<ThreadId>> {
        let top = top.clone();
        async move {
            self.read(read::descendants(&self.pool, &self.workspace, &top))
                .await
        }
        .boxed()
    }

    fn search(&self, filter: SearchFilter) -> Answer<'_, SearchPage> {
        self.search_for(search::search(&self.pool, &self.workspace, filter))
            .boxed()
    }

    fn search_threads(&self, search: ThreadSearch) -> Answer<'_, Vec<FoundThread>> {
        self.search_for(search::threads(&self.pool, &self.workspace, search))
            .boxed()
    }

    fn turns_before(&self, id: &ThreadId, before: TurnId, limit: u32) -> Answer<'_, Vec<Turn>> {
        let id = id.clone();
        async move {
            self.read(read::turns_before(
                &self.pool,
                &self.workspace,
                &id,
                before,
                limit,
            ))
            .await
        }
        .boxed()
    }

    fn turn_back(&self, id: &ThreadId, before: TurnId, count: u32) -> Answer<'_, Option<TurnId>> {
        let id = id.clone();
        async move {
            self.read(read::turn_back(&self.pool, &self.workspace, &id, before, count))
                .await
        }
        .boxed()
    }

    fn turns_from(&self, id: &ThreadId, first: TurnId) -> Answer<'_, u32> {
        let id = id.clone();
        async move {
            self.read(read::turns_from(&self.pool, &self.workspace, &id, first))
                .await
        }
        .boxed()
    }

    fn spent(&self, id: &ThreadId, before: TurnId) -> Answer<'_, Spent> {
        let id = id.clone();
        async move {
            self.read(read::spent(&self.pool, &self.workspace, &id, before))
                .await
        }
        .boxed()
    }

    fn usage(&self, query: UsageQuery) -> Answer<'_, (Vec<UsageRow>, Vec<UsedRow>)> {
        // It reads as much as a search.
        self.search_for(usage::read(&self.pool, &self.workspace, query))
            .boxed()
    }

    fn turn(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<Turn>> {
        let id = id.clone();
        async move {
            self.read(read::turn(&self.pool, &self.workspace, &id, turn))
                .await
        }
        .boxed()
    }

    fn diff(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<TurnDiff>> {
        let id = id.clone();
        async move {
            self.read(read::diff(&self.pool, &self.workspace, &id, turn))
                .await
        }
        .boxed()
    }

    fn events(&self, id: &ThreadId, after: Seq, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>> {
        let id = id.clone();
        async move {
            self.read(read::events(
                &self.pool,
                &self.workspace,
                &id,
                after,
                up_to,
                limit,
            ))
            .await
        }
        .boxed()
    }

    fn recent_events(&self, id: &ThreadId, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>> {
        let id = id.clone();
        async move {
            self.read(read::recent_events(
                &self.pool,
                &self.workspace,
                &id,
                up_to,
                limit,
            ))
            .await
        }
        .boxed()
    }

    fn threads_with_open_turns(&self) -> Answer<'_, Vec<ThreadId>> {
        self.read(read::threads_with_open_turns(&self.pool, &self.workspace))
            .boxed()
    }

    fn is_remembered(&self, scope: &Scope) -> Answer<'_, bool> {
        let scope = scope.clone();
        async move {
            self.read(read::is_remembered(&self.pool, &self.workspace, &scope))
                .await
        }
        .boxed()
    }

    fn standing_answers(&self, limit: u32) -> Answer<'_, Vec<StandingAnswer>> {
        self.read(read::standing_answers(&self.pool, &self.workspace, limit))
            .boxed()
    }

    fn record(&self, entries: Vec<AuditEntry>, cut: Option<u64>) -> Answer<'_, ()> {
        async move { self.order(|done| Order::Audit(entries, cut, done)).await?.await }.boxed()
    }

    fn audit(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditRow>> {
        async move {
            self.read(audit::read(&self.pool, &self.workspace, after, limit))
                .await
        }
        .boxed()
    }

    fn forget_answers(&self, answers: Option<Vec<StandingAnswer>>) -> Answer<'_, ()> {
        async move { self.order(|done| Order::Forget(answers, done)).await?.await }.boxed()
    }

    fn request(&self, about: Option<&ThreadId>, id: &str) -> Answer<'_, Option<KnownRequest>> {
        let (about, id) = (about.cloned(), id.to_owned());
        async move {
            self.read(read::request(&self.pool, &self.workspace, about.as_ref(), &id))
                .await
        }
        .boxed()
    }

    fn lease(&self) -> Option<Lease> {
        Some(self.lease.clone())
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
            self.pool.close().await;
        }
        .boxed()
    }
}

impl ScheduleStore for PostgresStore {
    fn schedule(&self) -> Answer<'_, Vec<ScheduleEntry>> {
        async move {
            let all = async { Ok(schedule::all(&self.pool, &self.workspace).await?) };
            self.read(all).await
        }
        .boxed()
    }

    fn change_schedule(&self, changes: Vec<ScheduleChange>) -> Answer<'_, ()> {
        async move { self.order(|done| Order::Schedule(changes, done)).await?.await }.boxed()
    }
}
