//! Questions of a model to the user about what it needs to know. An answer permits nothing.

use crate::{ApprovalId, ThreadId, TurnId};

/// An answer that the user may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What the answer would mean.
    pub description: Option<String>,
}

/// A question with its possible answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// The question.
    pub text: String,
    /// Answers to choose from; empty when there are none.
    pub choices: Vec<Choice>,
    /// Whether any other answer is accepted too.
    pub free: bool,
}

/// An open question. It is not stored, but its call is: when the Turn resumes, the call asks again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id. Questions and Approvals share one space of ids.
    pub id: ApprovalId,
    /// The Thread.
    pub thread: ThreadId,
    /// The Turn that waits.
    pub turn: TurnId,
    /// The call that asks.
    pub call_id: String,
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
