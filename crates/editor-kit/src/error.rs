//! Errors of the core as sentences for the user.

use bobbin_core::{CoreError, StoreError};

/// Returns an error of the core as a sentence for the user. What went wrong inside goes to the log.
pub fn sentence(error: &CoreError) -> String {
    match error {
        // A refusal's own text is made for users.
        CoreError::Refused(refusal) => refusal.to_string(),
        CoreError::Store(source) => {
            tracing::error!(error = %source, "the store could not do what was asked");
            match **source {
                StoreError::Full => "the disk is full; nothing was changed",
                StoreError::Unavailable(_) => {
                    "the disk could not be written or read; nothing was changed (look at its limits, quota and health)"
                }
                StoreError::Unreachable(_) => {
                    "the database cannot be reached; nothing was changed (the server goes on when it is back)"
                }
                StoreError::NotHeld => {
                    "another machine may serve this workspace now; nothing was changed (connect again in a moment)"
                }
                StoreError::Damaged(_) => {
                    "the database is damaged; nothing was changed (stop the server and run `bobbin doctor`)"
                }
                StoreError::Removed(_) => {
                    "the database was removed or replaced; nothing was changed (the server ends; start it again)"
                }
                StoreError::CorruptEvent { .. } | StoreError::CorruptThread { .. } => {
                    "the stored chat is damaged; see the server's log"
                }
                StoreError::Conflict { .. } | StoreError::Closed | StoreError::Database(_) => {
                    "the store could not do what was asked; nothing was changed"
                }
            }
            .to_owned()
        }
        CoreError::StoppedNotStored(_) => {
            "the turn was stopped, but the disk does not take that yet; make room or look at its limits, quota and health"
                .to_owned()
        }
        CoreError::Busy => "the same request is being carried out".to_owned(),
        CoreError::Stopping => "the server is shutting down".to_owned(),
    }
}
