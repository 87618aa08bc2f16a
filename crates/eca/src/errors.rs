//! The errors of this dialect (section 2.5), and the one place where errors of the core become them.

use bobbin_core::{CoreError, StoreError};
use bobbin_peer::ErrorObject;
use serde_json::json;

/// A request came before `initialize`.
const NOT_INITIALIZED: i64 = -32002;
/// A request came at a time at which it has no meaning.
const INVALID_REQUEST: i64 = -32600;
/// Too many requests are unanswered.
const OVERLOADED: i64 = -32001;

pub(crate) fn not_initialized() -> ErrorObject {
    ErrorObject::new(NOT_INITIALIZED, "Server not initialized")
}

pub(crate) fn invalid_request(what: &'static str) -> ErrorObject {
    ErrorObject::new(INVALID_REQUEST, what)
}

pub(crate) fn method_not_found(method: &str) -> ErrorObject {
    ErrorObject::new(-32601, "Method not found").with_data(json!({ "method": method }))
}

pub(crate) fn overloaded() -> ErrorObject {
    ErrorObject::new(OVERLOADED, "Server overloaded").with_data(json!({ "retryAfterMs": 250 }))
}

/// The workspace cannot be served: the sentence is for the user.
pub(crate) fn cannot_open(message: String) -> ErrorObject {
    ErrorObject::new(-32603, message)
}

/// Returns the wire's error for an error of the core. What went wrong inside goes to the log.
pub(crate) fn of(error: &CoreError) -> ErrorObject {
    let text = sentence(error);
    ErrorObject::new(-32603, text)
}

/// Says an error of the core to the user.
pub(crate) fn sentence(error: &CoreError) -> String {
    match error {
        // A refusal's own text is made for people.
        CoreError::Refused(refusal) => refusal.to_string(),
        CoreError::Store(source) => {
            tracing::error!(error = %source, "the store could not do what was asked");
            match **source {
                StoreError::DiskFull => "the disk is full; nothing was changed",
                StoreError::Disk(_) => {
                    "the disk could not be written or read; nothing was changed (look at its limits, quota and health)"
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
                StoreError::Open { .. }
                | StoreError::NetworkFileSystem { .. }
                | StoreError::Conflict { .. }
                | StoreError::Closed
                | StoreError::Database(_) => "the store could not do what was asked; nothing was changed",
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
