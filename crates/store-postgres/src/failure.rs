//! Converts errors of PostgreSQL to errors of the store, and says why a database cannot be opened.

use std::sync::Arc;

use bobbin_store::StoreError;

use crate::open::OLDEST;

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

/// Returns the store's error for an error of the driver.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    match &error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => StoreError::Unreachable(error.to_string()),
        sqlx::Error::PoolClosed => StoreError::Closed,
        sqlx::Error::Database(database) => {
            let (code, text) = (database.code().unwrap_or_default(), database.message());
            of_code(&code, text).unwrap_or_else(|| StoreError::Database(Arc::new(error)))
        }
        _ => StoreError::Database(Arc::new(error)),
    }
}

/// Returns the error for a code of PostgreSQL (its manual's appendix A), if it is not the statement's fault.
fn of_code(code: &str, text: &str) -> Option<StoreError> {
    match code {
        "53100" => return Some(StoreError::Full),
        // Too many connections; the server stops, starts, or ends this connection.
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" => {
            return Some(StoreError::Unreachable(text.to_owned()));
        }
        "XX001" | "XX002" => {
            return Some(StoreError::Damaged(format!("the database is damaged ({text})")));
        }
        _ => {}
    }
    match code.get(..2)? {
        // The connection; who may connect; a standby that became the target; resources; limits; cancelled; the system.
        "08" | "28" | "3D" => Some(StoreError::Unreachable(text.to_owned())),
        "25" | "42" | "53" | "55" | "57" | "58" => {
            Some(StoreError::Unavailable(format!("the database refuses: {text}")))
        }
        _ => None,
    }
}

/// Whether an error says that a row of that key is there already.
pub(crate) fn is_conflict(error: &StoreError) -> bool {
    let StoreError::Database(source) = error else {
        return false;
    };
    source
        .downcast_ref::<sqlx::Error>()
        .and_then(sqlx::Error::as_database_error)
        .is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// The mending of a state directory that was copied.
pub const COPIED: &str = "one of them is a copy. Remove the file `id` from the copy, and start again";

/// Why a database cannot be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// It cannot be reached, or refuses.
    #[error("cannot open the database {database}: {reason}")]
    Unusable {
        /// The database, without the password.
        database: String,
        /// Why, fit for the user.
        reason: String,
    },
    /// Another server has the workspace's lease.
    #[error(
        "{machine} serves this workspace, or did so until a moment ago. If it is gone, this machine can take over in \
         {seconds:.0} s"
    )]
    Taken {
        /// The name of its machine.
        machine: String,
        /// The seconds after which the lease is free, unless its holder renews it.
        seconds: f64,
    },
    /// A server with the id of this state directory has the workspace's lease, on another machine.
    #[error("{machine} serves this workspace, with the same state directory: {COPIED}")]
    Copied {
        /// The name of its machine.
        machine: String,
    },
    /// The server is too old.
    #[error(
        "the database {database} is PostgreSQL {found}; Bobbin needs {} or later",
        OLDEST / 10_000
    )]
    TooOld {
        /// The database, without the password.
        database: String,
        /// Its version.
        found: String,
    },
}
