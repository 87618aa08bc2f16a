//! A prompt, and how its turn ends.

use serde::{Deserialize, Serialize};

use crate::{ContentBlock, Meta};

/// The parameters of `session/prompt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptParams {
    /// The session.
    pub session_id: String,
    /// The input, in order.
    pub prompt: Vec<ContentBlock>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The answer of `session/prompt`, which ends the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptResult {
    /// Why the turn has ended.
    pub stop_reason: StopReason,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Why a turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent is done.
    EndTurn,
    /// The model's answer reached its limit.
    MaxTokens,
    /// The turn asked the model as often as it may.
    MaxTurnRequests,
    /// The agent does not go on with this conversation.
    Refusal,
    /// The client cancelled it.
    Cancelled,
    /// For another reason. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The parameters of the notification `$/cancel_request`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelRequestNotification {
    /// The id of the request, as its sender wrote it.
    pub request_id: serde_json::Value,
}
