//! The plan of a Thread: one current snapshot, sent whole.
//!
//! AppServer protocol 02 §2.8 and 03 §8.

use bobbin_model::{Plan, Todo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `plan/updated`: always the complete plan.
#[skip_serializing_none]
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
    pub todos: Vec<Todo>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

impl PlanUpdatedNotification {
    /// Announces a plan.
    pub fn new(thread_id: impl Into<String>, plan: Plan) -> Self {
        let Plan {
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
