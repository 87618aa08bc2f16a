//! Slash commands: which there are, and running one.
//!
//! AppServer protocol 05 §6.

use bobbin_model::Sender;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;
use crate::thread::types::Thread;

/// Where a command comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandCategory {
    /// The server's own.
    Builtin,
    /// A file of the workspace or the user, a prompt of an MCP server, or a command of the other agent that runs the Thread.
    Custom,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// Its name, with the slash.
    pub name: String,
    /// Other names of it.
    pub aliases: Vec<String>,
    /// What it does.
    pub description: String,
    /// Where it comes from.
    pub category: CommandCategory,
    /// Whether a user of a shared conversation has to be an administrator for it.
    pub requires_admin: bool,
}

/// Params of `command/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandListParams {
    /// Language of the descriptions, `zh` or `en`. There is English only.
    pub language: Option<String>,
    /// Whether the server's own are listed. Default `true`.
    pub include_builtins: Option<bool>,
    /// Extension: the Thread that they are for. With it, the commands of the other agent that runs the Thread come first, and
    /// replace those of the same name.
    pub thread_id: Option<String>,
}

/// Result of `command/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandListResult {
    /// By category, then by name.
    pub commands: Vec<CommandInfo>,
}

/// Params of `command/execute`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecuteParams {
    /// The Thread that it is about.
    pub thread_id: String,
    /// `/name`, possibly with arguments behind it.
    pub command: String,
    /// The arguments, one by one.
    pub arguments: Option<Vec<String>>,
    /// Who runs it.
    pub sender: Option<Sender>,
    /// The client's name for this request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `command/execute`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecuteResult {
    /// Whether it was a command.
    pub handled: bool,
    /// Text to show.
    pub message: Option<String>,
    /// Whether the text is Markdown.
    pub is_markdown: bool,
    /// Of a custom command: what the client sends with `turn/start`.
    pub expanded_prompt: Option<String>,
    /// Whether the conversation goes on in `thread`.
    pub session_reset: Option<bool>,
    /// The new Thread.
    pub thread: Option<Thread>,
    /// Threads that were archived.
    pub archived_thread_ids: Option<Vec<String>>,
    /// Whether the new Thread is not stored before its first Turn.
    pub created_lazily: Option<bool>,
}
