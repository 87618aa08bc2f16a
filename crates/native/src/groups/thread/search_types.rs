//! Extension: searching the history of all Threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::wire::{SessionIdentity, Timestamp};

/// Params of `thread/search`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSearchParams {
    /// Whose Threads, as in `thread/list`.
    pub identity: SessionIdentity,
    /// Words that must all be found, parts of words and whatever case. Words between double quotes stay together;
    /// words of fewer than three characters do not count, nor do any after the eighth.
    pub query: String,
    /// Only in this Thread.
    pub thread_id: Option<String>,
    /// Only in Items of these types, and in titles for `title`. Absent: everywhere.
    pub item_types: Option<Vec<String>>,
    /// Archived Threads too. Default `false`.
    #[serde(default)]
    pub include_archived: bool,
    /// Also every Thread of the workspace from these channels.
    pub cross_channel_origins: Option<Vec<String>>,
    /// At most so many, 1 to 100. Default 20.
    pub limit: Option<u32>,
    /// Go on after an earlier answer's `nextCursor`.
    pub cursor: Option<String>,
}

/// Result of `thread/search`: latest first.
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
