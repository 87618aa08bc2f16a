//! The shapes of `tool/list`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `tool/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolListParams {
    /// `plan` for the tools of plan mode; else those of `agent`.
    pub mode: Option<String>,
}

/// The owner of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolSource {
    /// The server.
    Builtin,
}

/// A tool of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// Its name, as rules and models use it.
    pub name: String,
    /// Its purpose, as models read it.
    pub description: String,
    /// Always empty: this server has no pictures of tools.
    pub icon: String,
    /// Its owner.
    pub source: ToolSource,
    /// Whether plan mode has it.
    pub plan_mode: bool,
}

/// Result of `tool/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolListResult {
    /// The tools by name.
    pub tools: Vec<ListedTool>,
}
