//! Requests towards clients: windows, questions, choices of files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesWindowClosedParams {
    /// The window.
    pub window_id: String,
}

/// Params of `hermes/ui/openWindow`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesWindow {
    /// The page: `http` or `https`.
    pub url: String,
    /// The title.
    pub title: String,
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// Whether it is modal.
    pub modal: bool,
    /// Whether its size can be changed.
    pub resizable: bool,
    /// Its id, for `hermes/ui/windowClosed`.
    pub window_id: String,
    /// The extension that asks.
    pub extension_id: String,
    /// The Thread that it is about.
    pub thread_id: Option<String>,
}

/// Params of `hermes/ui/showMessage`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesMessage {
    /// The message.
    pub message: String,
    /// The title.
    pub title: Option<String>,
    /// Its severity.
    pub kind: HermesSeverity,
    /// The extension that asks.
    pub extension_id: String,
    /// The Thread that it is about.
    pub thread_id: Option<String>,
}

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesSeverity {
    /// For information.
    Info,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// Params of `hermes/ui/showConfirm`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesConfirm {
    /// The question.
    pub message: String,
    /// The title.
    pub title: Option<String>,
    /// The two answers.
    pub buttons: HermesButtons,
    /// The extension that asks.
    pub extension_id: String,
    /// The Thread that it is about.
    pub thread_id: Option<String>,
}

/// The two answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesButtons {
    /// Yes and no.
    YesNo,
    /// OK and cancel.
    OkCancel,
}

/// Result of `hermes/ui/showConfirm`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesConfirmed {
    /// Whether the user agrees.
    pub confirmed: bool,
}

/// Params of the choices of files and directories. All paths are of the server's machine.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesChoice {
    /// The title.
    pub title: Option<String>,
    /// The directory or file to start with.
    pub default_path: Option<String>,
    /// The suggested name of a saved file.
    pub default_name: Option<String>,
    /// The kinds of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<HermesFilter>,
    /// The extension that asks.
    pub extension_id: String,
    /// The Thread that it is about.
    pub thread_id: Option<String>,
}

/// A kind of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesFilter {
    /// Its name.
    pub name: String,
    /// Without a dot; `*` is any.
    pub extensions: Vec<String>,
}

/// Result of a choice of one path.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPath {
    /// The path; absent or `null` if the user cancels.
    pub path: Option<String>,
}

/// Result of a choice of paths.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPaths {
    /// The paths; absent or `null` if the user cancels.
    pub paths: Option<Vec<String>>,
}
