//! Opens the database: permissions, pragmas, migrations, and cleanup after the last process.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use sqlx::migrate::MigrateError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqlitePool};
use tokio_util::sync::CancellationToken;

use crate::copy::{self, Existing};
use bobbin_store::StoreError;
use bobbin_store::step::{Step, reached};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::{Fault, OpenError, store_error};

/// The durability of a commit to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Durability {
    /// It waits for the disk: nothing is lost when the power fails.
    #[default]
    Full,
    /// It waits for the system: nothing is lost when Bobbin ends in any way.
    Normal,
}

/// The folder that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFolder {
    /// Its path, as in Threads. Threads of the previous path are moved to it.
    pub path: String,
    /// The identity of the directory. Answers for ever that were given in another directory are removed.
    pub directory: String,
}

/// Options for opening a store.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How durable a commit is.
    pub durability: Durability,
    /// The folder that is served.
    pub folder: Option<ServedFolder>,
    /// Cancelled once the database is no longer at its path: every later write fails with [`StoreError::Removed`].
    pub removed: CancellationToken,
}

/// Most readers: more than cores, since some wait for the disk.
const READERS: u32 = 4;
/// How long a statement waits for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The two pools of one database.
pub(crate) struct Pools {
    pub(crate) writer: SqlitePool,
    pub(crate) readers: SqlitePool,
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/sqlite");

/// Returns the schema version of this code.
pub(crate) fn newest_version() -> i64 {
    MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}

/// Creates the current schema in an empty database.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let migrated = MIGRATIONS.run(connection).await;
    migrated.map_err(|error| store_error(error.into()))
}

pub(crate) async fn open(path: &Path, options: &Options) -> Result<Pools, OpenError> {
    refuse_network_file_system(path)?;
    create_private(path)?;
    let failed = |error: sqlx::Error| refused(path, reason(&error));
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match options.durability {
            Durability::Full => SqliteSynchronous::Full,
            Durability::Normal => SqliteSynchronous::Normal,
        })
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        // Detects a damaged page when it is read, before its data is used.
        .pragma("cell_size_check", "ON")
        // Overwrites what is deleted: a deleted conversation may have data of patients or secrets in it.
        .pragma("secure_delete", "ON")
        .optimize_on_close(false, None)
        // Logging each statement costs more than many statements.
        .disable_statement_logging();
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        // A local file does not disappear between two uses, and a test costs a trip to the connection's thread.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(connect.clone())
        .await
        .map_err(failed)?;
    {
        let mut connection = writer.acquire().await.map_err(failed)?;
        copy_before_migration(path, &mut connection).await?;
    }
    MIGRATIONS.run(&writer).await.map_err(|error| match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failed(error),
        error => refused(
            path,
            format!("{error}; it may have been written by a newer version"),
        ),
    })?;
    reached(Step::Opened);
    // Answers "for this session" end with the process.
    sqlx::query("UPDATE thread SET grants = '[]' WHERE grants <> '[]'")
        .execute(&writer)
        .await
        .map_err(failed)?;
    if let Some(folder) = &options.folder {
        serve_folder(&writer, folder).await.map_err(failed)?;
    }
    {
        let mut connection = writer.acquire().await.map_err(failed)?;
        fold(&mut connection).await.map_err(failed)?;
    }
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .after_release(|connection, _| is_free(connection).boxed())
        .test_before_acquire(false)
        .connect_with(connect.read_only(true))
        .await
        .map_err(failed)?;
    Ok(Pools { writer, readers })
}

/// Binds the database to a folder: moves Threads of the previous path to it, and removes answers for ever that were
/// given in another directory.
async fn serve_folder(writer: &SqlitePool, folder: &ServedFolder) -> Result<(), sqlx::Error> {
    let ServedFolder { path, directory } = folder;
    let mut transaction = writer.begin().await?;
    let known: Option<(Option<String>, String)> = sqlx::query_as("SELECT path, directory FROM folder")
        .fetch_optional(&mut *transaction)
        .await?;
    let (known_path, known_directory) = known.unzip();
    if known_directory.as_ref() == Some(directory) && known_path.as_ref() == Some(&Some(path.clone())) {
        return Ok(());
    }
    if let Some(before) = known_path.flatten() {
        sqlx::query("UPDATE thread SET workspace_path = ? WHERE workspace_path = ?")
            .bind(path.clone())
            .bind(before)
            .execute(&mut *transaction)
            .await?;
    }
    if known_directory.is_some_and(|known| known != *directory) {
        sqlx::query("DELETE FROM approval_rule")
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query("INSERT OR REPLACE INTO folder (id, directory, path) VALUES (1, ?, ?)")
        .bind(directory.clone())
        .bind(path.clone())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

/// Writes the log into the database and empties it. Returns whether the log is empty now: a reader may prevent
/// that, and this function does not wait for readers. A damaged log is readable only up to the damage, so it should
/// be short.
pub(crate) async fn fold(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    sqlx::query("PRAGMA busy_timeout = 0")
        .execute(&mut *connection)
        .await?;
    let (busy, ..): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)")
        .fetch_one(&mut *connection)
        .await?;
    let restored = format!("PRAGMA busy_timeout = {}", BUSY_TIMEOUT.as_millis());
    sqlx::query(sqlx::AssertSqlSafe(restored))
        .execute(connection)
        .await?;
    Ok(busy == 0)
}

/// Copies a database of an earlier version before its migration, as `bobbin-vN.db` next to it. Removes the previous
/// copy.
async fn copy_before_migration(path: &Path, connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let failed = |error: sqlx::Error| refused(path, reason(&error));
    let is_new = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'")
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed)?
        .is_none();
    if is_new {
        return Ok(());
    }
    let (version,): (Option<i64>,) = sqlx::query_as("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let Some(version) = version.filter(|version| *version < newest_version()) else {
        return Ok(());
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}-v{version}.db");
    copy::write(connection, &path.with_file_name(&name), Existing::Replaced)
        .await
        .map_err(|error| refused(path, format!("no copy can be made before its migration: {error}")))?;
    remove_earlier_copies(path, &format!("{stem}-v"), &name);
    Ok(())
}

/// Removes the copies made before earlier migrations: the newest is enough to go back.
fn remove_earlier_copies(path: &Path, prefix: &str, newest: &str) {
    for entry in path
        .parent()
        .and_then(|folder| folder.read_dir().ok())
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let version = name
            .to_str()
            .filter(|name| *name != newest)
            .and_then(|name| name.strip_prefix(prefix)?.strip_suffix(".db"));
        if version.is_some_and(|version| version.parse::<i64>().is_ok())
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::warn!(%error, "an earlier copy of the database stays");
        }
    }
}

fn refused(path: &Path, reason: String) -> OpenError {
    OpenError::Unusable {
        path: path.to_owned(),
        reason,
    }
}

/// Returns why a database cannot be opened, and what the user can do.
fn reason(error: &sqlx::Error) -> String {
    match Fault::of(error) {
        Some(Fault::Damaged(code)) => {
            format!("it is damaged (SQLite code {code}); `bobbin doctor` says what can be done")
        }
        Some(Fault::Full) => "the disk is full; make room and start again".to_owned(),
        Some(Fault::Disk(code)) => format!(
            "the disk cannot be read or written (SQLite code {code}); look at its limits, quota and health"
        ),
        None => format!("{error}; `bobbin doctor` may say more"),
    }
}

/// Whether a returned connection has no open transaction.
///
/// When SQLite runs out of space or has an IO error, it rolls back the transaction by itself. The driver's own
/// rollback then fails, and the driver still counts a transaction. No other could ever start, and a reader would
/// see the same snapshot for ever. So such a connection is closed, and the pool opens another.
async fn is_free(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // An abandoned transaction is rolled back in the background; this waits for it.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// Creates the file for its owner only, because conversations are private.
fn create_private(path: &Path) -> Result<(), OpenError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(path);
    opened.map(drop).map_err(|error| refused(path, error.to_string()))
}

#[cfg(target_os = "linux")]
fn refuse_network_file_system(path: &Path) -> Result<(), OpenError> {
    use nix::sys::statfs::{FsType, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, statfs};
    /// `CIFS_SUPER_MAGIC` and `SMB2_SUPER_MAGIC` of `linux/magic.h`, which nix does not name.
    const CIFS: FsType = FsType(0xff53_4d42);
    const SMB2: FsType = FsType(0xfe53_4d42);
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    let Ok(found) = statfs(directory) else {
        return Ok(());
    };
    let kind = match found.filesystem_type() {
        NFS_SUPER_MAGIC => "NFS",
        SMB_SUPER_MAGIC | CIFS | SMB2 => "SMB",
        _ => return Ok(()),
    };
    Err(OpenError::NetworkFileSystem {
        path: path.to_owned(),
        kind,
    })
}

#[cfg(not(target_os = "linux"))]
fn refuse_network_file_system(_: &Path) -> Result<(), OpenError> {
    Ok(())
}
