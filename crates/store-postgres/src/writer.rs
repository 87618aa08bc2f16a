//! The writer: takes all waiting writes of all Threads of the workspace, and commits them together.
//!
//! It writes on one connection, in the order of the submissions. At most [`QUEUE`] writes wait; more owners wait for
//! room. If a write is at fault, the writes of its batch are tried again one by one, so only the faulty one is rolled
//! back. Between batches the writer removes rows of deleted Threads and indexes new text, in small steps.
//!
//! A connection can be lost. A transaction whose commit was not sent runs once more on another connection. A
//! transaction whose commit was sent and not answered is looked up: PostgreSQL remembers how transactions ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Event, Seq, StandingAnswer, ThreadId};
use bobbin_store::step::{Step, reached};
use bobbin_store::{AuditEntry, AuditHead, ScheduleChange, StoreError, Write, json};
use bobbin_store_sql::{SearchText, WriterStats};
use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::failure::{Failure, is_conflict, store_error};
use crate::lease::Term;
use crate::postgres::GIVE_UP;
use crate::project::Batch;
use crate::{audit, index, schedule};

/// Most waiting writes. Each has at most a few hundred events of one Thread.
pub(crate) const QUEUE: usize = 1024;
/// Writes in one transaction.
const BATCH: usize = 256;
/// Rows of a deleted Thread removed in one transaction.
const PURGE_ROWS: i64 = 500;
/// Pause without writes before the index is updated: its transactions cost as much as any other.
const QUIET: Duration = Duration::from_millis(50);
/// Pause between two attempts to write to a database that took nothing.
const ATTEMPTS: Duration = Duration::from_secs(2);
/// How long a writer with nothing to do sleeps.
const FAR: Duration = Duration::from_hours(1);
/// Batches after which one index step runs even if writes wait.
const PATIENCE: u32 = 64;
/// How often a transaction that is still being committed is looked up, and the pause before each look.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// Pause between two attempts to connect.
const CONNECT_PAUSE: Duration = Duration::from_millis(100);

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
    pub(crate) pool: PgPool,
    pub(crate) term: Term,
    /// Asks whether the process is still the holder, after a transaction was refused.
    pub(crate) doubt: Arc<Notify>,
    /// How long to wait for a connection.
    pub(crate) patience: Duration,
    /// The connection, which stays open between writes. After an error it is closed, which rolls back its transaction.
    pub(crate) connection: Option<PoolConnection<Postgres>>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) stats: Arc<WriterStats>,
    /// For each Thread whose last write failed, the owner of that write. Its later writes depend on the missing one
    /// and fail too. The first write of the next owner removes the entry.
    pub(crate) failed: HashMap<ThreadId, u64>,
    /// The newest row of the audit, once it was read.
    pub(crate) audit: Option<AuditHead>,
}

/// A transaction that failed.
struct Failed {
    error: StoreError,
    /// The transaction's number, if its commit was sent.
    committing: Option<String>,
}

impl Failed {
    /// Whether the connection or the database was lost.
    fn is_lost(&self) -> bool {
        matches!(self.error, StoreError::Unreachable(_))
    }
}

/// How a transaction has ended.
enum Fate {
    Committed,
    RolledBack,
    Unknown,
}

/// A small transaction.
#[derive(Clone, Copy)]
enum Work<'a> {
    Forget(Option<&'a [StandingAnswer]>),
    Schedule(&'a [ScheduleChange]),
    Audit(&'a [AuditEntry], Option<u64>),
    Purge,
    Index,
    /// Nothing: whether the database takes writes.
    Attempt,
}

impl Writer {
    /// Runs until the queue is closed and empty.
    pub(crate) async fn run(mut self) {
        let mut taken: Vec<Order> = Vec::with_capacity(BATCH);
        let mut batch: Vec<(Write, Done)> = Vec::with_capacity(BATCH);
        let (mut leftovers, mut unindexed, mut quiet) = (true, true, true);
        let mut put_off = 0;
        loop {
            let idle = self.orders.is_empty() && !self.orders.is_closed();
            if leftovers && idle {
                leftovers = self.tidy(Work::Purge).await;
                continue;
            }
            if unindexed && (idle && quiet || put_off >= PATIENCE) {
                unindexed = self.tidy(Work::Index).await;
                put_off = 0;
                continue;
            }
            let wait = match (unindexed, self.stats.is_stuck()) {
                (true, _) => QUIET,
                (false, true) => ATTEMPTS,
                (false, false) => FAR,
            };
            let Ok(count) = timeout(wait, self.orders.recv_many(&mut taken, BATCH)).await else {
                quiet = true;
                if self.stats.is_stuck() && self.work(Work::Attempt).await.is_ok() {
                    // What was left when the database went away.
                    (leftovers, unindexed) = (true, true);
                }
                continue;
            };
            if count == 0 {
                return;
            }
            quiet = false;
            for order in taken.drain(..) {
                match order {
                    Order::Write(write, done) => batch.push((write, done)),
                    Order::Forget(answers, done) => {
                        let forgotten = self.work(Work::Forget(answers.as_deref())).await;
                        acknowledge(done, forgotten.map(drop));
                    }
                    Order::Schedule(changes, done) => {
                        let changed = self.work(Work::Schedule(&changes)).await;
                        acknowledge(done, changed.map(drop));
                    }
                    Order::Audit(entries, cut, done) => {
                        let recorded = self.work(Work::Audit(&entries, cut)).await;
                        acknowledge(done, recorded.map(drop));
                    }
                }
            }
            reached(Step::BatchTaken);
            leftovers |= batch.iter().any(|(write, _)| {
                write
                    .events
                    .iter()
                    .any(|stored| matches!(*stored.event, Event::ThreadDeleted))
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
        let writes: Vec<&Write> = orders.iter().map(|order| &order.0).collect();
        if writes.is_empty() {
            return;
        }
        let together = self.transaction(&writes).await;
        let is_fault = matches!(together, Err(StoreError::Database(_)));
        for (write, done) in orders {
            if self.builds_on_nothing(&write) {
                acknowledge(done, Err(StoreError::Closed));
                continue;
            }
            let outcome = if is_fault {
                // One of them is at fault; the others are stored.
                self.transaction(&[&write]).await
            } else {
                together.clone()
            };
            if outcome.is_ok() {
                self.failed.remove(&write.thread);
            } else {
                self.failed.insert(write.thread.clone(), write.owner);
            }
            acknowledge(done, outcome.map_err(|error| named(error, &write)));
        }
    }

    /// Whether an earlier write of the same owner has failed; its later writes depend on that write.
    fn builds_on_nothing(&self, write: &Write) -> bool {
        self.failed.get(&write.thread) == Some(&write.owner)
    }

    /// Writes in one transaction, on another connection if the first one is lost.
    async fn transaction(&mut self, writes: &[&Write]) -> Result<(), StoreError> {
        let mut written = self.commit(writes).await;
        if let Err(failed) = &written
            && failed.is_lost()
        {
            written = match self.fate(failed).await {
                Fate::Committed => Ok(()),
                Fate::RolledBack => self.commit(writes).await,
                Fate::Unknown => written,
            };
        }
        let written = written.map_err(|failed| failed.error);
        self.stats.note_attempt(&written);
        written?;
        reached(Step::AfterCommit);
        self.stats.note_commit(writes);
        Ok(())
    }

    async fn commit(&mut self, writes: &[&Write]) -> Result<(), Failed> {
        let term = self.term.clone();
        let batch = Batch::of(&term, writes);
        let entries: Vec<&AuditEntry> = writes.iter().flat_map(|write| &write.audit).collect();
        let mut head = self.audit.take();
        let done = self
            .in_transaction(async |connection: &mut PgConnection| {
                batch.run(connection).await?;
                audit::append(connection, &term.workspace, &mut head, &entries).await?;
                reached(Step::BeforeCommit);
                Ok(())
            })
            .await;
        // After a failure, what is stored counts.
        self.audit = head.filter(|_| done.is_ok());
        done
    }

    /// Carries out a small transaction, on another connection if the first one is lost: each of them may be repeated.
    /// Returns whether it found something to do.
    async fn work(&mut self, work: Work<'_>) -> Result<bool, StoreError> {
        let mut done = self.try_work(work).await;
        if matches!(&done, Err(failed) if failed.is_lost()) {
            done = self.try_work(work).await;
        }
        let done = done.map_err(|failed| failed.error);
        self.stats.note_attempt(&done);
        done
    }

    async fn try_work(&mut self, work: Work<'_>) -> Result<bool, Failed> {
        let workspace = self.term.workspace.clone();
        let mut head = self.audit.take();
        let done = self.in_transaction(async |connection: &mut PgConnection| match work {
            Work::Forget(answers) => {
                forget(connection, &workspace, answers).await?;
                Ok(true)
            }
            Work::Schedule(changes) => {
                schedule::change(connection, &workspace, changes).await?;
                Ok(true)
            }
            Work::Audit(entries, cut) => {
                audit::append(
                    connection,
                    &workspace,
                    &mut head,
                    &entries.iter().collect::<Vec<_>>(),
                )
                .await?;
                if let Some(up_to) = cut {
                    audit::cut(connection, &workspace, up_to).await?;
                }
                Ok(true)
            }
            Work::Purge => Ok(purge_some(connection, &workspace).await?),
            Work::Index => index::step(connection, &workspace).await,
            Work::Attempt => Ok(true),
        });
        let done = done.await;
        // After a failure, what is stored counts.
        self.audit = head.filter(|_| done.is_ok());
        done
    }

    /// Removes or indexes some rows. Returns whether there are more.
    async fn tidy(&mut self, work: Work<'_>) -> bool {
        self.work(work).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "rows of deleted threads stay, and new text is not found by searches, for now");
            false
        })
    }

    /// Runs a transaction. The connection stays for the next one, unless this one fails.
    async fn in_transaction<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Failure>,
    ) -> Result<T, Failed> {
        let before = |error| Failed {
            error,
            committing: None,
        };
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await.map_err(before)?,
        };
        let mut committing = None;
        let done = timeout(GIVE_UP, async {
            let number = self.term.start(&mut connection).await?;
            let done = work(&mut connection).await?;
            committing = Some(number);
            sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
            Ok::<_, Failure>(done)
        });
        let error = match done.await {
            Ok(Ok(done)) => {
                self.connection = Some(connection);
                return Ok(done);
            }
            Ok(Err(failure)) => failure.into(),
            Err(_) => StoreError::Unreachable("it does not answer".to_owned()),
        };
        if matches!(error, StoreError::NotHeld) {
            self.doubt.notify_one();
        }
        // Closed without a farewell, which a lost connection would not take.
        drop(connection.detach());
        Err(Failed { error, committing })
    }

    /// Returns a connection. Waits for a database that starts, unless it has been away for longer already.
    async fn connect(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        let start = Instant::now();
        loop {
            let error = match self.pool.acquire().await {
                Ok(connection) => return Ok(connection),
                Err(error) => store_error(error),
            };
            let is_away = matches!(error, StoreError::Unreachable(_));
            if !is_away || self.stats.is_stuck() || start.elapsed() >= self.patience {
                return Err(error);
            }
            sleep(CONNECT_PAUSE).await;
        }
    }

    /// Finds out how a transaction on a lost connection has ended.
    async fn fate(&self, failed: &Failed) -> Fate {
        let Some(number) = &failed.committing else {
            return Fate::RolledBack;
        };
        let Ok(mut connection) = self.connect().await else {
            return Fate::Unknown;
        };
        for _ in 0..LOOKS {
            let status: Result<Option<String>, _> =
                sqlx::query_scalar("SELECT pg_xact_status($1::text::xid8)")
                    .bind(number)
                    .fetch_one(&mut *connection)
                    .await;
            match status.as_ref().map(Option::as_deref) {
                Ok(Some("committed")) => return Fate::Committed,
                Ok(Some("aborted")) => return Fate::RolledBack,
                Ok(Some(_)) => sleep(LOOK_PAUSE).await,
                Ok(None) | Err(_) => return Fate::Unknown,
            }
        }
        Fate::Unknown
    }
}

async fn forget(
    connection: &mut PgConnection,
    workspace: &str,
    answers: Option<&[StandingAnswer]>,
) -> Result<(), sqlx::Error> {
    let Some(answers) = answers else {
        let all = sqlx::query("DELETE FROM approval_rule WHERE workspace = $1").bind(workspace);
        return all.execute(connection).await.map(drop);
    };
    for answer in answers {
        sqlx::query(
            "DELETE FROM approval_rule WHERE workspace = $1 AND kind = $2 AND sha256(operation) = sha256($3) \
             AND sha256(target) = sha256($4)",
        )
        .bind(workspace)
        .bind(json(&answer.kind))
        .bind(answer.recorded_operation().into_bytes())
        .bind(answer.target.as_bytes())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

async fn purge_some(connection: &mut PgConnection, workspace: &str) -> Result<bool, sqlx::Error> {
    let found: Option<(String,)> = sqlx::query_as(
        "SELECT thread_id FROM thread WHERE workspace = $1 AND deleted_at IS NOT NULL LIMIT 1",
    )
    .bind(workspace)
    .fetch_optional(&mut *connection)
    .await?;
    let Some((thread,)) = found else { return Ok(false) };
    if index::remove(connection, workspace, &thread, PURGE_ROWS).await? {
        reached(Step::BeforePurgeCommit);
        return Ok(true);
    }
    let events = sqlx::query(
        "DELETE FROM event WHERE workspace = $1 AND thread_id = $2 AND seq IN \
         (SELECT seq FROM event WHERE workspace = $1 AND thread_id = $2 ORDER BY seq LIMIT $3)",
    )
    .bind(workspace)
    .bind(&thread)
    .bind(PURGE_ROWS)
    .execute(&mut *connection)
    .await?;
    if events.rows_affected() == 0 {
        for statement in [
            "DELETE FROM item WHERE workspace = $1 AND thread_id = $2",
            "DELETE FROM item_text WHERE workspace = $1 AND thread_id = $2",
            "DELETE FROM turn WHERE workspace = $1 AND thread_id = $2",
            "DELETE FROM turn_use WHERE workspace = $1 AND thread_id = $2",
            "DELETE FROM approval WHERE workspace = $1 AND thread_id = $2",
            "DELETE FROM call_started WHERE workspace = $1 AND thread_id = $2",
            "DELETE FROM thread WHERE workspace = $1 AND thread_id = $2",
        ] {
            sqlx::query(statement)
                .bind(workspace)
                .bind(&thread)
                .execute(&mut *connection)
                .await?;
        }
    }
    reached(Step::BeforePurgeCommit);
    Ok(true)
}

fn acknowledge(done: Done, outcome: Result<(), StoreError>) {
    // The owner has failed if it no longer waits; it will load the stored state.
    drop(done.send(outcome));
}

/// Names the conflicting event in the error of a write that repeats a Seq.
fn named(error: StoreError, write: &Write) -> StoreError {
    if !is_conflict(&error) {
        return error;
    }
    StoreError::Conflict {
        thread: write.thread.clone(),
        seq: write.events.first().map_or(Seq(0), |stored| stored.seq),
    }
}
