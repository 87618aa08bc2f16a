//! Notifications about Turns and Items, except for deltas.
//!
//! AppServer protocol 03 §6 and §7; `core` ensures the order. `threadId` and `turnId` are beside `turn`, because event
//! filters of some clients look only there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::item::types::Item;
use crate::turn::types::Turn;

/// Params of `turn/started`, with the user's Item in the Turn, and of `turn/completed`, with all Items.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn's id.
    pub turn_id: String,
    /// The Turn.
    pub turn: Turn,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

impl TurnNotification {
    /// Announces a Turn.
    pub fn new(turn: Turn) -> Self {
        Self {
            thread_id: turn.thread_id.clone(),
            turn_id: turn.id.clone(),
            turn,
            seq: None,
        }
    }
}

/// Params of `turn/failed`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnFailedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn's id.
    pub turn_id: String,
    /// The Turn; its `error` has the same text.
    pub turn: Turn,
    /// Why, as a sentence for the user.
    pub error: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `turn/cancelled`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCancelledNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn's id.
    pub turn_id: String,
    /// The Turn.
    pub turn: Turn,
    /// Why, as a sentence for the user.
    pub reason: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `item/started` and `item/completed`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The Item; final in `item/completed`.
    pub item: Item,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

impl ItemNotification {
    /// Announces an Item of a Thread.
    pub fn new(thread_id: impl Into<String>, item: Item) -> Self {
        Self {
            thread_id: thread_id.into(),
            turn_id: item.turn_id.clone(),
            item,
            seq: None,
        }
    }
}

/// Params of `item/approval/resolved`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResolvedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The `approvalResponse` Item.
    pub item: Item,
    /// Extension: the name of the client whose user answered. Absent where no client did.
    pub answered_by: Option<String>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}
