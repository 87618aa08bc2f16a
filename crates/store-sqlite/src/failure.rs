//! What SQLite says went wrong, as an error of the store.

use std::sync::Arc;

use bobbin_store::StoreError;

/// Why a query failed: as the driver says it, or as an error of the store already.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The driver's own.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// What is stored is not what it should be.
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

/// Returns what an error of the driver means for the store's callers.
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

/// Returns the error of the driver behind one of the store.
pub(crate) fn driver_error(error: &StoreError) -> Option<&sqlx::Error> {
    match error {
        StoreError::Database(source) => source.downcast_ref(),
        _ => None,
    }
}
