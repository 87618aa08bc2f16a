//! Opens the database: its version, migrations, and cleanup after the last process.

use std::time::Duration;

use bobbin_store::step::{Step, reached};
use futures_util::FutureExt;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};

use crate::access::Access;
use crate::failure::OpenError;

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
}

impl Options {
    /// Returns the usual options for a workspace.
    pub fn of(workspace: impl Into<String>) -> Self {
        Self {
            workspace: workspace.into(),
            folder: None,
            connections: 5,
            patience: Duration::from_secs(3),
        }
    }
}

/// Fewest connections: the writer, two searches, and one other reader.
const FEWEST: u32 = 4;

/// Settings of each connection. A statement ends before its caller gives up ([`crate::postgres`]). A connection that a
/// machine left behind ends, so that its transaction blocks nobody.
const SESSION: &str = "SET statement_timeout = '20s'; SET lock_timeout = '10s'; \
                       SET idle_in_transaction_session_timeout = '30s'; \
                       SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/postgres");

pub(crate) async fn open(access: &Access, options: &Options) -> Result<PgPool, OpenError> {
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
    MIGRATIONS.run(&pool).await.map_err(|error| match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failed(error),
        error => unusable(
            access,
            format!("{error}; it may have been written by a newer version"),
        ),
    })?;
    reached(Step::Opened);
    // Answers "for this session" end with the process.
    sqlx::query("UPDATE thread SET grants = '[]' WHERE workspace = $1 AND grants <> '[]'")
        .bind(&options.workspace)
        .execute(&pool)
        .await
        .map_err(failed)?;
    if let Some(folder) = &options.folder {
        serve_folder(&pool, &options.workspace, folder)
            .await
            .map_err(failed)?;
    }
    Ok(pool)
}

/// Binds the workspace to a folder: moves Threads of the previous path to it, and removes answers for ever that were
/// given in another directory.
async fn serve_folder(pool: &PgPool, workspace: &str, folder: &ServedFolder) -> Result<(), sqlx::Error> {
    let ServedFolder { path, directory } = folder;
    let mut transaction = pool.begin().await?;
    let known: Option<(String, String)> =
        sqlx::query_as("SELECT path, directory FROM folder WHERE workspace = $1 FOR UPDATE")
            .bind(workspace)
            .fetch_optional(&mut *transaction)
            .await?;
    if let Some((known_path, known_directory)) = known {
        if known_path == *path && known_directory == *directory {
            return Ok(());
        }
        sqlx::query("UPDATE thread SET workspace_path = $2 WHERE workspace = $1 AND workspace_path = $3")
            .bind(workspace)
            .bind(path)
            .bind(known_path)
            .execute(&mut *transaction)
            .await?;
        if known_directory != *directory {
            sqlx::query("DELETE FROM approval_rule WHERE workspace = $1")
                .bind(workspace)
                .execute(&mut *transaction)
                .await?;
        }
    }
    sqlx::query(
        "INSERT INTO folder (workspace, directory, path) VALUES ($1, $2, $3) \
         ON CONFLICT (workspace) DO UPDATE SET directory = excluded.directory, path = excluded.path",
    )
    .bind(workspace)
    .bind(directory)
    .bind(path)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}

fn unusable(access: &Access, reason: String) -> OpenError {
    OpenError::Unusable {
        database: access.to_string(),
        reason,
    }
}
