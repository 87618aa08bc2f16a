//! MCP servers: their configuration, status and methods.
//!
//! AppServer protocol 05 §8. Values of variables and headers are secrets: they are returned as stored and never logged.

use std::collections::BTreeMap;

use bobbin_model::ServerState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::handshake::types::ClientRequestId;

/// How an MCP server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpTransport {
    /// A child process on its standard streams.
    Stdio,
    /// Streamable HTTP.
    #[serde(alias = "streamable-http", alias = "http")]
    StreamableHttp,
}

/// A time in seconds, whole or not.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and in range"
        )]
        if self.0.fract() == 0.0 && (0.0..1e15).contains(&self.0) {
            // The usual form in files.
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// Where an MCP server's configuration comes from.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOrigin {
    /// Whose it is.
    pub kind: McpOriginKind,
    /// The plugin.
    pub plugin_id: Option<String>,
    /// The plugin's title.
    pub plugin_display_name: Option<String>,
    /// The plugin's own name for the server.
    pub declared_name: Option<String>,
}

/// Whose configuration an MCP server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpOriginKind {
    /// The workspace's.
    Workspace,
    /// A plugin's.
    Plugin,
    /// Extension: the user's own, for all workspaces.
    User,
}

/// Configuration of an MCP server. Which members belong together follows from `transport`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerConfig {
    /// Its name, compared without case.
    pub name: String,
    /// Whether it may run. Default `true`.
    pub enabled: Option<bool>,
    /// How it is reached. When left out, it follows from `url`.
    pub transport: Option<McpTransport>,
    /// `stdio`: the program.
    pub command: Option<String>,
    /// `stdio`: its arguments.
    pub args: Option<Vec<String>>,
    /// `stdio`: variables that are set for it.
    pub env: Option<BTreeMap<String, String>>,
    /// `stdio`: names of variables that it gets from the server's environment.
    pub env_vars: Option<Vec<String>>,
    /// `stdio`: where it starts. Default: the workspace.
    pub cwd: Option<String>,
    /// `streamableHttp`: its address.
    pub url: Option<String>,
    /// `streamableHttp`: name of the variable with the bearer token.
    pub bearer_token_env_var: Option<String>,
    /// `streamableHttp`: headers of every request.
    pub http_headers: Option<BTreeMap<String, String>>,
    /// `streamableHttp`: headers whose values stand in variables: header to variable name.
    pub env_http_headers: Option<BTreeMap<String, String>>,
    /// How long it may take to start.
    pub startup_timeout_sec: Option<Seconds>,
    /// How long a call may take.
    pub tool_timeout_sec: Option<Seconds>,
    /// Where it comes from. Written by the server only.
    pub origin: Option<McpServerOrigin>,
    /// Whether clients may not change it. Written by the server only.
    pub read_only: Option<bool>,
}

/// How an MCP server is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus {
    /// Its name.
    pub name: String,
    /// Whether it may run.
    pub enabled: bool,
    /// How far it is.
    pub startup_state: ServerState,
    /// How many tools it offers.
    pub tool_count: Option<u64>,
    /// How many resources it offers.
    pub resource_count: Option<u64>,
    /// How many templates of resources it offers.
    pub resource_template_count: Option<u64>,
    /// What went wrong last, while it is not ready.
    pub last_error: Option<String>,
    /// Extension: `true` where `mcp/login` would help.
    pub wants_login: Option<bool>,
    /// How it is reached.
    pub transport: McpTransport,
    /// Where it comes from.
    pub origin: Option<McpServerOrigin>,
    /// Whether clients may not change it.
    pub read_only: Option<bool>,
}

/// Result of `mcp/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpListResult {
    /// The servers in effect.
    pub servers: Vec<McpServerConfig>,
}

/// Params of `mcp/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpGetParams {
    /// The server.
    pub name: String,
}

/// Result of `mcp/get` and `mcp/upsert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerResult {
    /// The server as it is stored.
    pub server: McpServerConfig,
}

/// Params of `mcp/upsert`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpUpsertParams {
    /// The whole entry.
    pub server: McpServerConfig,
    /// The file. Default: the workspace's, unless the user's own file has a server of this name.
    pub scope: Option<McpScope>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// The configuration file of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpScope {
    /// The user's own, for all workspaces.
    User,
    /// The workspace's. Its server hides one of the user's own with the same name.
    Workspace,
}

/// Params of `mcp/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRemoveParams {
    /// The server.
    pub name: String,
    /// The file. Default: the workspace's.
    pub scope: Option<McpScope>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `mcp/remove`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpRemoveResult {
    /// Always `true`.
    pub removed: bool,
}

/// Result of `mcp/status/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpStatusListResult {
    /// The servers, by name.
    pub servers: Vec<McpServerStatus>,
}

/// Params of `mcp/test`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTestParams {
    /// The server to try; nothing of it is stored.
    pub server: McpServerConfig,
}

/// Result of `mcp/test`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTestResult {
    /// Whether it could be started.
    pub success: bool,
    /// How many tools it offers.
    pub tool_count: Option<u64>,
    /// `McpServerTestFailed`.
    pub error_code: Option<String>,
    /// What went wrong, as a sentence for the user.
    pub error_message: Option<String>,
}

/// Params of `mcp/login` and `mcp/logout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLoginParams {
    /// The server.
    pub name: String,
}

/// Result of `mcp/login`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLoginResult {
    /// The page that the user opens, in a browser on the machine of this server.
    pub url: String,
}

/// Result of `mcp/logout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLogoutResult {
    /// Whether the user was logged in.
    pub removed: bool,
}

/// Params of `mcp/login/completed`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLoginCompletedNotification {
    /// The server.
    pub name: String,
    /// Whether the user is logged in. The server is started then.
    pub success: bool,
    /// What went wrong, as a sentence for the user.
    pub error_message: Option<String>,
}

/// Params of `mcp/status/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpStatusUpdatedNotification {
    /// The server as it is now.
    pub server: McpServerStatus,
}

/// Params of `workspace/configChanged` (05 §1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceConfigChangedNotification {
    /// The method that caused the change.
    pub source: String,
    /// The parts that are different now.
    pub regions: Vec<String>,
    /// When.
    pub changed_at: Timestamp,
}
