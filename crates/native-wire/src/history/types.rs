//! The shapes of searching and reading history, of undoing files, and of a fork.

use bobbin_model::{FileChange, RevertedFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::handshake::types::ClientRequestId;
use crate::thread::config::ThreadConfiguration;
use crate::thread::history_types::SortDirection;
use crate::thread::params::DynamicToolSpec;
use crate::thread::types::{SessionIdentity, ThreadSummary};

/// Params of `thread/search`: with `searchTerm`, or with `query` and `identity`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchParams {
    /// The text that users or agents said, whatever case. The result has Threads then.
    pub search_term: Option<String>,
    /// With `searchTerm`: the order. Default `createdAt`.
    pub sort_key: Option<ThreadSortKey>,
    /// With `searchTerm`: its direction. Default `descending`.
    pub sort_direction: Option<SortDirection>,
    /// With `searchTerm`: archived Threads instead of all others. Default `false`.
    pub archived: Option<bool>,
    /// Extension, with `query`: whose Threads, as in `thread/list`.
    pub identity: Option<SessionIdentity>,
    /// Extension: words that must all be found, parts of words and whatever case. Words between double quotes stay
    /// together; words of fewer than three characters do not count, nor do any after the eighth.
    pub query: Option<String>,
    /// Only in this Thread.
    pub thread_id: Option<String>,
    /// Only in Items of these types, and in titles for `title`. Absent: everywhere.
    pub item_types: Option<Vec<String>>,
    /// Archived Threads too. Default `false`.
    #[serde(default)]
    pub include_archived: bool,
    /// Also every Thread of the workspace from these channels.
    pub cross_channel_origins: Option<Vec<String>>,
    /// At most so many, 1 to 100. Default 50 with `searchTerm`, else 20.
    pub limit: Option<u32>,
    /// Go on after an earlier answer's `nextCursor`.
    pub cursor: Option<String>,
}

/// The time by which Threads are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThreadSortKey {
    /// Their start.
    #[default]
    CreatedAt,
    /// Their latest activity.
    LastActiveAt,
}

/// Result of `thread/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ThreadSearchAnswer {
    /// Of `query`.
    Places(ThreadSearchResult),
    /// Of `searchTerm`.
    Threads(ThreadSearchThreadsResult),
}

/// Result of `thread/search` with `searchTerm`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchThreadsResult {
    /// The Threads in order.
    pub data: Vec<FoundThread>,
    /// Given when there may be more.
    pub next_cursor: Option<String>,
}

/// A Thread in which a text was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundThread {
    /// The Thread.
    pub thread: ThreadSummary,
    /// One line of text around the first place where it was said.
    pub snippet: String,
}

/// Result of `thread/search` with `query`: latest first.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchResult {
    /// Where it was found.
    pub data: Vec<ThreadSearchHit>,
    /// Given when there may be more, even if nothing was found yet.
    pub next_cursor: Option<String>,
    /// Whether everything was searched. `false`: the newest text is still being indexed; ask again in a moment.
    pub complete: bool,
}

/// One place where all words were found.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchHit {
    /// The Thread.
    pub thread_id: String,
    /// Its title.
    pub display_name: Option<String>,
    /// The Turn; absent when the title was found.
    pub turn_id: Option<String>,
    /// The Item in it.
    pub item_id: Option<String>,
    /// Type of the Item, or `title`.
    pub item_type: String,
    /// When it was said.
    pub created_at: Timestamp,
    /// One line of text around the first word that was found.
    pub snippet: String,
    /// A `cursor` for `thread/read` whose page ends with this Turn.
    pub turn_cursor: Option<String>,
}

/// Params of `thread/fork`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkParams {
    /// The Thread.
    pub thread_id: String,
    /// Extension: the last Turn of the copy. It has ended. Not together with `forkPoint`.
    pub turn_id: Option<String>,
    /// The end of the copy. Absent without `turnId`: after the newest Turn. A running Turn is copied as cancelled.
    pub fork_point: Option<ThreadForkPoint>,
    /// Its title. Default: the original's with a count.
    pub display_name: Option<String>,
    /// Its configuration. Default: the original's.
    pub config: Option<ThreadConfiguration>,
    /// Its starter. Default: the original's.
    pub identity: Option<SessionIdentity>,
    /// Tools that this connection serves.
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
    /// `true` is refused: every Thread is stored.
    pub ephemeral: Option<bool>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// The end of a copied conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForkPoint {
    /// The Turn.
    pub turn_id: String,
    /// The Item in that Turn. Absent: the whole Turn.
    pub item_id: Option<String>,
    /// Whether the copy ends before or after it. Default `after`.
    pub position: Option<ForkPosition>,
}

/// A side of a Turn or an Item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ForkPosition {
    /// With it.
    After,
    /// Without it.
    Before,
}

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
    /// Whether the Turn's changes are made again, which were undone before. Refused as an undo is where files have been changed
    /// since. Default `false`.
    pub redo: Option<bool>,
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

/// Params of `turn/diff/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffReadParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
}

/// Result of `turn/diff/read`: what the last `turn/diff/updated` of the Turn said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffReadResult {
    /// Unified diff of all changes, git style, paths relative to the workspace; empty when nothing changed.
    pub diff: String,
    /// The changed files; complete even when `diff` was cut.
    pub files: Vec<FileChange>,
    /// Whether `diff` was cut.
    pub truncated: bool,
}

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
