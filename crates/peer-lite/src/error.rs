//! Error objects as they travel, and what can go wrong on this side.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Codes of the JSON-RPC 2.0 specification and of cancellation. Everything from -32001 to -32098 belongs
/// to the protocol on top.
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Nobody handles the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The handler failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// The request was cancelled.
    pub const REQUEST_CANCELLED: i64 = -32800;
}

/// The `error` member of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorObject {
    /// For machines.
    pub code: i64,
    /// For people.
    pub message: Cow<'static, str>,
    /// Anything more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl ErrorObject {
    /// Makes an error without data.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Adds data; what cannot be serialized is left out.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The other side answered with an error.
    #[error("{} ({})", .0.message, .0.code)]
    Remote(ErrorObject),
    /// No answer came in time.
    #[error("call timed out")]
    TimedOut,
    /// The connection ended or had ended.
    #[error("transport shut down")]
    ShutDown,
    /// The parameters cannot be serialized.
    #[error("the parameters cannot be serialized")]
    Encode(#[source] serde_json::Error),
}

/// Why something was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The connection ended or had ended.
    #[error("transport shut down")]
    ShutDown,
    /// The parameters cannot be serialized.
    #[error("the parameters cannot be serialized")]
    Encode(#[source] serde_json::Error),
}
