//! The Turn: one user input and all the agent does about it.
//!
//! AppServer protocol 03 §1.1.

use bobbin_model::TurnStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{Item, Timestamp, TokenUsage};

/// One Turn.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Item>>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// What it used, with the subagents inside the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// Why it failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The channel that started this Turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_channel: Option<String>,
    /// Who started this Turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator: Option<TurnInitiator>,
}

/// Who started a Turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInitiator {
    /// The channel.
    pub channel_name: String,
    /// The user inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// What the user is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    /// The user's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_role: Option<String>,
    /// The scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_context: Option<String>,
    /// The group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
}
