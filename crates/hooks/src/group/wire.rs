//! The shapes of `hooks/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Params of `hooks/list`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HooksListParams {}

/// Params of `hooks/setState`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksSetStateParams {
    /// The hook's key.
    pub key: String,
    /// Whether it runs in this workspace. Absent: as before.
    pub enabled: Option<bool>,
    /// The `currentHash` of the hook that the user has seen and trusts. Absent: as before.
    pub trusted_hash: Option<String>,
}

/// Params of `hooks/trustPlugin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HooksTrustPluginParams {
    /// The plugin.
    pub plugin_id: String,
}

/// Result of `hooks/list`, `hooks/setState` and `hooks/trustPlugin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HooksListResult {
    /// All hooks: the user's, the workspace's, those of plugins.
    pub hooks: Vec<HookInfo>,
    /// Mistakes in entries. Other entries of the file are not affected.
    pub warnings: Vec<String>,
    /// Files that cannot be read.
    pub errors: Vec<HookFileError>,
}

/// A file whose hooks cannot be read.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookFileError {
    /// A sentence for the user.
    pub message: String,
    /// The file.
    pub path: Option<String>,
}

/// The kind of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookHandler {
    /// A command line.
    Command,
}

/// Whether the agent waits for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookExecution {
    /// It waits. All hooks here are of this kind.
    Sync,
}

/// The owner of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookSource {
    /// The user's own configuration.
    User,
    /// The configuration of the workspace.
    Workspace,
    /// A plugin.
    Plugin,
}

/// Whether the user trusts a hook as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookTrust {
    /// It runs.
    Trusted,
    /// It does not run.
    Untrusted,
    /// It does not run: it has come or changed since the user trusted the folder.
    Modified,
}

/// A hook: a program that is asked at a moment of a Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookInfo {
    /// Its key for the other methods.
    pub key: String,
    /// When it is asked, such as `PreToolUse`.
    pub event_name: String,
    /// Its kind.
    pub handler_type: HookHandler,
    /// Longest time that it may take, in seconds.
    pub timeout_sec: f64,
    /// Whether the agent waits for it.
    pub execution_mode: HookExecution,
    /// Always `false`.
    pub async_rewake: bool,
    /// Its owner.
    pub source: HookSource,
    /// Its file, or the folder of its plugin.
    pub source_path: String,
    /// Its place in this list, from 0.
    pub display_order: usize,
    /// Whether it is switched on, and its plugin enabled.
    pub enabled: bool,
    /// Always `false`.
    pub is_managed: bool,
    /// `sha256:` and a digest of what would run.
    pub current_hash: String,
    /// Whether the user trusts it as it is now.
    pub trust_status: HookTrust,
    /// A regular expression of what it is asked about. Everything when left out.
    pub matcher: Option<String>,
    /// The command line that runs.
    pub command: Option<String>,
    /// Its plugin.
    pub plugin_id: Option<String>,
}
