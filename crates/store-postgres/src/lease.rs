//! The lease of a workspace: one server at a time may write to it.
//!
//! A server takes the lease before anything else, with a fence that is higher than all before. Each of its transactions
//! first locks the lease's row in the mode that excludes another holder until the commit, and finds no row once the fence
//! is another or the time is over. So what an earlier holder writes later is refused by the database, however late it is
//! and whatever its clock says. All times in the row are the database's.
//!
//! A lease that was not renewed in time belongs to nobody. As long as no other server takes it, its last holder can renew
//! it and go on: nothing has changed meanwhile.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bobbin_store::{Holding, StoreError};
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Row as _};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::failure::Failure;

/// How often a holder looks at the clock, in a lease.
const LOOKS: u32 = 30;
/// How often a holder renews its lease, in a lease.
const RENEWALS: u32 = 3;
/// Attempts to renew, one after another, in a lease.
const ATTEMPTS: u32 = 6;

/// A taker of leases: the servers of one state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The id of the state directory. Two servers of a machine with the same one never run at the same time.
    pub id: String,
    /// Name of the machine, as messages show it.
    pub machine: String,
}

/// A lease that was taken: what each transaction of its holder checks.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub(crate) workspace: Arc<str>,
    pub(crate) fence: i64,
}

/// Why the lease was not taken: another server has it.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Whether its state directory has the same id as this one: one of them is a copy.
    pub(crate) is_copy: bool,
    /// The name of its machine.
    pub(crate) machine: String,
    /// The seconds after which it is free, unless its holder renews it.
    pub(crate) seconds: f64,
}

/// Takes the lease if it is free, or was already this holder's.
pub(crate) async fn take(
    connection: &mut PgConnection,
    workspace: &Arc<str>,
    holder: &Holder,
    length: Duration,
) -> Result<Result<Term, Taken>, sqlx::Error> {
    let fence: Option<i64> = sqlx::query_scalar(
        "INSERT INTO lease AS present (workspace, holder, machine, fence, expires_at) \
         VALUES ($1, $2, $3, 1, clock_timestamp() + $4 * interval '1 millisecond') \
         ON CONFLICT (workspace) DO UPDATE SET holder = excluded.holder, machine = excluded.machine, \
         fence = present.fence + 1, expires_at = clock_timestamp() + $4 * interval '1 millisecond' \
         WHERE present.expires_at <= clock_timestamp() \
         OR present.holder = excluded.holder AND present.machine = excluded.machine RETURNING fence",
    )
    .bind(&**workspace)
    .bind(&holder.id)
    .bind(&holder.machine)
    .bind(milliseconds(length))
    .fetch_optional(&mut *connection)
    .await?;
    if let Some(fence) = fence {
        return Ok(Ok(Term {
            workspace: workspace.clone(),
            fence,
        }));
    }
    let (machine, seconds, is_copy) = sqlx::query_as(
        "SELECT machine, extract(epoch FROM greatest(expires_at - clock_timestamp(), interval '0'))::double precision, \
         holder = $2 FROM lease WHERE workspace = $1",
    )
    .bind(&**workspace)
    .bind(&holder.id)
    .fetch_one(connection)
    .await?;
    Ok(Err(Taken {
        is_copy,
        machine,
        seconds,
    }))
}

impl Term {
    /// Starts a transaction of the holder and returns the transaction's number. Until its end, nobody else can take the
    /// lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`]; the database's.
    pub(crate) async fn start(&self, connection: &mut PgConnection) -> Result<String, Failure> {
        // One trip: both statements are sent together, and such statements take no parameters.
        let statements = format!(
            "BEGIN; SELECT pg_current_xact_id()::text FROM lease WHERE workspace = {} AND fence = {} \
             AND expires_at > clock_timestamp() FOR SHARE",
            quoted(&self.workspace),
            self.fence
        );
        let row = sqlx::raw_sql(sqlx::AssertSqlSafe(statements))
            .fetch_optional(connection)
            .await?;
        let row = row.ok_or(StoreError::NotHeld)?;
        Ok(row.try_get(0)?)
    }

    /// Renews the lease, also one whose time is over. Returns whether the process is still the holder.
    async fn renew(&self, connection: &mut PgConnection, length: Duration) -> Result<bool, sqlx::Error> {
        let renewed = sqlx::query(
            "UPDATE lease SET expires_at = clock_timestamp() + $3 * interval '1 millisecond' \
             WHERE workspace = $1 AND fence = $2",
        );
        let renewed = renewed
            .bind(&*self.workspace)
            .bind(self.fence)
            .bind(milliseconds(length));
        Ok(renewed.execute(connection).await?.rows_affected() > 0)
    }

    /// Gives the lease up, so that another server need not wait.
    async fn give_up(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE lease SET holder = '', expires_at = clock_timestamp() WHERE workspace = $1 AND fence = $2")
            .bind(&*self.workspace)
            .bind(self.fence)
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Renews a lease until it is lost, or its store is closed.
pub(crate) struct Keeper {
    pub(crate) access: Access,
    pub(crate) term: Term,
    pub(crate) length: Duration,
    pub(crate) states: watch::Sender<Holding>,
    /// Asks for a renewal at once: a transaction was refused.
    pub(crate) doubt: Arc<Notify>,
    pub(crate) closing: CancellationToken,
    /// A connection of its own, so that neither reads nor writes delay a renewal.
    pub(crate) connection: Option<PgConnection>,
}

/// When the lease was last renewed, by both clocks: one of them stands still while a machine sleeps, and the other one may be
/// set.
#[derive(Debug, Clone, Copy)]
struct Renewed(Instant, SystemTime);

#[expect(
    clippy::disallowed_methods,
    reason = "how far the clock has moved counts, and not what it shows"
)]
impl Renewed {
    fn now() -> Self {
        Self::at(Instant::now())
    }

    fn at(time: Instant) -> Self {
        Self(time, SystemTime::now())
    }

    fn age(self) -> Duration {
        let by_clock = SystemTime::now().duration_since(self.1).unwrap_or_default();
        self.0.elapsed().max(by_clock)
    }
}

impl Keeper {
    /// Runs until the lease is lost, or the store is closed. Then it gives the lease up. `taken` is the time before it was
    /// taken.
    pub(crate) async fn run(mut self, taken: Instant) {
        let mut renewed = Renewed::at(taken);
        loop {
            let asked = tokio::select! {
                () = self.closing.cancelled() => break,
                () = self.doubt.notified() => true,
                () = sleep(self.length / LOOKS) => false,
            };
            if !asked && renewed.age() < self.length / RENEWALS {
                continue;
            }
            let before = Renewed::now();
            match self.renew().await {
                Some(true) => {
                    renewed = before;
                    self.states.send_replace(Holding::Until(before.0 + self.length));
                }
                Some(false) => {
                    tracing::error!("another machine serves this workspace now");
                    self.states.send_replace(Holding::Lost);
                    return;
                }
                None if renewed.age() >= self.length * 2 / RENEWALS => {
                    self.states.send_if_modified(|state| {
                        let is_new = !matches!(state, Holding::Unsure);
                        *state = Holding::Unsure;
                        is_new
                    });
                }
                None => {}
            }
        }
        let term = self.term.clone();
        let given_up = self.with_connection(async |connection| term.give_up(connection).await);
        if given_up.await.is_none() {
            tracing::warn!("the lease was not given up: it ends by itself");
        }
    }

    /// Renews the lease. Returns whether the process is still the holder; `None` if the database has not said.
    async fn renew(&mut self) -> Option<bool> {
        let (term, length) = (self.term.clone(), self.length);
        self.with_connection(async |connection| term.renew(connection, length).await)
            .await
    }

    /// Asks the database, if it answers in time.
    async fn with_connection<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Option<T> {
        let asked = async {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.access.options().connect().await?,
            };
            let answer = ask(&mut connection).await?;
            self.connection = Some(connection);
            Ok::<_, sqlx::Error>(answer)
        };
        let why = match timeout(self.length / ATTEMPTS, asked).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        tracing::debug!(why, "the database has not said whether the lease is still ours");
        None
    }
}

fn milliseconds(length: Duration) -> f64 {
    length.as_secs_f64() * 1000.0
}

/// Returns a text as a literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use bobbin_testkit::Postgres;

    use super::*;

    /// Rows that a holder writes at most: long after the other one has come.
    const ROWS: u64 = 20;

    /// Commits rows with their fence until another has the lease. Returns how many were committed.
    async fn write_until_stolen(connection: &mut PgConnection, term: &Term) -> u64 {
        let mut written = 0;
        while written < ROWS {
            match term.start(connection).await {
                Ok(_) => {}
                Err(Failure::Store(StoreError::NotHeld)) => break,
                Err(error) => panic!("{error}"),
            }
            sqlx::query("INSERT INTO written (fence) VALUES ($1)")
                .bind(term.fence)
                .execute(&mut *connection)
                .await
                .unwrap();
            sqlx::raw_sql("COMMIT").execute(&mut *connection).await.unwrap();
            written += 1;
        }
        // Of the transaction that was refused, if there was one.
        sqlx::raw_sql("ROLLBACK").execute(connection).await.unwrap();
        written
    }

    /// Takes the lease, and counts in the same transaction what was committed under the fence before.
    async fn steal(connection: &mut PgConnection, holder: &Holder) -> Term {
        let workspace: Arc<str> = "it's".into();
        sqlx::raw_sql("BEGIN").execute(&mut *connection).await.unwrap();
        let taken = take(connection, &workspace, holder, Duration::from_mins(1)).await;
        let term = taken.unwrap().unwrap();
        sqlx::query("INSERT INTO stolen (fence, written) SELECT $1, count(*) FROM written WHERE fence = $1")
            .bind(term.fence - 1)
            .execute(&mut *connection)
            .await
            .unwrap();
        sqlx::raw_sql("COMMIT").execute(connection).await.unwrap();
        term
    }

    async fn steals(rounds: u32) {
        let Some(server) = Postgres::shared() else {
            println!("!! not tested: PostgreSQL is not installed in /usr/lib/postgresql");
            return;
        };
        let access = Access::parse(&server.database("steals"), None).unwrap();
        let mut main = access.options().connect().await.unwrap();
        let tables = concat!(
            include_str!("../../../migrations/postgres/0001_first.sql"),
            include_str!("../../../migrations/postgres/0003_lease.sql"),
            "CREATE TABLE written (fence bigint NOT NULL); CREATE INDEX ON written (fence);",
            "CREATE TABLE stolen (fence bigint PRIMARY KEY, written bigint NOT NULL);",
        );
        sqlx::raw_sql(tables).execute(&mut main).await.unwrap();
        // Both are of one machine, so each takes the lease from the other at once.
        let holder = Holder {
            id: "a".to_owned(),
            machine: "a".to_owned(),
        };
        let contend = |access: Access| {
            let holder = holder.clone();
            async move {
                let mut connection = access.options().connect().await.unwrap();
                let mut written = 0;
                for _ in 0..rounds / 2 {
                    let term = steal(&mut connection, &holder).await;
                    written += write_until_stolen(&mut connection, &term).await;
                }
                written
            }
        };
        let (one, other) = (
            tokio::spawn(contend(access.clone())),
            tokio::spawn(contend(access)),
        );
        let written = one.await.unwrap() + other.await.unwrap();
        let late: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM stolen WHERE written <> (SELECT count(*) FROM written WHERE written.fence = stolen.fence)",
        )
        .fetch_one(&mut main)
        .await
        .unwrap();
        assert_eq!(late, 0, "fences with rows that were committed after the steal");
        let (all, fences): (i64, i64) =
            sqlx::query_as("SELECT (SELECT count(*) FROM written), (SELECT max(fence) FROM lease)")
                .fetch_one(&mut main)
                .await
                .unwrap();
        assert_eq!(u64::try_from(all).unwrap(), written);
        assert!(written > 0 && fences == i64::from(rounds), "{written} {fences}");
    }

    #[tokio::test]
    async fn nothing_is_committed_under_a_fence_after_the_next_one_was_taken() {
        steals(2000).await;
    }

    #[tokio::test]
    #[ignore = "long: by hand"]
    async fn a_million_steals() {
        steals(1_000_000).await;
    }
}
