//! Questions of a model to a person: what it wants to know before it goes on. Nothing is permitted by an answer.

use crate::{ApprovalId, ThreadId, TurnId};

/// One thing that a person may answer with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What it would mean.
    pub description: Option<String>,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// The question.
    pub text: String,
    /// What may be answered; empty when there is nothing to choose from.
    pub choices: Vec<Choice>,
    /// Whether anything else may be answered, too.
    pub free: bool,
}

/// An open question. It is as durable as the call that asks it, which is recorded: taken up again, that asks anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id, in one space with those of Approvals.
    pub id: ApprovalId,
    /// The Thread.
    pub thread: ThreadId,
    /// The Turn that waits.
    pub turn: TurnId,
    /// The call that asks.
    pub call_id: String,
    /// What is asked.
    pub inquiry: Inquiry,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// This.
    Text(String),
    /// They do not want to answer.
    None,
}
