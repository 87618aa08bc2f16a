//! Questions of a model to the user about what it needs to know. An answer permits nothing.

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, ItemId, ThreadId, TurnId};

/// An answer that the user may choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What the answer would mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A question with its possible answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// The question.
    pub text: String,
    /// Answers to choose from; empty when there are none.
    pub choices: Vec<Choice>,
    /// Whether any other answer is accepted too.
    pub free: bool,
}

/// An open question. Its Item is stored: when the Turn resumes, its call asks with the same id again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id. Questions and Approvals share one space of ids.
    pub id: ApprovalId,
    /// The Thread.
    pub thread: ThreadId,
    /// The Turn that waits.
    pub turn: TurnId,
    /// The Item that records it.
    pub item: ItemId,
    /// The call that asks.
    pub call_id: String,
    /// Whether the Thread is in plan mode, where the question is part of the plan: a client does not skip it.
    pub blocking: bool,
    /// The question with its choices.
    pub inquiry: Inquiry,
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// A text.
    Text(String),
    /// The user does not want to answer.
    None,
}
