//! Tool calls of the agent.

use serde::{Deserialize, Serialize};

use crate::{ContentBlock, Meta};

/// A tool call, or what changes of it: absent and null members are unchanged.
///
/// The update `tool_call` has at least a title.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call.
    pub tool_call_id: String,
    /// Its work, for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kind of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolCallStatus>,
    /// Its content to show; replaces the content before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolCallContent>>,
    /// Which files it is about; replaces those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// The tool's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<serde_json::Value>,
    /// The tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<serde_json::Value>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The kind of a call's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Thinks or plans.
    Think,
    /// Fetches something from elsewhere.
    Fetch,
    /// Changes the session's mode.
    SwitchMode,
    /// Anything else; unknown kinds count as this one.
    #[serde(other)]
    Other,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Not started.
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// It did not work, or was not allowed.
    Failed,
    /// Another status. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// One part of what a call shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolCallContent {
    /// A block.
    Content {
        /// The block.
        content: ContentBlock,
    },
    /// A change of a file.
    Diff {
        /// The file, an absolute path.
        path: String,
        /// Its text before; none for a new file.
        #[serde(default)]
        old_text: Option<String>,
        /// Its text after.
        new_text: String,
    },
    /// A terminal of the client's.
    Terminal {
        /// The terminal.
        terminal_id: String,
    },
    /// Another part. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The file, an absolute path.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}
