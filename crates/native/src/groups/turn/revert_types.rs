//! Undoing what a Turn did to files: the extension `turn/revert`.
//!
//! Gated by the server capability `turnRevert`.

use bobbin_model::RevertedFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::wire::ClientRequestId;

/// Params of `turn/revert`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRevertParams {
    /// A Thread in which no Turn runs.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// Whether files that have been changed since are put back too, and what was done to them is lost. Left out:
    /// nothing is done then, and the error names them.
    pub force: Option<bool>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `turn/revert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRevertResult {
    /// The Turn.
    pub turn_id: String,
    /// The files that were put back; those that were as before anyway are left out.
    pub files: Vec<RevertedFile>,
    /// What the Turn may have changed that was not restored, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Params of `turn/reverted`: to every client.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRevertedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The files that were put back.
    pub files: Vec<RevertedFile>,
    /// As in the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}
