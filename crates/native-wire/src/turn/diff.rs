//! A Turn's changes of files so far (AppServer protocol 03 §9), and the reason for which it waits.

use bobbin_model::FileChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `turn/diff/updated`: cumulative over the Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdatedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// Unified diff of all changes, git style, paths relative to the workspace; empty when all was undone.
    pub diff: String,
    /// The changed files; complete even when `diff` was cut.
    pub files: Option<Vec<FileChange>>,
    /// `true` when `diff` was cut.
    pub truncated: Option<bool>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `turn/waiting`. What the line says is over with the next message of the Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnWaitingNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// A status line, as "Provider overloaded. Retrying in 1 s (2 of 4)".
    pub message: String,
    /// Extension: the number of the last event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}
