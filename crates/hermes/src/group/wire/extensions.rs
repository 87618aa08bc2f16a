//! Extensions, their logs and their toolbar.

use crate::{ExtensionStatus, Level};
use bobbin_native_wire::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Result of `hermes/extension/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesExtensionListResult {
    /// In the order of the configuration.
    pub extensions: Vec<ExtensionStatus>,
}

/// Params of `hermes/extension/setEnabled`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSetEnabledParams {
    /// The extension.
    pub id: String,
    /// Whether it is enabled.
    pub enabled: bool,
}

/// Params of `hermes/extension/logs`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesLogsParams {
    /// The extension.
    pub id: String,
    /// Reads on after this entry; otherwise the last entries are read.
    pub after: Option<u64>,
    /// Most entries. Default 100, up to 1,000.
    pub limit: Option<u32>,
}

/// Result of `hermes/extension/logs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesLogsResult {
    /// Oldest first.
    pub entries: Vec<HermesLogEntry>,
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesLogEntry {
    /// Its number, from 1 on.
    pub number: u64,
    /// When it was written.
    pub timestamp: Timestamp,
    /// Its severity.
    pub level: Level,
    /// The text. It may have data of patients in it.
    pub message: String,
}

/// Result of `hermes/toolbar/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesToolbarResult {
    /// In the order of the extensions.
    pub buttons: Vec<HermesToolbarButton>,
}

/// A button and its extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesToolbarButton {
    /// The extension.
    pub extension_id: String,
    /// The button.
    pub button: HermesButton,
}

/// A button.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesButton {
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// SVG without scripts, styles and references. Empty if the extension gave none that can be used.
    pub icon: String,
    /// The command that it runs.
    pub command: String,
    /// Buttons of one group are shown together.
    pub group: Option<String>,
}

/// Params of `hermes/toolbar/changed`: read the list again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesToolbarChanged {}

/// Params of `hermes/command/execute`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesCommandParams {
    /// The command.
    pub command: String,
    /// The Thread whose document the extension is to use.
    pub thread_id: Option<String>,
}
