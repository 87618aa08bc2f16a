//! The plan of a Thread: one current snapshot, sent whole.
//!
//! AppServer protocol 02 §2.8 and 03 §8.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan with its to-do list. Empty texts mean "no such part".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlanSnapshot {
    /// One line.
    pub title: String,
    /// A paragraph.
    pub overview: String,
    /// The plan itself, Markdown.
    pub content: String,
    /// The steps.
    pub todos: Vec<PlanTodo>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanTodo {
    /// Unique in its plan.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How much it matters.
    pub priority: TodoPriority,
    /// How far it is.
    pub status: TodoStatus,
}

/// How much a step matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TodoPriority {
    /// First.
    High,
    /// Ordinary.
    Medium,
    /// When there is time.
    Low,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

/// Params of `plan/updated`: always the complete plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdatedNotification {
    /// The Thread whose plan it is.
    pub thread_id: String,
    /// One line.
    pub title: String,
    /// A paragraph.
    pub overview: String,
    /// The plan itself, Markdown.
    pub content: String,
    /// The steps.
    pub todos: Vec<PlanTodo>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl PlanUpdatedNotification {
    /// Announces a plan.
    pub fn new(thread_id: impl Into<String>, plan: PlanSnapshot) -> Self {
        let PlanSnapshot {
            title,
            overview,
            content,
            todos,
        } = plan;
        Self {
            thread_id: thread_id.into(),
            title,
            overview,
            content,
            todos,
            seq: None,
        }
    }
}
