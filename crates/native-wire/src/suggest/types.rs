//! Suggestions: a commit message, and ideas for a first input.
//!
//! AppServer protocol 03 §14.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::thread::types::SessionIdentity;

/// Params of `workspace/commitMessage/suggest`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitMessageSuggestParams {
    /// The Thread whose model and settings are used. Extension: those of the workspace when left out.
    pub thread_id: Option<String>,
    /// The files, at least one.
    pub paths: Vec<String>,
    /// At most so much of the diff. Default 100 000.
    pub max_diff_chars: Option<u64>,
}

/// Result of `workspace/commitMessage/suggest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitMessageSuggestResult {
    /// The message.
    pub message: String,
}

/// Params of `welcome/suggestions`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WelcomeSuggestionsParams {
    /// Who asks.
    pub identity: SessionIdentity,
    /// At most so many, up to 4.
    pub max_items: Option<u32>,
}

/// Result of `welcome/suggestions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WelcomeSuggestionsResult {
    /// The ideas.
    pub items: Vec<WelcomeSuggestion>,
    /// Whether there are any.
    pub source: WelcomeSuggestionSource,
    /// When they were made.
    pub generated_at: Timestamp,
    /// Changes when what they were made from changes.
    pub fingerprint: String,
}

/// An idea for a first input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WelcomeSuggestion {
    /// A short title.
    pub title: String,
    /// The input.
    pub prompt: String,
    /// Why it might be of use.
    pub reason: String,
}

/// Where suggestions came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WelcomeSuggestionSource {
    /// From the workspace's recent history.
    Dynamic,
    /// Disabled, or too little history.
    None,
}
