//! Params and results of `thread/turns/list` and `thread/items/list` (07 §6.3, §6.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::item::types::Item;
use crate::turn::types::Turn;

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SortDirection {
    /// Oldest first.
    Ascending,
    /// Newest first.
    #[default]
    Descending,
}

/// Params of `thread/turns/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListParams {
    /// The Thread.
    pub thread_id: String,
    /// A cursor of an earlier answer about this Thread. Absent: from the end at which the order starts.
    pub cursor: Option<String>,
    /// At most so many, 1 to 100. Default 20.
    pub limit: Option<u32>,
    /// The order. Default `descending`.
    pub sort_direction: Option<SortDirection>,
}

/// Result of `thread/turns/list`. A page can have fewer Turns than `limit`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsListResult {
    /// The Turns, without their Items.
    pub data: Vec<Turn>,
    /// The start of the next page in this order, if there is one.
    pub next_cursor: Option<String>,
    /// The first Turn of this page, for a list in either order that starts with it.
    pub backwards_cursor: Option<String>,
}

/// Params of `thread/items/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListParams {
    /// The Thread.
    pub thread_id: String,
    /// Only the Items of this Turn.
    pub turn_id: Option<String>,
    /// A cursor of an earlier answer about the same Thread or Turn.
    pub cursor: Option<String>,
    /// At most so many, 1 to 500. Default 100.
    pub limit: Option<u32>,
    /// The order. Default `descending`.
    pub sort_direction: Option<SortDirection>,
}

/// Result of `thread/items/list`. A page can have fewer Items than `limit`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadItemsListResult {
    /// The Items, each with its Turn.
    pub data: Vec<ItemOfTurn>,
    /// The start of the next page in this order, if there is one.
    pub next_cursor: Option<String>,
}

/// One Item with its Turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemOfTurn {
    /// The Turn.
    pub turn_id: String,
    /// The Item.
    pub item: Item,
}
