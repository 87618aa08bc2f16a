//! A model's questions to a user, with suggested answers.
//!
//! AppServer protocol 04 §10 names the method; 07 §4 has the shape.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::item::types::Item;

/// Params of `item/tool/requestUserInput`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestUserInputParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The `userInputRequest` Item.
    pub item_id: String,
    /// The tool call that waits.
    pub call_id: String,
    /// Distinguishes requests; a connection is asked once for each.
    pub request_id: String,
    /// Whether the question is part of a plan. With `false`, a client may answer nothing by itself after a while.
    pub is_blocking: bool,
    /// What is asked; this server asks one question at a time.
    pub questions: Vec<UserInputQuestion>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputQuestion {
    /// Names its answer.
    pub id: String,
    /// A short label.
    pub header: String,
    /// The question.
    pub question: String,
    /// Answers to choose from.
    pub options: Vec<UserInputOption>,
    /// Whether anything else may be answered.
    pub is_other: bool,
    /// Whether the answer must not be shown. This server asks for no secret.
    pub is_secret: bool,
}

/// One answer to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputOption {
    /// The answer.
    pub label: String,
    /// Its meaning; may be empty.
    pub description: String,
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputResolvedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The request.
    pub request_id: String,
    /// The `userInputResponse` Item.
    pub item: Item,
    /// Number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Payload of `userInputRequest`: the model asks the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequestPayload {
    /// Distinguishes requests.
    pub request_id: String,
    /// The tool call that asks.
    pub call_id: String,
    /// Whether the question is part of a plan.
    pub is_blocking: bool,
    /// The questions.
    pub questions: Vec<UserInputQuestion>,
}

/// Payload of `userInputResponse`: the end of such a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserInputResponsePayload {
    /// The request.
    pub request_id: String,
    /// The answers; none if the question was not answered.
    pub response: RequestUserInputResult,
}
