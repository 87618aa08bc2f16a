//! Requests that the server sends to a client, other than approvals.
//!
//! AppServer protocol 04 §7 to §9. The shapes of custom editor methods (`ext/acp/FAMILY/METHOD`) are opaque to the
//! server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::item::content::ContentItem;
use bobbin_model::Json;

/// Params of `item/tool/call`: run a tool that the client gave in `thread/start`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The call; begins with `dyntool_`.
    pub call_id: String,
    /// The tool's group, when it has one.
    pub namespace: Option<String>,
    /// The tool.
    pub tool: String,
    /// A JSON object.
    pub arguments: Json,
}

/// Result of `item/tool/call`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    /// Whether the tool did what it was asked.
    pub success: bool,
    /// What it brought back, to show.
    pub content_items: Option<Vec<ContentItem>>,
    /// What it brought back, for programs.
    pub structured_result: Option<Json>,
    /// A stable word for what went wrong.
    pub error_code: Option<String>,
    /// What went wrong, as a sentence for the user.
    pub error_message: Option<String>,
}

/// Params of `ext/acp/fs/readTextFile`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpReadTextFileParams {
    /// The Thread.
    pub thread_id: String,
    /// The file, absolute.
    pub path: String,
    /// First line, counted from 1.
    pub offset: Option<u64>,
    /// At most so many lines.
    pub limit: Option<u64>,
}

/// Result of `ext/acp/fs/readTextFile`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpReadTextFileResult {
    /// The text, with unsaved changes of the editor.
    pub content: String,
}

/// Params of `ext/acp/fs/writeTextFile`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpWriteTextFileParams {
    /// The Thread.
    pub thread_id: String,
    /// The file, absolute.
    pub path: String,
    /// The new text.
    pub content: String,
}

/// Result of `ext/acp/fs/writeTextFile`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpWriteTextFileResult {
    /// Whether it was written.
    pub success: bool,
}

/// Params of `ext/acp/terminal/create`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpTerminalCreateParams {
    /// The Thread.
    pub thread_id: String,
    /// The command line.
    pub command: String,
    /// Where to run it.
    pub cwd: Option<String>,
    /// Its environment, besides the editor's.
    pub env: Option<BTreeMap<String, String>>,
}

/// Result of `ext/acp/terminal/create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpTerminalCreateResult {
    /// The editor's id for the terminal.
    pub terminal_id: String,
}

/// Params of `ext/acp/terminal/getOutput`, `kill` and `release`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpTerminalParams {
    /// The Thread.
    pub thread_id: String,
    /// The editor's id for the terminal.
    pub terminal_id: String,
}

/// Result of `ext/acp/terminal/getOutput`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpTerminalOutputResult {
    /// The output so far.
    pub output: String,
    /// The exit code, once there is one.
    pub exit_code: Option<i64>,
}

/// Params of `ext/acp/terminal/waitForExit`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpTerminalWaitParams {
    /// The Thread.
    pub thread_id: String,
    /// The editor's id for the terminal.
    pub terminal_id: String,
    /// Wait at most so long, seconds.
    pub timeout: Option<u64>,
}

/// Result of `ext/acp/terminal/waitForExit`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcpTerminalWaitResult {
    /// The exit code, if it ended.
    pub exit_code: Option<i64>,
}

/// Params of `ext/nodeRepl/evaluate`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReplEvaluateParams {
    /// The Thread.
    pub thread_id: String,
    /// The evaluation; begins with `node-repl-`.
    pub evaluation_id: String,
    /// JavaScript.
    pub code: String,
    /// Milliseconds, 1 000 to 120 000. Default 30 000.
    pub timeout_ms: Option<u64>,
}

/// Result of `ext/nodeRepl/evaluate`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReplEvaluateResult {
    /// What was printed.
    pub text: Option<String>,
    /// The value.
    pub result_text: Option<String>,
    /// Pictures that were made.
    pub images: Option<Vec<crate::item::content::ImageContent>>,
    /// Log lines, in the client's own shape.
    pub logs: Option<Json>,
    /// What went wrong, in the client's own shape.
    pub error: Option<Json>,
}

/// Params of `ext/nodeRepl/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReplCancelParams {
    /// The Thread.
    pub thread_id: String,
    /// The evaluation.
    pub evaluation_id: String,
}

/// Result of `ext/nodeRepl/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReplCancelResult {
    /// Whether there was something to cancel.
    pub ok: bool,
}

/// Returns the name of a custom editor method.
pub fn acp_extension_method(family: &str, method: &str) -> String {
    format!("ext/acp/{family}/{method}")
}
