//! The Turn: one user input and all the agent's work for it.
//!
//! AppServer protocol 03 §1.1.

use bobbin_model::TurnStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::item::types::Item;
use crate::item::usage::TokenUsage;

/// One Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// `turn_` and its number in the Thread.
    pub id: String,
    /// The Thread.
    pub thread_id: String,
    /// How far it is.
    pub status: TurnStatus,
    /// Its Items, where the message carries them.
    pub items: Option<Vec<Item>>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// What it used, with the subagents inside the server.
    pub token_usage: Option<TokenUsage>,
    /// What it cost, in the currency of the models' prices, where a price is known.
    pub cost: Option<f64>,
    /// Extension: how many files it changed, by commands too; left out where there is none.
    pub files_changed: Option<u32>,
    /// Extension: `true` where these changes were undone with `turn/revert`, and not made again.
    pub files_undone: Option<bool>,
    /// Why it failed, as a sentence for the user.
    pub error: Option<String>,
    /// The channel that started this Turn.
    pub origin_channel: Option<String>,
    /// Who started this Turn.
    pub initiator: Option<TurnInitiator>,
}

/// Who started a Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInitiator {
    /// The channel.
    pub channel_name: String,
    /// The user inside it.
    pub user_id: Option<String>,
    /// What the user is called.
    pub user_name: Option<String>,
    /// The user's role.
    pub user_role: Option<String>,
    /// The scope.
    pub channel_context: Option<String>,
    /// The group.
    pub group_id: Option<String>,
}
