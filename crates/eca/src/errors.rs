//! The errors of this dialect (section 2.5), and their conversion from errors of the core.

use bobbin_core::CoreError;
use bobbin_editor_kit::sentence;
use bobbin_peer::ErrorObject;
use serde_json::json;

/// A request came before `initialize`.
const NOT_INITIALIZED: i64 = -32002;
/// A request came at a time when it has no meaning.
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

/// Returns the error for a request that asks for the impossible. Editors show the message.
pub(crate) fn refused(message: String) -> ErrorObject {
    ErrorObject::new(-32602, message)
}

pub(crate) fn overloaded() -> ErrorObject {
    ErrorObject::new(OVERLOADED, "Server overloaded").with_data(json!({ "retryAfterMs": 250 }))
}

/// Returns the error for a request that cannot be served. `message` is for the user.
pub(crate) fn failed(message: String) -> ErrorObject {
    ErrorObject::new(-32603, message)
}

/// Returns the wire's error for an error of the core. The log has the inner cause.
pub(crate) fn of(error: &CoreError) -> ErrorObject {
    let text = sentence(error);
    ErrorObject::new(-32603, text)
}
