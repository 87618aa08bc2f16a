//! Requests and notifications about chats (sections 6, 9 to 14, 20.4, 20.5).

use bobbin_agent_api::tool_server::PromptArgument;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChatId;
use crate::replay::{Meta, Window};

/// Params of `chat/prompt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptParams {
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) message: String,
    pub(crate) model: Option<String>,
    pub(crate) behavior: Option<String>,
    pub(crate) agent: Option<String>,
    /// A reasoning effort.
    pub(crate) variant: Option<String>,
    pub(crate) trust: Option<bool>,
    /// Read one by one; an unreadable one is skipped (section 5).
    pub(crate) contexts: Option<Vec<Value>>,
}

/// The server's reaction to a prompt.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PromptStatus {
    Prompting,
    Error,
}

/// Result of `chat/prompt`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptResult {
    pub(crate) chat_id: ChatId,
    pub(crate) model: String,
    pub(crate) status: PromptStatus,
}

/// Params that name a chat and nothing else.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatParams {
    pub(crate) chat_id: Option<ChatId>,
}

/// Params of `chat/promptSteer` (21.2).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteerParams {
    pub(crate) chat_id: ChatId,
    pub(crate) message: String,
}

/// Params of `chat/rollback` (21.3).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RollbackParams {
    pub(crate) chat_id: ChatId,
    pub(crate) content_id: String,
    pub(crate) include: Option<Vec<String>>,
}

/// Params that name a message of a chat (21.3).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContentParams {
    pub(crate) chat_id: ChatId,
    pub(crate) content_id: String,
}

/// Params of `chat/addFlag` (21.3).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FlagParams {
    pub(crate) chat_id: ChatId,
    pub(crate) content_id: String,
    pub(crate) text: String,
}

/// Params of `chat/toolCallApprove` and `chat/toolCallReject`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallParams {
    pub(crate) chat_id: ChatId,
    pub(crate) tool_call_id: String,
    pub(crate) save: Option<String>,
}

/// Params of `chat/selectedBehaviorChanged` and `chat/selectedAgentChanged`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SelectedModeParams {
    pub(crate) chat_id: Option<ChatId>,
    #[serde(alias = "agent")]
    pub(crate) behavior: String,
}

/// Params of `chat/selectedModelChanged`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SelectedModelParams {
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) model: String,
    pub(crate) variant: Option<String>,
}

/// Params of `chat/update`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateParams {
    pub(crate) chat_id: ChatId,
    pub(crate) title: Option<String>,
    pub(crate) trust: Option<bool>,
}

/// Params of `chat/clear`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClearParams {
    pub(crate) chat_id: ChatId,
    pub(crate) messages: Option<bool>,
}

/// Params of `chat/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListParams {
    pub(crate) limit: Option<usize>,
    pub(crate) sort_by: Option<String>,
}

/// Result of `chat/list`.
#[derive(Debug, Serialize)]
pub(crate) struct ListResult {
    pub(crate) chats: Vec<ListedChat>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedChat {
    pub(crate) id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) model: String,
    pub(crate) message_count: u32,
}

/// Params of `chat/open`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenParams {
    pub(crate) chat_id: ChatId,
    #[serde(flatten)]
    pub(crate) window: Window,
}

/// Result of `chat/open`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenResult {
    pub(crate) found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chat_id: Option<ChatId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selection: Option<Selection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Meta>,
}

/// The selection of a chat.
#[derive(Debug, Serialize)]
pub(crate) struct Selection {
    pub(crate) model: String,
    pub(crate) agent: &'static str,
    pub(crate) variant: Option<&'static str>,
    pub(crate) variants: Vec<&'static str>,
    pub(crate) trust: bool,
}

/// Params of the queries. `query` and `contexts` may be missing (section 12).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryParams {
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) query: Option<String>,
    pub(crate) contexts: Option<Vec<Value>>,
}

/// A context that a client may offer its user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Offered {
    RepoMap,
    Cursor,
    Directory {
        path: String,
    },
    File {
        path: String,
    },
    McpResource {
        uri: String,
        name: String,
        description: String,
        mime_type: String,
        server: String,
    },
}

/// Result of `chat/queryContext`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryContextResult {
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) contexts: Vec<Offered>,
}

/// Result of `chat/queryFiles`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryFilesResult {
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) files: Vec<Offered>,
}

/// Result of `chat/queryCommands`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryCommandsResult {
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) commands: Vec<CommandInfo>,
}

/// A command that a user may type.
#[derive(Debug, Serialize)]
pub(crate) struct CommandInfo {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) arguments: Vec<CommandArgument>,
}

/// An argument of a command.
#[derive(Debug, Serialize)]
pub(crate) struct CommandArgument {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    required: bool,
}

impl CommandArgument {
    pub(crate) fn new(argument: &PromptArgument) -> Self {
        Self {
            name: argument.name.clone(),
            description: argument.description.clone(),
            required: argument.required,
        }
    }
}

/// Result without members.
#[derive(Debug, Serialize)]
pub(crate) struct Empty {}
