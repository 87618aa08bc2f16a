//! The types of the wire: plugins, what they bring, and what is wrong with them (AppServer protocol 05 §5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// How a plugin is shown.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginInterface {
    /// Its title.
    pub display_name: Option<String>,
    /// Its description in a few words.
    pub short_description: Option<String>,
    /// Its whole description.
    pub long_description: Option<String>,
    /// The name of its developer.
    pub developer_name: Option<String>,
    /// Its kind.
    pub category: Option<String>,
    /// Its capabilities, as its manifest lists them.
    pub capabilities: Vec<String>,
    /// A first message that uses it.
    pub default_prompt: Option<String>,
    /// Its colour, as `#RRGGBB`.
    pub brand_color: Option<String>,
    /// A small picture, at most 512 KiB.
    pub composer_icon_data_url: Option<String>,
    /// A picture, at most 512 KiB.
    pub logo_data_url: Option<String>,
    /// Its page.
    pub website_url: Option<String>,
    /// Its author's page on privacy.
    pub privacy_policy_url: Option<String>,
    /// Its author's terms.
    pub terms_of_service_url: Option<String>,
}

/// The place of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginSource {
    /// In `.craft/plugins` of the workspace.
    Workspace,
    /// In a folder that the configuration names.
    Explicit,
    /// In `~/.craft/plugins`.
    UserGlobal,
    /// In the catalogue. It is not installed.
    Builtin,
}

/// A skill of a plugin.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSkill {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its name for users.
    pub display_name: Option<String>,
    /// Its description in a few words.
    pub short_description: Option<String>,
    /// Whether agents see it.
    pub enabled: bool,
}

/// How an MCP server of a plugin is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginTransport {
    /// The server starts it.
    Stdio,
    /// Over HTTP.
    StreamableHttp,
}

/// The other owner of the name of a plugin's MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginShadow {
    /// The configuration.
    Workspace,
}

/// An MCP server of a plugin.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginMcpServer {
    /// The plugin's name for it.
    pub name: String,
    /// Its name in `mcp/list`: `ID:NAME`.
    pub runtime_name: String,
    /// How it is reached.
    pub transport: PluginTransport,
    /// Whether the plugin declares it enabled.
    pub enabled: bool,
    /// Whether it is among the servers of the workspace.
    pub active: bool,
    /// The other owner of its name, if that one has precedence.
    pub shadowed_by: Option<PluginShadow>,
}

/// A hook of a plugin: a program that is asked at a moment of a Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginHook {
    /// Its key in `hooks/list`.
    pub key: String,
    /// The event, as `event`.
    pub event_name: String,
    /// When it is asked, such as `PreToolUse`.
    pub event: String,
    /// A regular expression of what it is asked about. Everything when left out.
    pub matcher: Option<String>,
    /// The command line that runs.
    pub command: String,
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DiagnosticSeverity {
    /// Something is not used.
    Error,
    /// Something may not be what its author meant.
    Warning,
    /// Something to know.
    Info,
}

/// Something about a plugin that its user should know.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginDiagnostic {
    /// How much it matters.
    pub severity: DiagnosticSeverity,
    /// Its code, for programs: `PluginNotTrusted`, `InvalidPluginManifest` and others.
    pub code: String,
    /// Its message, for users.
    pub message: String,
    /// The plugin.
    pub plugin_id: Option<String>,
    /// The file or folder.
    pub path: Option<String>,
}

/// A plugin.
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them")]
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInfo {
    /// Its id.
    pub id: String,
    /// Its title.
    pub display_name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Whether it is to bring something.
    pub enabled: bool,
    /// Whether it is installed.
    pub installed: bool,
    /// Whether it is in the catalogue and not installed.
    pub installable: bool,
    /// Whether `plugin/remove` removes it.
    pub removable: bool,
    /// The place of the plugin.
    pub source: PluginSource,
    /// Its folder; empty if it is not installed.
    pub root_path: String,
    /// How it is shown.
    pub interface: Option<PluginInterface>,
    /// Always empty: plugins bring tools by MCP servers.
    pub functions: Vec<serde_json::Value>,
    /// Its skills.
    pub skills: Vec<PluginSkill>,
    /// Its MCP servers.
    pub mcp_servers: Vec<PluginMcpServer>,
    /// Its hooks. `diagnostics` has those that cannot be used.
    #[serde(default)]
    pub hooks: Vec<PluginHook>,
    /// Always empty: nothing here serves apps of plugins.
    #[serde(default)]
    pub apps: Vec<serde_json::Value>,
    /// Always empty: nothing here runs workflows of plugins.
    #[serde(default)]
    pub workflows: Vec<serde_json::Value>,
    /// Always empty: nothing here starts language servers of plugins.
    #[serde(default)]
    pub lsp_servers: Vec<serde_json::Value>,
    /// Its diagnostics, for its user.
    pub diagnostics: Vec<PluginDiagnostic>,
}

/// Params of `plugin/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginListParams {
    /// Whether disabled plugins are listed. Default `true`.
    pub include_disabled: Option<bool>,
}

/// Result of `plugin/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginListResult {
    /// The installed ones, then those of the catalogue.
    pub plugins: Vec<PluginInfo>,
    /// The diagnostics of all plugins, and of folders that are no plugin.
    pub diagnostics: Vec<PluginDiagnostic>,
    /// Grows with every change of the plugins. An answer with a smaller number than another is older.
    pub snapshot_revision: u64,
    /// Always empty: there are no marketplaces.
    pub marketplaces: Vec<serde_json::Value>,
    /// The workspace's folder.
    pub workspace_path: String,
}

/// Params of `plugin/view` and `plugin/remove`. Sent twice, a removal finds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginParams {
    /// Which.
    pub id: String,
}

/// Params of `plugin/install`. One of both says which. Sent twice it does the same.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInstallParams {
    /// A plugin of the catalogue.
    pub id: Option<String>,
    /// Extension: absolute path of a folder with a plugin, on the server's machine.
    pub path: Option<String>,
}

/// Params of `plugin/setEnabled`. Sent twice it does the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSetEnabledParams {
    /// Which.
    pub id: String,
    /// Whether it is to bring something.
    pub enabled: bool,
}

/// Params of `plugin/installLocal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInstallLocalParams {
    /// Absolute path of a folder with a plugin, on the server's machine.
    pub path: String,
    /// The place of the copy.
    pub scope: PluginScope,
}

/// The place of an installed plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginScope {
    /// `~/.craft/plugins`, for all workspaces.
    User,
    /// `.craft/plugins` of the workspace.
    Workspace,
}

/// Params of `plugin/skill/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSkillReadParams {
    /// The plugin.
    pub id: String,
    /// Its skill.
    pub name: String,
}

/// Result of `plugin/skill/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSkillReadResult {
    /// The plugin.
    pub id: String,
    /// Its skill.
    pub name: String,
    /// The text of its `SKILL.md`.
    pub content: String,
}

/// Params of `plugin/setTrusted`. Sent twice it does the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSetTrustedParams {
    /// The plugin.
    pub id: String,
    /// Whether its user trusts its present content.
    pub trusted: bool,
}

/// Result of `plugin/view`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginResult {
    /// The plugin.
    pub plugin: PluginInfo,
    /// Grows with every change of the plugins.
    pub snapshot_revision: u64,
}

/// Result of a request that changes a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginWriteResult {
    /// The outcome of the request.
    pub outcome: PluginOutcome,
    /// The plugin now.
    pub plugin: PluginInfo,
    /// Always empty: no plugin depends on another.
    pub affected_plugins: Vec<PluginInfo>,
    /// Reasons for the outcome.
    pub diagnostics: Vec<PluginDiagnostic>,
    /// Grows with every change of the plugins.
    pub snapshot_revision: u64,
}

/// The outcome of a request that changes a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginOutcome {
    /// It was done.
    Applied,
    /// All was so before.
    NoChange,
    /// It cannot be done with this plugin; `diagnostics` has the reason.
    NotApplied,
}

/// Params of `plugin/snapshot/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSnapshotUpdatedNotification {
    /// Grows with every change of the plugins.
    pub snapshot_revision: u64,
    /// The plugins that have changed.
    pub plugin_ids: Vec<String>,
}
