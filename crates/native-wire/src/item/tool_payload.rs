//! Payloads of Items about tools: calls, results, commands and file changes.
//!
//! AppServer protocol 03 §5.4 to §5.9 and §5.16. Items about the same call have the same `callId`.

use bobbin_model::{CommandStatus, ExecutionStatus, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::item::content::ContentItem;

/// Payload of `toolCall`: the model asks for a tool.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallPayload {
    /// The tool.
    pub tool_name: String,
    /// The name under which the model calls the tool.
    pub provider_flat_name: String,
    /// The call; every Item about it has the same.
    pub call_id: String,
    /// A JSON object; absent in `item/started` when argument deltas follow.
    pub arguments: Option<Json>,
    /// Extension: what there is of arguments that never became a JSON object, because the call was cut off or the
    /// model wrote something else.
    pub arguments_text: Option<String>,
}

/// Payload of `toolResult`: what the model gets back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultPayload {
    /// The call.
    pub call_id: String,
    /// The tool, as in the call.
    pub tool_name: String,
    /// The name under which the model called the tool.
    pub provider_flat_name: String,
    /// The text that the model gets.
    pub result: String,
    /// Whether the tool did what it was asked.
    pub success: bool,
}

/// Payload of `commandExecution`: the terminal view of a tool call.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecutionPayload {
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub working_directory: String,
    /// On what it runs.
    pub source: CommandSource,
    /// Extension: what confines it, by name, from the outside: `bubblewrap`, `Landlock` with its version, `seccomp`.
    pub held_by: Option<Vec<String>>,
    /// How far it is.
    pub status: CommandStatus,
    /// All output so far.
    pub aggregated_output: String,
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// How long it took, milliseconds.
    pub duration_ms: Option<u64>,
    /// The tool call it belongs to.
    pub call_id: Option<String>,
    /// The background terminal it went on in.
    pub session_id: Option<String>,
    /// File with the whole output.
    pub output_path: Option<String>,
    /// Length of the whole output.
    pub original_output_chars: Option<u64>,
    /// Whether `aggregatedOutput` was cut.
    pub truncated: Option<bool>,
    /// Why it went into the background.
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
#[skip_serializing_none]
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
    pub success: Option<bool>,
    /// How long it took, milliseconds.
    pub duration_ms: Option<u64>,
    /// The beginning of the result, at most 4096 characters.
    pub result_preview: Option<String>,
    /// What went wrong.
    pub error_message: Option<String>,
}

/// Payload of `pluginFunctionCall`: a tool of a plugin or channel adapter, call and result in one Item.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginFunctionCallPayload {
    /// The plugin.
    pub plugin_id: String,
    /// Its group of functions.
    pub namespace: Option<String>,
    /// The function.
    pub function_name: String,
    /// The call.
    pub call_id: String,
    /// A JSON object.
    pub arguments: Option<Json>,
    /// What came back, to show.
    pub content_items: Option<Vec<ContentItem>>,
    /// What came back, for programs.
    pub structured_result: Option<Json>,
    /// Whether the function did what it was asked; `false` until it has.
    pub success: bool,
    /// A stable word for what went wrong.
    pub error_code: Option<String>,
    /// What went wrong, as a sentence for the user.
    pub error_message: Option<String>,
}

/// Payload of `dynamicToolCall`: a tool that a client serves, call and result in one Item.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallPayload {
    /// Its group of tools.
    pub namespace: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// The name under which the model calls the tool: `NAMESPACE__TOOL`, or the tool's alone.
    pub provider_flat_name: String,
    /// How far it is.
    pub status: ExecutionStatus,
    /// The call; begins with `dyntool_`.
    pub call_id: String,
    /// A JSON object.
    pub arguments: Option<Json>,
    /// What came back, to show.
    pub content_items: Option<Vec<ContentItem>>,
    /// What came back, for programs.
    pub structured_result: Option<Json>,
    /// Whether the tool did what it was asked; `false` until it has.
    pub success: bool,
    /// A stable word for what went wrong.
    pub error_code: Option<String>,
    /// What went wrong, as a sentence for the user.
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// What happens to it.
    pub kind: FileChangeKind,
    /// Where a renamed file was.
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
    /// It runs, or waits for an approval.
    InProgress,
    /// Done.
    Completed,
    /// Could not be done.
    Failed,
    /// The user declined it.
    Declined,
}
