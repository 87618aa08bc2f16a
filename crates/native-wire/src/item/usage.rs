//! Counting tokens: what a Turn used, and how full the model's window is.
//!
//! AppServer protocol 02 §2.7 and 03 §10.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Tokens of a whole Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens sent to the model.
    pub input_tokens: u64,
    /// Tokens received from it.
    pub output_tokens: u64,
    /// Both together.
    pub total_tokens: u64,
    /// Those of `inputTokens` that the provider had in a cache.
    pub cached_input_tokens: Option<u64>,
    /// Those of `outputTokens` that are reasoning.
    pub reasoning_output_tokens: Option<u64>,
}

/// How full the model's window is now. Not what was billed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens in the window.
    pub tokens: u64,
    /// The window that can be used: the model's, less the reserve for a summary.
    pub context_window: u64,
    /// From here on the conversation is compacted without being asked.
    pub auto_compact_threshold: u64,
    /// From here on a client should warn.
    pub warning_threshold: u64,
    /// From here on a client should warn loudly.
    pub error_threshold: u64,
    /// Free part of the window, 0.0 to 1.0.
    pub percent_left: f64,
}

/// Params of `item/usage/delta`: one call of the model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageDeltaNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// Tokens sent in this call.
    pub input_tokens: u64,
    /// Tokens received in this call.
    pub output_tokens: u64,
    /// Those of `inputTokens` that the provider had in a cache.
    pub cached_input_tokens: Option<u64>,
    /// Those of `outputTokens` that are reasoning.
    pub reasoning_output_tokens: Option<u64>,
    /// What this call cost, in the currency of the prices, where a price is known.
    pub cost: Option<f64>,
    /// Tokens in the window now.
    pub total_input_tokens: Option<u64>,
    /// Tokens received in this Turn so far.
    pub total_output_tokens: Option<u64>,
    /// The window now.
    pub context_usage: Option<ContextUsage>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}
