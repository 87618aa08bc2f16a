//! Opens the database: its version, migrations, and cleanup after the last process.

use std::sync::Arc;
use std::time::Duration;

use bobbin_store::StoreError;
use bobbin_store::step::{Step, reached};
use futures_util::FutureExt;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgConnection, PgPool};
use tokio::time::Instant;

use crate::access::Access;
use crate::failure::{Failure, OpenError};
use crate::lease::{self, Holder, Taken, Term};

/// The oldest PostgreSQL that is supported, as `server_version_num` has it.
pub(crate) const OLDEST: i32 = 140_000;

/// The folder that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFolder {
    /// Its path, as in Threads. Threads of the previous path are moved to it.
    pub path: String,
    /// The identity of the directory. Answers for ever that were given in another directory are removed.
    pub directory: String,
}

/// Options for opening a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The id of the workspace: only its rows are read and written.
    pub workspace: String,
    /// The folder that is served.
    pub folder: Option<ServedFolder>,
    /// Most connections. One is the writer's, and searches take two; at least 4 are used.
    pub connections: u32,
    /// How long to wait for a connection: a database that is back sooner is not missed.
    pub patience: Duration,
    /// The taker of the workspace's lease.
    pub holder: Holder,
    /// The length of the lease: a machine that is lost is replaced after that time at the earliest.
    pub lease: Duration,
}

impl Options {
    /// Returns the usual options for a workspace.
    pub fn of(workspace: impl Into<String>, holder: Holder) -> Self {
        Self {
            workspace: workspace.into(),
            folder: None,
            connections: 5,
            patience: Duration::from_secs(3),
            holder,
            lease: Duration::from_secs(30),
        }
    }
}

/// Fewest connections: the writer, two searches, and one other reader.
const FEWEST: u32 = 4;

/// Settings of each connection. A statement ends before its caller gives up ([`crate::postgres`]). A connection that a
/// machine left behind ends, so that its transaction blocks nobody.
const SESSION: &str = "SET statement_timeout = '20s'; SET lock_timeout = '10s'; \
                       SET idle_in_transaction_session_timeout = '5s'; \
                       SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/postgres");

/// A database that was opened for a workspace.
pub(crate) struct Opened {
    pub(crate) pool: PgPool,
    pub(crate) term: Term,
    /// The time before the lease was taken.
    pub(crate) taken: Instant,
}

pub(crate) async fn open(access: &Access, options: &Options) -> Result<Opened, OpenError> {
    let failed = |error: sqlx::Error| unusable(access, error.to_string());
    let pool = PgPoolOptions::new()
        .max_connections(options.connections.max(FEWEST))
        .acquire_timeout(options.patience)
        .after_connect(|connection, _| async move { connection.execute(SESSION).await.map(drop) }.boxed())
        .connect_with(access.options())
        .await
        .map_err(failed)?;
    let (number, version): (i32, String) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::integer, current_setting('server_version')",
    )
    .fetch_one(&pool)
    .await
    .map_err(failed)?;
    if number < OLDEST {
        return Err(OpenError::TooOld {
            database: access.to_string(),
            found: version,
        });
    }
    migrate(access, &pool).await?;
    let mut connection = pool.acquire().await.map_err(failed)?;
    let taken = Instant::now();
    let workspace: Arc<str> = options.workspace.as_str().into();
    let lease = lease::take(&mut connection, &workspace, &options.holder, options.lease).await;
    let term = lease.map_err(failed)?.map_err(|taken| match taken {
        Taken {
            is_copy: true,
            machine,
            ..
        } => OpenError::Copied { machine },
        Taken { machine, seconds, .. } => OpenError::Taken { machine, seconds },
    })?;
    reached(Step::Opened);
    start_term(&mut connection, &term, options)
        .await
        .map_err(|failure| unusable(access, StoreError::from(failure).to_string()))?;
    drop(connection);
    Ok(Opened { pool, term, taken })
}

/// Makes the tables, or changes them to the current schema.
pub(crate) async fn migrate(access: &Access, pool: &PgPool) -> Result<(), OpenError> {
    MIGRATIONS.run(pool).await.map_err(|error| match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            unusable(access, error.to_string())
        }
        error => unusable(
            access,
            format!("{error}; it may have been written by a newer version"),
        ),
    })
}

/// Ends what ended with the last holder, and binds the workspace to the served folder.
async fn start_term(connection: &mut PgConnection, term: &Term, options: &Options) -> Result<(), Failure> {
    term.start(connection).await?;
    // Answers "for this session" end with the process.
    sqlx::query("UPDATE thread SET grants = '[]' WHERE workspace = $1 AND grants <> '[]'")
        .bind(&*term.workspace)
        .execute(&mut *connection)
        .await?;
    if let Some(folder) = &options.folder {
        serve_folder(connection, &term.workspace, &options.holder.id, folder).await?;
    }
    sqlx::raw_sql("COMMIT").execute(connection).await?;
    Ok(())
}

/// Binds the workspace to this machine's folder: moves Threads of the folders that served it before, and removes answers
/// for ever if another directory was at its place on this machine.
async fn serve_folder(
    connection: &mut PgConnection,
    workspace: &str,
    holder: &str,
    folder: &ServedFolder,
) -> Result<(), sqlx::Error> {
    let known: Option<String> =
        sqlx::query_scalar("SELECT directory FROM folder WHERE workspace = $1 AND holder = $2")
            .bind(workspace)
            .bind(holder)
            .fetch_optional(&mut *connection)
            .await?;
    if known.is_some_and(|known| known != folder.directory) {
        sqlx::query("DELETE FROM approval_rule WHERE workspace = $1")
            .bind(workspace)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(
        "UPDATE thread SET workspace_path = $2 WHERE workspace = $1 AND workspace_path <> $2 AND workspace_path IN \
         (SELECT path FROM folder WHERE workspace = $1)",
    )
    .bind(workspace)
    .bind(&folder.path)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO folder (workspace, holder, directory, path) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (workspace, holder) DO UPDATE SET directory = excluded.directory, path = excluded.path",
    )
    .bind(workspace)
    .bind(holder)
    .bind(&folder.directory)
    .bind(&folder.path)
    .execute(connection)
    .await
    .map(drop)
}

pub(crate) fn unusable(access: &Access, reason: String) -> OpenError {
    OpenError::Unusable {
        database: access.to_string(),
        reason,
    }
}
