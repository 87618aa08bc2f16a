//! Converts errors of SQLite to errors of the store.

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

/// Returns the store's error for an error of the driver.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    let code = error
        .as_database_error()
        .and_then(|database| database.code()?.parse::<i32>().ok());
    match (code, code.map(|code| code & 0xff)) {
        (_, Some(SQLITE_FULL)) => StoreError::DiskFull,
        (Some(code), Some(SQLITE_IOERR)) => StoreError::Disk(code),
        (Some(code), Some(SQLITE_CORRUPT | SQLITE_NOTADB)) => StoreError::Damaged(code),
        _ => StoreError::Database(Arc::new(error)),
    }
}

/// Returns the driver's error behind an error of the store.
pub(crate) fn driver_error(error: &StoreError) -> Option<&sqlx::Error> {
    match error {
        StoreError::Database(source) => source.downcast_ref(),
        _ => None,
    }
}
