//! The errors of this dialect, and their conversion from errors of the core.
//!
//! A message is what users see: a sentence that says what to do next.

use std::path::Path;

use bobbin_acp_wire::code;
use bobbin_core::CoreError;
use bobbin_editor_kit::sentence;
use bobbin_model::Refusal;
use bobbin_peer::ErrorObject;
use serde_json::json;

/// How long a client that asked too much should wait, in milliseconds (a guess).
const RETRY_AFTER_MS: u64 = 250;

/// A request came before `initialize`.
pub(crate) fn not_initialized() -> ErrorObject {
    ErrorObject::new(code::INVALID_REQUEST, "Send initialize first.")
}

pub(crate) fn method_not_found(method: &str) -> ErrorObject {
    ErrorObject::method_not_found(method)
}

/// No login is offered.
pub(crate) fn no_login() -> ErrorObject {
    invalid("No login is needed; keys of models belong in ~/.craft/config.json or the environment.")
}

/// The parameters are wrong; `why` is a sentence.
pub(crate) fn invalid(why: impl Into<String>) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, why.into())
}

/// The client has not opened this session on its connection, or there is no such session.
pub(crate) fn no_session(id: &str) -> ErrorObject {
    ErrorObject::new(
        code::NOT_FOUND,
        format!(
            "There is no open session {}; load it, or start a new one.",
            shortened(id)
        ),
    )
}

/// The folder of a session is unknown, so that it cannot be deleted.
pub(crate) fn unplaced_session(id: &str) -> ErrorObject {
    ErrorObject::new(
        code::NOT_FOUND,
        format!(
            "The folder of the session {} is not known; list the sessions of that folder or load it, then delete it.",
            shortened(id)
        ),
    )
}

/// The session to open is not there.
pub(crate) fn unknown_session(id: &str, folder: &Path) -> ErrorObject {
    ErrorObject::new(
        code::NOT_FOUND,
        format!(
            "There is no session {} in {}; list its sessions, or start a new one.",
            shortened(id),
            folder.display()
        ),
    )
}

/// Returns the part of a session's name that messages have.
fn shortened(id: &str) -> String {
    id.chars().take(100).collect()
}

/// The request failed; `why` is a sentence.
pub(crate) fn failed(why: impl Into<String>) -> ErrorObject {
    ErrorObject::new(code::INTERNAL, why.into())
}

/// Too many requests are unanswered.
pub(crate) fn overloaded() -> ErrorObject {
    failed("Too many requests are unanswered; try again in a moment.")
        .with_data(json!({ "retryAfterMs": RETRY_AFTER_MS }))
}

/// Returns the wire's error for an error of the core. The log has the inner cause.
pub(crate) fn of(error: &CoreError) -> ErrorObject {
    match error {
        CoreError::Refused(Refusal::ThreadNotFound(id)) => no_session(id.as_str()),
        CoreError::Refused(Refusal::Invalid(why)) => invalid(why.clone()),
        CoreError::Busy => overloaded(),
        CoreError::Refused(_)
        | CoreError::Store(_)
        | CoreError::StoppedNotStored(_)
        | CoreError::Stopping => failed(sentence(error)),
    }
}
