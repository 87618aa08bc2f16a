//! Payloads of Items about tools: calls, results, commands and file changes.
//!
//! AppServer protocol 03 §5.4 to §5.9 and §5.16. Items about the same call have the same `callId`.

use bobbin_model::{CommandStatus, ExecutionStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{ContentItem, Opaque};

/// Payload of `toolCall`: the model asks for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallPayload {
    /// The tool.
    pub tool_name: String,
    /// The call; every Item about it has the same.
    pub call_id: String,
    /// A JSON object; absent in `item/started` when argument deltas follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Opaque>,
    /// Extension: what there is of arguments that never became a JSON object, because the call was cut off or the
    /// model wrote something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_text: Option<String>,
}

/// Payload of `toolResult`: what the model gets back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultPayload {
    /// The call.
    pub call_id: String,
    /// The text that the model gets.
    pub result: String,
    /// Whether the tool did what it was asked.
    pub success: bool,
}

/// Payload of `commandExecution`: the terminal view of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionPayload {
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub working_directory: String,
    /// On what it runs.
    pub source: CommandSource,
    /// Extension: what holds it, by name, from the outside: `bubblewrap`, `Landlock` with its version, `seccomp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<Vec<String>>,
    /// How far it is.
    pub status: CommandStatus,
    /// All output so far.
    pub aggregated_output: String,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tool call it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The background terminal it went on in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// File with the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// Length of the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_output_chars: Option<u64>,
    /// Whether `aggregatedOutput` was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Why it went into the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_reason: Option<String>,
}

/// On what a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandSource {
    /// The server's machine.
    Host,
    /// A sandbox.
    Sandbox,
}

/// Payload of `toolExecution`: one call among parallel ones, as it runs. The result is in `toolResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolExecutionPayload {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool_name: String,
    /// How far it is.
    pub status: ExecutionStatus,
    /// Whether the tool did what it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// How long it took, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The beginning of the result, at most 4096 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// Payload of `pluginFunctionCall`: a tool of a plugin or channel adapter, call and result in one Item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginFunctionCallPayload {
    /// The plugin.
    pub plugin_id: String,
    /// Its group of functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The function.
    pub function_name: String,
    /// The call.
    pub call_id: String,
    /// A JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Opaque>,
    /// What came back, to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_items: Option<Vec<ContentItem>>,
    /// What came back, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_result: Option<Opaque>,
    /// Whether the function did what it was asked; `false` until it has.
    pub success: bool,
    /// A stable word for what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What went wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// Payload of `dynamicToolCall`: a tool that a client serves, call and result in one Item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallPayload {
    /// Its group of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// The call; begins with `dyntool_`.
    pub call_id: String,
    /// A JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Opaque>,
    /// What came back, to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_items: Option<Vec<ContentItem>>,
    /// What came back, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_result: Option<Opaque>,
    /// Whether the tool did what it was asked; `false` until it has.
    pub success: bool,
    /// A stable word for what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What went wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// Payload of `fileChange`, only for clients that declared `fileChangeItems`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangePayload {
    /// The tool call it belongs to.
    pub call_id: String,
    /// The files.
    pub changes: Vec<FileChange>,
    /// How far it is.
    pub status: FileChangeStatus,
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// What happens to it.
    pub kind: FileChangeKind,
    /// Where a renamed file was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Unified diff.
    pub diff: String,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    /// It is new.
    Add,
    /// Its content changes.
    Modify,
    /// It goes.
    Delete,
    /// It gets another name.
    Rename,
}

/// How far a change to files is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeStatus {
    /// Under way, or waiting for a person's word.
    InProgress,
    /// Done.
    Completed,
    /// Could not be done.
    Failed,
    /// A person said no.
    Declined,
}
