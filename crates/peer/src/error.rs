//! Errors: the object that goes over the wire, and what each kind of caller can meet.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Error codes of the specification and of this library (peer spec 14).
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is JSON but no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No handler for the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Params of the wrong form or type.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The handler failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Local only: an own call passed its deadline.
    pub const TIMED_OUT: i64 = -32000;
    /// Local only: the connection ended or had ended.
    pub const SHUT_DOWN: i64 = -32099;
    /// A handler observed a cancellation.
    pub const CANCELLED: i64 = -32800;
}

/// A JSON-RPC error object.
///
/// Not a [`std::error::Error`]: as an answer it is a value, and [`HandlerError`] converts from both.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorObject {
    /// The kind of error.
    pub code: i64,
    /// One sentence for users.
    pub message: Cow<'static, str>,
    /// Anything more, as raw JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl ErrorObject {
    /// Creates an error object without data.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Adds `data`; a value that cannot be serialized is left out.
    #[must_use]
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        self.data = to_raw_value(&data).ok();
        self
    }

    /// Adds `data` in the shape `{"detail": …}`.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        #[derive(Serialize)]
        struct Detail {
            detail: String,
        }
        self.with_data(Detail {
            detail: detail.into(),
        })
    }

    /// `-32601` for `method`, of which a long one is not repeated in full.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("Method not found: {}", excerpt(method)),
        )
    }

    /// `-32602` with the reason as detail.
    pub fn invalid_params(detail: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, "Invalid params").with_detail(detail)
    }

    /// `-32603` naming `what` failed; must be safe to show.
    pub fn internal(what: &str) -> Self {
        Self::new(code::INTERNAL_ERROR, format!("Internal error: {what}"))
    }

    /// `-32800`.
    pub fn cancelled() -> Self {
        Self::new(code::CANCELLED, "Request cancelled")
    }

    /// Reads the other side's error object as far as it is one.
    pub(crate) fn from_wire(raw: &RawValue) -> Self {
        #[derive(serde::Deserialize)]
        struct Wire {
            code: i64,
            message: String,
            data: Option<Box<RawValue>>,
        }
        serde_json::from_str::<Wire>(raw.get()).map_or_else(
            |_| Self {
                code: code::INTERNAL_ERROR,
                message: Cow::Borrowed("the other side sent a malformed error object"),
                data: Some(raw.to_owned()),
            },
            |wire| Self {
                code: wire.code,
                message: Cow::Owned(wire.message),
                data: wire.data,
            },
        )
    }
}

impl PartialEq for ErrorObject {
    fn eq(&self, other: &Self) -> bool {
        let text = |data: &Option<Box<RawValue>>| data.as_ref().map(|raw| raw.get().to_owned());
        self.code == other.code && self.message == other.message && text(&self.data) == text(&other.data)
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// How a handler fails.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerError {
    /// This object is the answer.
    Rpc(ErrorObject),
    /// The handler saw its token cancelled; answered `-32800`.
    Cancelled,
    /// Anything else; answered `-32603` naming the type, with the text in the log only.
    Foreign {
        /// The type that failed.
        type_name: &'static str,
        /// Its message, causes included.
        text: String,
    },
}

impl From<ErrorObject> for HandlerError {
    fn from(error: ErrorObject) -> Self {
        Self::Rpc(error)
    }
}

impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Self::Foreign {
            type_name: std::any::type_name::<E>(),
            text,
        }
    }
}

/// Why a call to the other side has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The other side answered with an error.
    #[error("the other side answered: {0}")]
    Remote(ErrorObject),
    /// The deadline passed; the other side may still be at work.
    #[error("call timed out after {0:?}")]
    TimedOut(Duration),
    /// The connection ended or had ended.
    #[error("transport shut down")]
    ShutDown,
    /// The call was never sent.
    #[error("cannot send")]
    Send(#[source] SendError),
    /// The result is not of the expected type.
    #[error("cannot decode result")]
    Decode(#[source] serde_json::Error),
}

impl CallError {
    /// Returns the code that stands for this error in JSON-RPC terms.
    pub fn code(&self) -> i64 {
        match self {
            Self::Remote(error) => error.code,
            Self::TimedOut(_) => code::TIMED_OUT,
            Self::ShutDown => code::SHUT_DOWN,
            Self::Send(_) => code::INVALID_PARAMS,
            Self::Decode(_) => code::INTERNAL_ERROR,
        }
    }
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The connection is shutting down or gone; the message was not written in full.
    #[error("connection is closed")]
    Closed,
    /// The write queue has no room, and waiting was not asked for.
    #[error("write queue is full")]
    Full,
    /// The message alone is over the write queue's bound.
    #[error("message of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// Size of the encoded message.
        size: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The value cannot be turned into JSON.
    #[error("cannot serialize")]
    Serialize(#[from] serde_json::Error),
    /// Params must be an object, an array, or nothing.
    #[error("params are neither object nor array")]
    NotStructured,
}

/// Why a peer could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Two handlers for one method.
    #[error("handler for {0:?} is registered twice")]
    Duplicate(String),
}

/// Longest part of the other side's own words that is repeated to it or logged, in bytes; a guess.
const MAX_EXCERPT: usize = 256;

/// As much of a text as is worth repeating.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    let end = text.floor_char_boundary(MAX_EXCERPT);
    if end == text.len() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{}…", &text[..end]))
    }
}
