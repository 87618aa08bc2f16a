//! Extension: undone changes of a Turn in files.

use bobbin_model::RevertedFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `turn/reverted`: to every client.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRevertedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// `true` where the Turn's changes were made again; left out where they were undone.
    pub redone: Option<bool>,
    /// The files that were put back.
    pub files: Vec<RevertedFile>,
    /// What the Turn may have changed that was not restored, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}
