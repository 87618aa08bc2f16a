//! The errors of this dialect. The client shows their messages, and tests some of them word by word.

use bobbin_core::CoreError;
use bobbin_editor_kit::sentence;
use bobbin_model::Refusal;
use bobbin_peer::{ErrorObject, code};

/// Code with which the client tries again.
const OVERLOADED: i64 = -32001;

/// The request cannot be served; `why` is a sentence.
pub(crate) fn invalid(why: impl Into<String>) -> ErrorObject {
    ErrorObject::new(code::INVALID_REQUEST, why.into())
}

/// The parameters are wrong; `why` is a sentence.
pub(crate) fn params(why: impl Into<String>) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, why.into())
}

/// Too many requests are unanswered.
pub(crate) fn overloaded() -> ErrorObject {
    ErrorObject::new(OVERLOADED, "Server overloaded; retry later.")
}

/// There is no Thread with this UUID.
pub(crate) fn no_thread(id: &str) -> ErrorObject {
    let id: String = id.chars().take(100).collect();
    invalid(format!("thread not found: {id}"))
}

/// Returns the wire's error for an error of the core. The log has the inner cause.
pub(crate) fn of(error: &CoreError) -> ErrorObject {
    match error {
        CoreError::Busy | CoreError::Stopping => overloaded(),
        CoreError::Refused(Refusal::Invalid(why)) => params(why.clone()),
        CoreError::Refused(_) => invalid(sentence(error)),
        _ => {
            tracing::warn!(%error, "a request failed");
            ErrorObject::new(code::INTERNAL_ERROR, sentence(error))
        }
    }
}
