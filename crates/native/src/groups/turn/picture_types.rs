//! The shapes of `turn/picture/read`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `turn/picture/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPictureReadParams {
    /// The Thread.
    pub thread_id: String,
    /// The `path` of a `localImage` that was handed in as bytes.
    pub path: String,
}

/// Result of `turn/picture/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPictureReadResult {
    /// Its media type, by its bytes.
    pub media_type: String,
    /// Its bytes.
    pub data_base64: String,
}
