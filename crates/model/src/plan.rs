//! The plan of a Thread: one current snapshot, replaced whole (AppServer protocol 02 §2.8).

use serde::{Deserialize, Serialize};

/// The tool that makes a plan, as clients know it. Where it was the last call of a Turn in plan mode, the plan waits
/// for a word (02 §2.6).
pub const CREATE_PLAN: &str = "CreatePlan";

/// A plan with its to-do list. Empty texts mean "no such part".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// One line.
    #[serde(default)]
    pub title: String,
    /// A paragraph.
    #[serde(default)]
    pub overview: String,
    /// The plan itself, Markdown.
    #[serde(default)]
    pub content: String,
    /// The steps.
    #[serde(default)]
    pub todos: Vec<Todo>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// Unique in its plan.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How much it matters.
    #[serde(default)]
    pub priority: TodoPriority,
    /// How far it is.
    #[serde(default)]
    pub status: TodoStatus,
}

/// How much a step matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    /// First.
    High,
    /// Ordinary.
    #[default]
    Medium,
    /// When there is time.
    Low,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}
