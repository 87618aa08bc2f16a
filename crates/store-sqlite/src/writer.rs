//! The writer: takes all waiting writes of all Threads, and commits them together.
//!
//! It has the only writing connection. At most [`QUEUE`] writes wait; more owners wait for room. If a batch fails,
//! its writes are tried again one by one, so only a faulty write is rolled back. Between batches the writer removes
//! rows of deleted Threads and indexes new text, in small steps.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Seq, StandingAnswer, ThreadId};
use sqlx::pool::PoolConnection;
use sqlx::{Connection, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::audit;
use crate::index;
use crate::open::fold;
use crate::presence::Presence;
use crate::project;
use crate::schedule;
use crate::script::Script;
use bobbin_store::json;
use bobbin_store::step::{Step, reached};
use bobbin_store::{AuditEntry, AuditHead, ScheduleChange, StoreError, Write};
use bobbin_store_sql::{SearchText, WriterStats};

use crate::failure::{driver_error, store_error};

/// Most waiting writes. Each has at most a few hundred events of one Thread.
pub(crate) const QUEUE: usize = 1024;
/// Writes in one transaction.
const BATCH: usize = 256;
/// Rows of a deleted Thread removed in one transaction.
const PURGE_ROWS: i64 = 500;
/// Indexed texts of a deleted Thread removed in one transaction: removing takes as long as indexing.
const PURGE_TEXTS: i64 = 4;
/// Pause without writes before the index is updated: its transactions cost as much as any other.
const QUIET: Duration = Duration::from_millis(50);
/// Pause without writes before the log is folded into the database (a guess: a pause between two Turns).
const FOLD_AFTER: Duration = Duration::from_secs(2);
/// How long a writer with nothing to do sleeps.
const FAR: Duration = Duration::from_hours(1);
/// Batches after which one index step runs even if writes wait.
const PATIENCE: u32 = 64;

/// The sender that completes a write's receipt.
type Done = oneshot::Sender<Result<(), StoreError>>;

/// An order to the writer, with the sender of its result.
#[expect(clippy::large_enum_variant, reason = "nearly all orders are writes")]
pub(crate) enum Order {
    /// A write of an owner.
    Write(Write, Done),
    /// Remove these answers for ever, or all.
    Forget(Option<Vec<StandingAnswer>>, Done),
    /// Change entries of the schedule.
    Schedule(Vec<ScheduleChange>, Done),
    /// Add entries to the audit, and remove those up to a number.
    Audit(Vec<AuditEntry>, Option<u64>, Done),
}

pub(crate) struct Writer {
    pub(crate) pool: SqlitePool,
    /// The connection, kept between writes. After an error it is closed, which rolls back its transaction.
    pub(crate) connection: Option<PoolConnection<Sqlite>>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) stats: Arc<WriterStats>,
    /// For each Thread whose last write failed, the owner of that write. Its later writes depend on the missing one
    /// and fail too. The first write of the next owner removes the entry.
    pub(crate) failed: HashMap<ThreadId, u64>,
    /// The newest row of the audit, once it was read.
    pub(crate) audit: Option<AuditHead>,
    /// The identities of the open files.
    pub(crate) presence: Presence,
    /// Cancelled when the files are no longer at their path.
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
            let wait = match (unindexed, unfolded || self.stats.is_stuck()) {
                (true, _) => QUIET,
                (false, true) => FOLD_AFTER,
                (false, false) => FAR,
            };
            let Ok(count) = timeout(wait, self.orders.recv_many(&mut taken, BATCH)).await else {
                quiet = true;
                if self.stats.is_stuck() {
                    self.attempt().await;
                }
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
                    Order::Schedule(changes, done) => acknowledge(done, self.schedule(&changes).await),
                    Order::Audit(entries, cut, done) => acknowledge(done, self.record(&entries, cut).await),
                }
            }
            reached(Step::BatchTaken);
            leftovers |= batch.iter().any(|(write, _)| {
                write
                    .events
                    .iter()
                    .any(|stored| matches!(*stored.event, bobbin_model::Event::ThreadDeleted))
            });
            unindexed |= batch.iter().any(|(write, _)| SearchText::is_in(&write.events));
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

    /// Fails writes because the files are gone.
    fn refuse(&self, orders: Vec<(Write, Done)>) {
        for (_, done) in orders {
            acknowledge(done, Err(self.presence.removed()));
        }
    }

    /// Whether an earlier write of the same owner has failed; its later writes depend on that write.
    fn builds_on_nothing(&self, write: &Write) -> bool {
        self.failed.get(&write.thread) == Some(&write.owner)
    }

    async fn connection(&mut self) -> Result<PoolConnection<Sqlite>, sqlx::Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.pool.acquire().await,
        }
    }

    /// Keeps the connection for the next use, unless this use failed.
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
        let mut head = self.audit.take();
        let written = commit(&mut connection, writes, &mut self.presence, &mut head).await;
        // After a failure, what is stored counts.
        self.audit = head.filter(|_| written.is_ok());
        if let Err(StoreError::Removed(_)) = &written {
            self.removed.cancel();
        }
        self.stats.note_attempt(&written);
        self.hold(connection, written).await?;
        reached(Step::AfterCommit);
        self.stats.note_commit(writes);
        Ok(())
    }

    /// Finds out whether the disk takes something again, by a write that changes nothing. Without it a server to which a
    /// balancer sends no clients would never be ready again.
    async fn attempt(&mut self) {
        if self.removed.is_cancelled() {
            return;
        }
        let Ok(mut connection) = self.connection().await else {
            return;
        };
        let written = attempt(&mut connection).await.map_err(store_error);
        self.stats.note_attempt(&written);
        drop(self.hold(connection, written).await);
    }

    /// Folds the log into the database. Returns whether some of the log is left.
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

    /// Changes entries of the schedule.
    async fn schedule(&mut self, changes: &[ScheduleChange]) -> Result<(), StoreError> {
        if self.removed.is_cancelled() {
            return Err(self.presence.removed());
        }
        let mut connection = self.connection().await.map_err(store_error)?;
        let changed = schedule::change(&mut connection, changes).await;
        self.hold(connection, changed).await.map_err(store_error)
    }

    /// Adds entries to the audit, and removes those up to a number.
    async fn record(&mut self, entries: &[AuditEntry], cut: Option<u64>) -> Result<(), StoreError> {
        if self.removed.is_cancelled() {
            return Err(self.presence.removed());
        }
        let mut connection = self.connection().await.map_err(store_error)?;
        let mut head = self.audit.take();
        let recorded = record(&mut connection, &mut head, entries, cut).await;
        self.audit = head.filter(|_| recorded.is_ok());
        self.hold(connection, recorded).await
    }

    /// Removes some rows of deleted Threads. Returns whether there are more.
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

    /// Indexes some new text. Returns whether there is more.
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

/// Writes in one transaction. Its begin and commit are ordinary statements: the driver's own functions would each
/// add a trip to the connection's thread.
///
/// The files are checked last: if the database was removed, the transaction is rolled back, so that no reader sees
/// its data.
async fn commit(
    connection: &mut SqliteConnection,
    writes: &[&Write],
    presence: &mut Presence,
    head: &mut Option<AuditHead>,
) -> Result<(), StoreError> {
    for (write, n) in writes.iter().zip(0..) {
        let mut script = project::script(write);
        if !write.audit.is_empty() {
            add_entries(connection, &mut script, head, &write.audit).await?;
        }
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

/// Adds entries behind the newest row of the audit, which is read if it is not known.
async fn add_entries(
    connection: &mut SqliteConnection,
    script: &mut Script,
    head: &mut Option<AuditHead>,
    entries: &[AuditEntry],
) -> Result<(), StoreError> {
    let newest = match head {
        Some(newest) => newest,
        None => head.insert(audit::head(connection).await.map_err(store_error)?),
    };
    for entry in entries {
        let row = newest
            .next(entry)
            .map_err(|error| store_error(sqlx::Error::Encode(error.into())))?;
        audit::insert(script, row);
    }
    Ok(())
}

async fn record(
    connection: &mut SqliteConnection,
    head: &mut Option<AuditHead>,
    entries: &[AuditEntry],
    cut: Option<u64>,
) -> Result<(), StoreError> {
    let mut script = Script::default();
    add_entries(connection, &mut script, head, entries).await?;
    if let Some(up_to) = cut {
        audit::cut(&mut script, up_to);
    }
    let script = script.in_new_transaction();
    script.run(connection).await.map_err(store_error)?;
    let committed = sqlx::query("COMMIT").execute(connection).await;
    committed.map(drop).map_err(store_error)
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

/// Writes a page of the database as it is.
async fn attempt(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let version: i64 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut *connection)
        .await?;
    // The pragma takes no parameter; a number needs no quotes.
    let same = sqlx::AssertSqlSafe(format!("PRAGMA user_version = {version}"));
    sqlx::query(same).execute(&mut *connection).await?;
    Ok(())
}

fn acknowledge(done: Done, outcome: Result<(), StoreError>) {
    // The owner has failed if it no longer waits; it will load the stored state.
    drop(done.send(outcome));
}

/// Names the conflicting event in the error of a write that repeats a Seq.
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
