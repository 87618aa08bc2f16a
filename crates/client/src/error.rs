//! Why a request has no result.

use bobbin_peer::{CallError, ErrorObject, SendError, code};
use serde_json::Value;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// The server refuses it.
    #[error("{message}")]
    Refused {
        /// The code of the protocol.
        code: i64,
        /// A sentence for the user.
        message: String,
        /// Further facts.
        data: Value,
    },
    /// The connection was lost before the answer.
    #[error("the connection was lost: {method} may have been done or not")]
    Uncertain {
        /// The method.
        method: &'static str,
    },
    /// The answer took too long. It may still be done.
    #[error("{method} was not answered in time")]
    TimedOut {
        /// The method.
        method: &'static str,
    },
    /// The answer has another shape than this version expects.
    #[error("the answer to {method} cannot be read: {detail}")]
    Unreadable {
        /// The method.
        method: &'static str,
        /// The reader's sentence.
        detail: String,
    },
    /// It cannot be sent: it is too long, or the parameters are no JSON.
    #[error("{method} cannot be sent: {detail}")]
    Unsent {
        /// The method.
        method: &'static str,
        /// The reason.
        detail: String,
    },
    /// Too many requests wait for a connection.
    #[error("too many requests wait for the server")]
    Full,
    /// The client has ended.
    #[error("the client has ended")]
    Closed,
}

impl RequestError {
    /// Returns the error for a call that failed; `None` if the connection ended, so that it is not known.
    pub(crate) fn of(method: &'static str, error: CallError) -> Option<Self> {
        match error {
            CallError::Remote(error) => Some(Self::refused(&error)),
            CallError::Decode(error) => Some(Self::Unreadable {
                method,
                detail: error.to_string(),
            }),
            CallError::TimedOut(_) => Some(Self::TimedOut { method }),
            CallError::ShutDown | CallError::Send(SendError::Closed) => None,
            CallError::Send(error) => Some(Self::Unsent {
                method,
                detail: error.to_string(),
            }),
        }
    }

    fn refused(error: &ErrorObject) -> Self {
        let data: Value = error
            .data
            .as_ref()
            .and_then(|data| serde_json::from_str(data.get()).ok())
            .unwrap_or_default();
        let message = match data["detail"].as_str() {
            // The message only says that the parameters are not right.
            Some(detail) if error.code == code::INVALID_PARAMS => detail.to_owned(),
            Some(detail) => format!("{}: {detail}", error.message),
            None => error.message.to_string(),
        };
        Self::Refused {
            code: error.code,
            message,
            data,
        }
    }
}
