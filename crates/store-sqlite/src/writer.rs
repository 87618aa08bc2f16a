//! The writer: takes everything that waits, from all Threads, and commits it together.
//!
//! Holds the only connection that writes. At most [`QUEUE`] writes wait; more owners wait for room. A write
//! that fails for a reason of its own is rolled back alone: the batch is tried again one by one. Between
//! batches it removes what deleted Threads left and indexes what is new, in small steps.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bobbin_model::{Seq, StandingAnswer, ThreadId};
use sqlx::pool::PoolConnection;
use sqlx::{Connection, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::index;
use crate::open::fold;
use crate::presence::Presence;
use crate::project;
use crate::project::json;
use bobbin_store::step::{Step, reached};
use bobbin_store::{StoreError, StoreStats, Write};

use crate::failure::{driver_error, store_error};

/// Writes that may wait. Each holds at most a few hundred events of one Thread.
pub(crate) const QUEUE: usize = 1024;
/// Writes in one transaction.
const BATCH: usize = 256;
/// Rows of a deleted Thread removed in one transaction.
const PURGE_ROWS: i64 = 500;
/// Indexed texts of a deleted Thread removed in one transaction: each takes as long as indexing it did.
const PURGE_TEXTS: i64 = 4;
/// How long nothing is written before the index is brought up: its transactions cost as much as any.
const QUIET: Duration = Duration::from_millis(50);
/// How long nothing is written before the log is folded into the database (a guess: a pause between two Turns).
const FOLD_AFTER: Duration = Duration::from_secs(2);
/// How long a writer with nothing to do sleeps.
const FAR: Duration = Duration::from_hours(1);
/// Batches after which a step of the index is not put off any longer, though writes wait.
const PATIENCE: u32 = 64;

/// Who waits for a write.
type Done = oneshot::Sender<Result<(), StoreError>>;

/// What the writer is to do, and who waits for it.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are writes")]
pub(crate) enum Order {
    /// Write what an owner has to write.
    Write(Write, Done),
    /// Remove these answers for ever, or all.
    Forget(Option<Vec<StandingAnswer>>, Done),
}

/// Figures the writer keeps.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    writes: AtomicU64,
    events: AtomicU64,
}

impl Counters {
    pub(crate) fn snapshot(&self, queued_writes: usize) -> StoreStats {
        StoreStats {
            queued_writes,
            commits: self.commits.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
        }
    }
}

pub(crate) struct Writer {
    pub(crate) pool: SqlitePool,
    /// Held from one write to the next; one on which something failed is closed, which undoes what it was at.
    pub(crate) connection: Option<PoolConnection<Sqlite>>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) counters: Arc<Counters>,
    /// The owner of each Thread whose last write failed: what it wrote behind that builds on what is not
    /// there. One entry per Thread in trouble, gone with the next owner's first write.
    pub(crate) failed: HashMap<ThreadId, u64>,
    /// The files that are open.
    pub(crate) presence: Presence,
    /// Cancelled when they are no longer at their path.
    pub(crate) removed: CancellationToken,
}

impl Writer {
    /// Runs until the queue is closed and empty.
    pub(crate) async fn run(mut self) {
        let mut taken: Vec<Order> = Vec::with_capacity(BATCH);
        let mut batch: Vec<(Write, Done)> = Vec::with_capacity(BATCH);
        let mut leftovers = true;
        let mut unindexed = true;
        let mut put_off = 0;
        let mut quiet = true;
        let mut unfolded = true;
        loop {
            let idle = self.orders.is_empty() && !self.orders.is_closed();
            if leftovers && idle {
                leftovers = self.purge().await;
                continue;
            }
            if unindexed && (idle && quiet || put_off >= PATIENCE) {
                unindexed = self.index().await;
                put_off = 0;
                continue;
            }
            let wait = match (unindexed, unfolded) {
                (true, _) => QUIET,
                (false, true) => FOLD_AFTER,
                (false, false) => FAR,
            };
            let Ok(count) = timeout(wait, self.orders.recv_many(&mut taken, BATCH)).await else {
                quiet = true;
                if !unindexed && unfolded {
                    unfolded = self.fold().await;
                }
                continue;
            };
            unfolded = true;
            if count == 0 {
                return;
            }
            quiet = false;
            for order in taken.drain(..) {
                match order {
                    Order::Write(write, done) => batch.push((write, done)),
                    Order::Forget(answers, done) => acknowledge(done, self.forget(answers.as_deref()).await),
                }
            }
            reached(Step::BatchTaken);
            leftovers |= batch.iter().any(|(write, _)| {
                write
                    .events
                    .iter()
                    .any(|stored| matches!(*stored.event, bobbin_model::Event::ThreadDeleted))
            });
            unindexed |= batch.iter().any(|(write, _)| index::concerns(&write.events));
            put_off = if unindexed { put_off + 1 } else { 0 };
            self.write(&mut batch).await;
            reached(Step::Acknowledged);
        }
    }

    async fn write(&mut self, batch: &mut Vec<(Write, Done)>) {
        let mut orders = Vec::with_capacity(batch.len());
        for order in batch.drain(..) {
            if self.builds_on_nothing(&order.0) {
                acknowledge(order.1, Err(StoreError::Closed));
            } else {
                orders.push(order);
            }
        }
        if self.removed.is_cancelled() {
            self.refuse(orders);
            return;
        }
        let writes: Vec<&Write> = orders.iter().map(|order| &order.0).collect();
        if writes.is_empty() {
            return;
        }
        if self.transaction(&writes).await.is_ok() {
            for (write, done) in orders {
                self.failed.remove(&write.thread);
                acknowledge(done, Ok(()));
            }
            return;
        }
        if self.removed.is_cancelled() {
            self.refuse(orders);
            return;
        }
        for (write, done) in orders {
            if self.builds_on_nothing(&write) {
                acknowledge(done, Err(StoreError::Closed));
                continue;
            }
            let outcome = self.transaction(&[&write]).await;
            if outcome.is_ok() {
                self.failed.remove(&write.thread);
            } else {
                self.failed.insert(write.thread.clone(), write.owner);
            }
            acknowledge(done, outcome.map_err(|error| named(error, &write)));
        }
    }

    /// Answers writes that no file is there for.
    fn refuse(&self, orders: Vec<(Write, Done)>) {
        for (_, done) in orders {
            acknowledge(done, Err(self.presence.removed()));
        }
    }

    /// Whether an earlier write of the same owner has failed: its writes build on each other.
    fn builds_on_nothing(&self, write: &Write) -> bool {
        self.failed.get(&write.thread) == Some(&write.owner)
    }

    async fn connection(&mut self) -> Result<PoolConnection<Sqlite>, sqlx::Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.pool.acquire().await,
        }
    }

    /// Holds the connection for the next use, unless this one failed.
    async fn hold<T, E>(
        &mut self,
        connection: PoolConnection<Sqlite>,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        if outcome.is_ok() {
            self.connection = Some(connection);
        } else {
            self.presence.forget_log();
            if let Err(error) = connection.close().await {
                tracing::debug!(%error, "a connection on which something failed was not closed well");
            }
        }
        outcome
    }

    async fn transaction(&mut self, writes: &[&Write]) -> Result<(), StoreError> {
        let mut connection = self.connection().await.map_err(store_error)?;
        let written = commit(&mut connection, writes, &mut self.presence).await;
        if let Err(StoreError::Removed(_)) = &written {
            self.removed.cancel();
        }
        self.hold(connection, written).await?;
        reached(Step::AfterCommit);
        let events = writes.iter().map(|write| write.events.len() as u64).sum();
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.counters
            .writes
            .fetch_add(writes.len() as u64, Ordering::Relaxed);
        self.counters.events.fetch_add(events, Ordering::Relaxed);
        Ok(())
    }

    /// Folds the log into the database. Returns whether some of it is left.
    async fn fold(&mut self) -> bool {
        if self.removed.is_cancelled() {
            return false;
        }
        let folded = async {
            let mut connection = self.connection().await?;
            let folded = fold(&mut connection).await;
            self.hold(connection, folded).await
        };
        match folded.await {
            Ok(folded) => !folded,
            Err(error) => {
                tracing::warn!(%error, "the log of the database stays for now");
                false
            }
        }
    }

    /// Removes these answers for ever, or all.
    async fn forget(&mut self, answers: Option<&[StandingAnswer]>) -> Result<(), StoreError> {
        if self.removed.is_cancelled() {
            return Err(self.presence.removed());
        }
        let mut connection = self.connection().await.map_err(store_error)?;
        let forgotten = forget(&mut connection, answers).await;
        self.hold(connection, forgotten).await.map_err(store_error)
    }

    /// Removes some of what deleted Threads left. Returns whether there is more.
    async fn purge(&mut self) -> bool {
        if self.removed.is_cancelled() {
            return false;
        }
        let purged = async {
            let mut connection = self.connection().await?;
            let purged = purge_some(&mut connection).await;
            self.hold(connection, purged).await
        };
        purged.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a deleted thread's rows stay for now");
            false
        })
    }

    /// Indexes some of what is new. Returns whether there is more.
    async fn index(&mut self) -> bool {
        if self.removed.is_cancelled() {
            return false;
        }
        let indexed = async {
            let mut connection = self.connection().await?;
            let indexed = index::step(&mut connection).await;
            self.hold(connection, indexed).await
        };
        indexed.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "what is new is not found by searches for now");
            false
        })
    }
}

/// Writes in one transaction. Its beginning and end are statements as the others: the driver's own each take a trip to the
/// connection's thread more, and one to say that the answer has come.
///
/// The files are looked up last: what a removed database took is rolled back, so that no reader finds it.
async fn commit(
    connection: &mut SqliteConnection,
    writes: &[&Write],
    presence: &mut Presence,
) -> Result<(), StoreError> {
    for (write, n) in writes.iter().zip(0..) {
        let script = project::script(write);
        let script = if n == 0 {
            script.in_new_transaction()
        } else {
            script
        };
        script.run(connection).await.map_err(store_error)?;
    }
    reached(Step::BeforeCommit);
    presence.check()?;
    sqlx::query("COMMIT")
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}

async fn forget(
    connection: &mut SqliteConnection,
    answers: Option<&[StandingAnswer]>,
) -> Result<(), sqlx::Error> {
    let Some(answers) = answers else {
        let all = sqlx::query("DELETE FROM approval_rule");
        return all.execute(connection).await.map(drop);
    };
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for answer in answers {
        sqlx::query("DELETE FROM approval_rule WHERE kind = ? AND operation = ? AND target = ?")
            .bind(json(&answer.kind))
            .bind(answer.recorded_operation())
            .bind(answer.target.clone())
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

async fn purge_some(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let found: Option<(String,)> =
        sqlx::query_as("SELECT thread_id FROM thread WHERE deleted_at IS NOT NULL LIMIT 1")
            .fetch_optional(&mut *connection)
            .await?;
    let Some((thread,)) = found else { return Ok(false) };
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    if index::remove(&mut transaction, &thread, PURGE_TEXTS).await? {
        reached(Step::BeforePurgeCommit);
        transaction.commit().await?;
        return Ok(true);
    }
    let events = sqlx::query(
        "DELETE FROM event WHERE thread_id = ?1 AND seq IN \
         (SELECT seq FROM event WHERE thread_id = ?1 ORDER BY seq LIMIT ?2)",
    )
    .bind(thread.clone())
    .bind(PURGE_ROWS)
    .execute(&mut *transaction)
    .await?;
    if events.rows_affected() == 0 {
        for statement in [
            "DELETE FROM item WHERE thread_id = ?",
            "DELETE FROM item_text WHERE thread_id = ?",
            "DELETE FROM turn WHERE thread_id = ?",
            "DELETE FROM approval WHERE thread_id = ?",
            "DELETE FROM call_started WHERE thread_id = ?",
            "DELETE FROM thread WHERE thread_id = ?",
        ] {
            sqlx::query(statement)
                .bind(thread.clone())
                .execute(&mut *transaction)
                .await?;
        }
    }
    reached(Step::BeforePurgeCommit);
    transaction.commit().await?;
    Ok(true)
}

fn acknowledge(done: Done, outcome: Result<(), StoreError>) {
    // An owner that no longer waits has failed and will load what is on disk.
    drop(done.send(outcome));
}

/// Says which event stood in the way of a write that repeats a number.
fn named(error: StoreError, write: &Write) -> StoreError {
    let database = driver_error(&error).and_then(sqlx::Error::as_database_error);
    if !database.is_some_and(sqlx::error::DatabaseError::is_unique_violation) {
        return error;
    }
    StoreError::Conflict {
        thread: write.thread.clone(),
        seq: write.events.first().map_or(Seq(0), |stored| stored.seq),
    }
}
