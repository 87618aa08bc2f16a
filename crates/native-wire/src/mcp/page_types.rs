//! The tools, resources and prompts of MCP servers, in pages. Extensions of the protocol.

use std::collections::BTreeMap;

use bobbin_model::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `mcp/tool/list`, `mcp/resource/list` and `mcp/prompt/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPageParams {
    /// The server; all when left out.
    pub server: Option<String>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// Most entries of the page. Default 100, at most 256.
    pub limit: Option<u32>,
}

/// A tool of an MCP server.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// The server.
    pub server: String,
    /// The server's own name for it.
    pub name: String,
    /// The name under which models get it, and rules speak of it.
    pub offered_as: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Json,
    /// What the server says of it; nobody has checked that.
    pub annotations: Option<McpToolAnnotations>,
}

/// What an MCP server says of one of its tools.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolAnnotations {
    /// Its name for users.
    pub title: Option<String>,
    /// Whether it changes nothing.
    pub read_only_hint: Option<bool>,
    /// Whether it may destroy something.
    pub destructive_hint: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent_hint: Option<bool>,
    /// Whether it reaches beyond what the server owns.
    pub open_world_hint: Option<bool>,
}

/// Result of `mcp/tool/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolListResult {
    /// The tools, by server.
    pub tools: Vec<McpTool>,
    /// Where the next page begins; absent on the last.
    pub next_cursor: Option<String>,
}

/// A resource of an MCP server.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResource {
    /// The server.
    pub server: String,
    /// Its address, unique on its server.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Its kind.
    pub mime_type: Option<String>,
}

/// Result of `mcp/resource/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResourceListResult {
    /// The resources, by server.
    pub resources: Vec<McpResource>,
    /// Where the next page begins; absent on the last.
    pub next_cursor: Option<String>,
}

/// Params of `mcp/resource/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResourceReadParams {
    /// The server.
    pub server: String,
    /// The resource.
    pub uri: String,
}

/// A prompt of an MCP server.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPrompt {
    /// The server.
    pub server: String,
    /// Its name, unique on its server.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes, in order.
    pub arguments: Vec<McpPromptArgument>,
}

/// What a prompt of an MCP server takes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: bool,
}

/// Result of `mcp/prompt/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPromptListResult {
    /// The prompts, by server.
    pub prompts: Vec<McpPrompt>,
    /// Where the next page begins; absent on the last.
    pub next_cursor: Option<String>,
}

/// Params of `mcp/prompt/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPromptGetParams {
    /// The server.
    pub server: String,
    /// The prompt.
    pub name: String,
    /// The values of its arguments.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// Result of `mcp/resource/read` and `mcp/prompt/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTextResult {
    /// The text, at most 128 KiB; a longer one loses its middle.
    pub text: String,
}
