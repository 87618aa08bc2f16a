//! Skills: instructions that an agent reads when they are of use.
//!
//! AppServer protocol 05 §4.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

/// The owner of a skill.
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
    /// Its purpose.
    pub description: String,
    /// Its name for users.
    pub display_name: Option<String>,
    /// Its description in a few words.
    pub short_description: Option<String>,
    /// A first input that uses it.
    pub default_prompt: Option<String>,
    /// Its owner.
    pub source: SkillSource,
    /// The plugin that it comes with.
    pub plugin_id: Option<String>,
    /// That plugin's title.
    pub plugin_display_name: Option<String>,
    /// Whether the machine meets its requirements.
    pub available: bool,
    /// The missing requirement.
    pub unavailable_reason: Option<String>,
    /// Whether agents are offered it.
    pub enabled: bool,
    /// Absolute path of its `SKILL.md`.
    pub path: String,
    /// The front matter of the file.
    pub metadata: Option<BTreeMap<String, Value>>,
}

/// Params of `skills/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsListParams {
    /// Whether skills with a missing requirement are listed. Default `true`.
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
    /// The skill.
    pub name: String,
}

/// Result of `skills/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsReadResult {
    /// The skill.
    pub name: String,
    /// The file, unchanged.
    pub content: String,
    /// Its front matter.
    pub metadata: Option<BTreeMap<String, Value>>,
}

/// Result of `skills/view`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsViewResult {
    /// The skill.
    pub name: String,
    /// The text that an agent reads.
    pub content: String,
}

/// Result of `skills/restoreOriginal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsRestoreOriginalResult {
    /// The skill.
    pub name: String,
    /// Whether an adapted skill was replaced by its original.
    pub restored: bool,
}

/// Params of `skills/setEnabled`. Repeating them changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsSetEnabledParams {
    /// The skill.
    pub name: String,
    /// Whether agents are offered it.
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
    /// The skill.
    pub name: String,
    /// Whether it was removed.
    pub uninstalled: bool,
    /// Its owner.
    pub source: SkillSource,
    /// Absolute path of the removed directory.
    pub removed_source_path: String,
    /// Number of adapted copies that were removed with it.
    pub removed_variant_count: u32,
}
