//! Skills: instructions that an agent reads when they are of use.
//!
//! AppServer protocol 05 §4.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

/// Whose a skill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SkillSource {
    /// The workspace's.
    Workspace,
    /// A plugin's.
    Plugin,
    /// The server's own.
    Builtin,
    /// The user's, for every workspace.
    User,
}

/// A skill.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillInfo {
    /// Its directory's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its name for users.
    pub display_name: Option<String>,
    /// Its description in a few words.
    pub short_description: Option<String>,
    /// What to say to begin with it.
    pub default_prompt: Option<String>,
    /// Whose it is.
    pub source: SkillSource,
    /// The plugin that it comes with.
    pub plugin_id: Option<String>,
    /// That plugin's title.
    pub plugin_display_name: Option<String>,
    /// Whether the machine has what it needs.
    pub available: bool,
    /// What is missing.
    pub unavailable_reason: Option<String>,
    /// Whether agents are told of it.
    pub enabled: bool,
    /// Absolute path of its `SKILL.md`.
    pub path: String,
    /// What the head of the file says.
    pub metadata: Option<BTreeMap<String, Value>>,
}

/// Params of `skills/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListParams {
    /// Whether those are listed that miss something. Default `true`.
    pub include_unavailable: Option<bool>,
}

/// Result of `skills/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListResult {
    /// By name.
    pub skills: Vec<SkillInfo>,
}

/// Params of the methods about one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillParams {
    /// Which.
    pub name: String,
}

/// Result of `skills/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsReadResult {
    /// Which.
    pub name: String,
    /// The file as it is.
    pub content: String,
    /// What its head says.
    pub metadata: Option<BTreeMap<String, Value>>,
}

/// Result of `skills/view`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsViewResult {
    /// Which.
    pub name: String,
    /// What an agent reads.
    pub content: String,
}

/// Result of `skills/restoreOriginal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsRestoreOriginalResult {
    /// Which.
    pub name: String,
    /// Whether it was not the original already.
    pub restored: bool,
}

/// Params of `skills/setEnabled`. Sent twice it does the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsSetEnabledParams {
    /// Which.
    pub name: String,
    /// Whether agents are told of it.
    pub enabled: bool,
}

/// Result of `skills/setEnabled`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsSetEnabledResult {
    /// The skill as it is now.
    pub skill: SkillInfo,
}

/// Result of `skills/uninstall`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsUninstallResult {
    /// Which.
    pub name: String,
    /// Whether it is gone.
    pub uninstalled: bool,
    /// Whose it was.
    pub source: SkillSource,
    /// Absolute path of the directory that was removed.
    pub removed_source_path: String,
    /// Adaptations of it that went with it.
    pub removed_variant_count: u32,
}
