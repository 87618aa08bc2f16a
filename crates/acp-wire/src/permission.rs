//! The agent asks whether a tool call may run.

use serde::{Deserialize, Serialize};

use crate::{Meta, ToolCall};

/// The parameters of `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionParams {
    /// The session.
    pub session_id: String,
    /// The call, or what changes of it.
    pub tool_call: ToolCall,
    /// The answers to choose from, in the order to show them.
    pub options: Vec<PermissionOption>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// One answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// Its name for programs; the agent's choice.
    pub option_id: String,
    /// Its name for users.
    pub name: String,
    /// Its meaning.
    pub kind: OptionKind,
}

/// The meaning of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and from now on.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, and from now on.
    RejectAlways,
    /// Something else. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The answer of `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPermissionResult {
    /// The user's decision.
    pub outcome: PermissionOutcome,
}

/// The user's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PermissionOutcome {
    /// One of the answers.
    Selected {
        /// A [`PermissionOption::option_id`].
        option_id: String,
    },
    /// Nothing; unknown outcomes count as this one.
    #[serde(other)]
    Cancelled,
}
