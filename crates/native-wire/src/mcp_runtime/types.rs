//! The shapes of `mcpServerStatus/list`, `mcpServer/*` and `config/mcpServer/reload` (AppServer protocol 07 §7.4, §7.5).

use std::collections::BTreeMap;

use bobbin_model::{Json, ServerState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::mcp::types::{McpServerOrigin, McpTransport};

/// How much of each server `mcpServerStatus/list` returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpStatusDetail {
    /// All.
    #[default]
    Full,
    /// No resources and no templates.
    ToolsAndAuthOnly,
}

/// Params of `mcpServerStatus/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct McpServerStatusListParams {
    /// A Thread. Every Thread has the servers of the workspace.
    pub thread_id: Option<String>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// Most servers of the page, 1 to 100. Default 100.
    pub limit: Option<u32>,
    /// How much of each server is returned. Default `full`.
    pub detail: Option<McpStatusDetail>,
}

/// How a user is known at an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpAuthStatus {
    /// By nothing that this server knows.
    Unsupported,
    /// By a login that is missing or does not count any more.
    NotLoggedIn,
    /// By a token of the configuration.
    BearerToken,
    /// By a login.
    OAuth,
}

/// Why an MCP server does not run, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpFailureReason {
    /// The user was logged in and has to do so again.
    ReauthenticationRequired,
}

/// A tool of an MCP server.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRuntimeTool {
    /// The server's own name for it.
    pub name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Option<Json>,
    /// JSON Schema of its structured result.
    pub output_schema: Option<Json>,
}

/// A resource of an MCP server.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRuntimeResource {
    /// Its address, unique on its server.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
}

/// A template of the addresses of resources.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRuntimeResourceTemplate {
    /// The template (RFC 6570).
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The media type of its resources.
    pub mime_type: Option<String>,
}

/// An MCP server with everything that it offers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRuntimeServer {
    /// Its name.
    pub name: String,
    /// The plugin's own name for it.
    pub declared_name: Option<String>,
    /// Its name in methods.
    pub runtime_name: Option<String>,
    /// Whether it may run.
    pub enabled: bool,
    /// How it is reached.
    pub transport: McpTransport,
    /// How far it is, as in `mcp/status/list`.
    pub startup_state: ServerState,
    /// The last problem, while it is not ready.
    pub last_error: Option<String>,
    /// How its user is known there.
    pub auth_status: McpAuthStatus,
    /// Why it does not run, for programs.
    pub failure_reason: Option<McpFailureReason>,
    /// Its own description of itself: `name`, `version` and further members.
    pub server_info: Option<Json>,
    /// Its tools, by the server's own names.
    pub tools: BTreeMap<String, McpRuntimeTool>,
    /// Its resources.
    pub resources: Vec<McpRuntimeResource>,
    /// Its templates of resources.
    pub resource_templates: Vec<McpRuntimeResourceTemplate>,
    /// The number of its tools, while it is ready.
    pub tool_count: Option<u64>,
    /// The number of its resources, while it is ready.
    pub resource_count: Option<u64>,
    /// The number of its templates, while it is ready.
    pub resource_template_count: Option<u64>,
    /// The file or plugin that it comes from.
    pub origin: Option<McpServerOrigin>,
}

/// Result of `mcpServerStatus/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatusListResult {
    /// The servers, by name.
    pub data: Vec<McpRuntimeServer>,
    /// The cursor of the next page; `null` on the last.
    pub next_cursor: Option<String>,
}

/// Params of `mcpServer/tool/call`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerToolCallParams {
    /// The Thread whose rules and policy count.
    pub thread_id: String,
    /// The server.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Option<Json>,
    /// An object that goes with the call.
    #[serde(rename = "_meta")]
    pub meta: Option<Json>,
}

/// Result of `mcpServer/tool/call`: the MCP server's own answer, with all its members.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerToolCallResult {
    /// The content, as MCP has it.
    pub content: Vec<Json>,
    /// The structured result.
    pub structured_content: Option<Json>,
    /// Whether the call failed or was refused.
    pub is_error: Option<bool>,
    /// What the server says beside it.
    #[serde(rename = "_meta")]
    pub meta: Option<Json>,
}

/// Params of `mcpServer/resource/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerResourceReadParams {
    /// A Thread. Every Thread has the servers of the workspace.
    pub thread_id: Option<String>,
    /// The server.
    pub server: String,
    /// The resource.
    pub uri: String,
}

/// Result of `mcpServer/resource/read`: the MCP server's own answer, with all its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerResourceReadResult {
    /// The contents, as MCP has them.
    pub contents: Vec<Json>,
}

/// Params of `mcpServer/oauth/login`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginParams {
    /// The server.
    pub name: String,
    /// A Thread. Every Thread has the servers of the workspace.
    pub thread_id: Option<String>,
    /// Scopes to ask for beside those that the server names.
    pub scopes: Option<Vec<String>>,
    /// How long the user may take, in seconds, 10 minutes at most.
    pub timeout_secs: Option<u32>,
}

/// Result of `mcpServer/oauth/login`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginResult {
    /// The page that the user opens, in a browser on the machine of this server.
    pub authorization_url: String,
}

/// Params of `mcpServer/oauthLogin/completed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginCompletedNotification {
    /// The server.
    pub name: String,
    /// Always `null`: a login counts for every Thread.
    pub thread_id: Option<String>,
    /// Whether the user is logged in. The server is started then.
    pub success: bool,
    /// The problem, as a sentence for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How the start of an MCP server goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpStartupStatus {
    /// It is starting, or waits for the next attempt.
    Starting,
    /// Its tools can be called.
    Ready,
    /// It does not run although it should.
    Failed,
    /// It does not run: it is disabled, stopped, or not allowed yet.
    Cancelled,
}

/// Params of `mcpServer/startupStatus/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStartupStatusUpdatedNotification {
    /// Always `null`: every Thread has the servers of the workspace.
    pub thread_id: Option<String>,
    /// The server.
    pub name: String,
    /// How its start goes.
    pub status: McpStartupStatus,
    /// The problem, as a sentence for the user.
    pub error: Option<String>,
    /// Always `null`; `mcpServerStatus/list` has it.
    pub failure_reason: Option<McpFailureReason>,
    /// How it is reached.
    pub transport: McpTransport,
    /// How its user is known there, as far as the change says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_status: Option<McpAuthStatus>,
}

/// How an MCP server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationMode {
    /// By a form.
    Form,
    /// By a page of the web that the user opens.
    Url,
}

/// Params of `mcpServer/elicitation/request`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationRequestParams {
    /// The server that asks.
    pub server_name: String,
    /// How it asks.
    pub mode: McpElicitationMode,
    /// The Thread of the call during which it asks.
    pub thread_id: Option<String>,
    /// The Turn of that call; absent outside of a Turn.
    pub turn_id: Option<String>,
    /// Its text for the user.
    pub message: Option<String>,
    /// `form`: JSON Schema of the content.
    pub requested_schema: Option<Json>,
    /// `url`: the page, of the scheme `http` or `https`.
    pub url: Option<String>,
    /// `url`: the server's name for the question.
    pub elicitation_id: Option<String>,
    /// Further members that the server sends with it.
    #[serde(rename = "_meta")]
    pub meta: Option<Json>,
}

/// A user's decision about a question of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationAction {
    /// The user agrees.
    Accept,
    /// The user says no.
    Decline,
    /// The user does not decide.
    Cancel,
}

/// Result of `mcpServer/elicitation/request`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationRequestResult {
    /// The decision.
    pub action: McpElicitationAction,
    /// The content of an accepted form, an object that fits `requestedSchema`. Not for anything else.
    pub content: Option<Value>,
    /// Further members for the server.
    #[serde(rename = "_meta")]
    pub meta: Option<Json>,
}
