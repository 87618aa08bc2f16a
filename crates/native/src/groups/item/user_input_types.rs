//! A model's questions to a user, with suggested answers.
//!
//! AppServer protocol 04 §10 names the method; the shape is that of the servers that have it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `item/tool/requestUserInput`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestUserInputParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The tool call that waits.
    pub call_id: String,
    /// Tells requests apart; a connection is asked once for each.
    pub request_id: String,
    /// What is asked; this server asks one question at a time.
    pub questions: Vec<UserInputQuestion>,
}

/// One question.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputQuestion {
    /// Names its answer.
    pub id: String,
    /// The question.
    pub question: String,
    /// Answers to choose from.
    pub options: Option<Vec<UserInputOption>>,
    /// Whether anything else may be answered.
    pub is_other: bool,
}

/// One answer to choose.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputOption {
    /// The answer.
    pub label: String,
    /// What it would mean.
    pub description: Option<String>,
}

/// Result of `item/tool/requestUserInput`; without an answer to a question, nobody wants to give one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestUserInputResult {
    /// By the ids of the questions.
    pub answers: BTreeMap<String, UserInputAnswer>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputAnswer {
    /// A label, or what was written.
    pub answers: Vec<String>,
}

/// Params of `item/tool/requestUserInput/resolved`: it is answered, or nobody waits for the answer any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputResolvedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The tool call.
    pub call_id: String,
    /// The request.
    pub request_id: String,
}
