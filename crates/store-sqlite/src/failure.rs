//! Converts errors of SQLite to errors of the store, and says why a database cannot be opened.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_store::StoreError;

/// Why a query failed: an error of the driver, or already one of the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The driver's error.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// Stored data is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sql(error) => store_error(error),
            Failure::Store(error) => error,
        }
    }
}

/// SQLite's primary result codes.
const SQLITE_IOERR: i32 = 10;
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_FULL: i32 = 13;
const SQLITE_NOTADB: i32 = 26;

/// A fault of the disk or the file.
pub(crate) enum Fault {
    /// The disk is full.
    Full,
    /// The disk cannot be read or written.
    Disk(i32),
    /// The file is damaged.
    Damaged(i32),
}

impl Fault {
    /// Returns the fault behind an error of the driver, if SQLite reports one.
    pub(crate) fn of(error: &sqlx::Error) -> Option<Self> {
        let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
        match code & 0xff {
            SQLITE_FULL => Some(Self::Full),
            SQLITE_IOERR => Some(Self::Disk(code)),
            SQLITE_CORRUPT | SQLITE_NOTADB => Some(Self::Damaged(code)),
            _ => None,
        }
    }
}

/// Returns the store's error for an error of the driver.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    match Fault::of(&error) {
        Some(Fault::Full) => StoreError::Full,
        Some(Fault::Disk(code)) => {
            StoreError::Unavailable(format!("the disk cannot be read or written (code {code})"))
        }
        Some(Fault::Damaged(code)) => StoreError::Damaged(format!("the database is damaged (code {code})")),
        None => StoreError::Database(Arc::new(error)),
    }
}

/// Returns the driver's error behind an error of the store.
pub(crate) fn driver_error(error: &StoreError) -> Option<&sqlx::Error> {
    match error {
        StoreError::Database(source) => source.downcast_ref(),
        _ => None,
    }
}

/// Why a database cannot be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be used.
    #[error("cannot open the database {path}: {reason}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why, fit for the user.
        reason: String,
    },
    /// The file system is of a kind on which the database can be damaged unnoticed.
    #[error(
        "{path} is on a network file system ({kind}); name a state directory on a local disk with --state DIR"
    )]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// The kind.
        kind: &'static str,
    },
}
