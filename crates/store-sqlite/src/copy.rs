//! Consistent copies of a database, also of one that is in use.

use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use tempfile::NamedTempFile;

use bobbin_store::StoreError;

use crate::failure::store_error;

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A file exists at the copy's path.
    #[error("{0} is there already; name a file that is not")]
    Exists(PathBuf),
    /// The copy cannot be written.
    #[error("{path} cannot be written: {source}")]
    Target {
        /// The copy's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Source(#[from] StoreError),
}

/// How an existing file at the copy's path is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Refused,
    Replaced,
}

/// Writes a copy of a database, readable by its user only, even while a server has the database open. The file
/// appears once it is complete.
///
/// # Errors
/// [`CopyError`]; there is no copy then.
pub async fn copy(database: &Path, to: &Path) -> Result<(), CopyError> {
    let options = SqliteConnectOptions::new()
        .filename(database)
        .read_only(true)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(store_error)?;
    let copied = write(&mut connection, to, Existing::Refused).await;
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "the copied database was not closed well");
    }
    copied
}

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    to: &Path,
    existing: Existing,
) -> Result<(), CopyError> {
    let failed = |source| CopyError::Target {
        path: to.to_owned(),
        source,
    };
    if existing == Existing::Refused && std::fs::symlink_metadata(to).is_ok() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    // A file name without a directory means the current one.
    let directory = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Private to its user from the moment of creation.
    let file = NamedTempFile::new_in(directory).map_err(failed)?;
    let Some(name) = file.path().to_str().map(str::to_owned) else {
        return Err(failed(io::Error::other("its path is not UTF-8")));
    };
    sqlx::query("VACUUM INTO ?")
        .bind(name)
        .execute(connection)
        .await
        .map_err(store_error)?;
    let (to, place) = (to.to_owned(), to.to_owned());
    let put = tokio::task::spawn_blocking(move || {
        // SQLite does not sync this file.
        file.as_file().sync_all()?;
        let put = match existing {
            Existing::Refused => file.persist_noclobber(&to),
            Existing::Replaced => file.persist(&to),
        };
        put.map(drop).map_err(|error| error.error)
    });
    match put.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Err(CopyError::Exists(place)),
        Ok(Err(source)) => Err(CopyError::Target { path: place, source }),
        Err(error) => Err(CopyError::Target {
            path: place,
            source: io::Error::other(error),
        }),
    }
}
