//! The shapes of `hermes/*`.

use std::collections::BTreeMap;

use bobbin_native::wire::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[cfg(test)]
mod examples;

/// Result of `hermes/extension/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesExtensionListResult {
    /// In the order of the configuration.
    pub extensions: Vec<HermesExtension>,
}

/// An extension.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesExtension {
    /// Its id.
    pub id: String,
    /// Its program, as configured.
    pub path: String,
    /// Its label, or what it calls itself.
    pub name: String,
    /// Its version, once it has run.
    pub version: String,
    /// What it does.
    pub state: HermesExtensionState,
    /// Whether it is to run.
    pub enabled: bool,
    /// Why it failed.
    pub error: Option<String>,
}

/// What an extension does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesExtensionState {
    /// Its process is started.
    Starting,
    /// It was asked what it offers.
    Initializing,
    /// It serves.
    Running,
    /// It was asked to end.
    ShuttingDown,
    /// It does not run.
    Stopped,
    /// It does not run, because something went wrong.
    Failed,
}

/// Params of `hermes/extension/setEnabled`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSetEnabledParams {
    /// The extension.
    pub id: String,
    /// Whether it is to run.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesLogsResult {
    /// Oldest first.
    pub entries: Vec<HermesLogEntry>,
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesLogEntry {
    /// Its number, from 1 on.
    pub number: u64,
    /// When it was written.
    pub timestamp: Timestamp,
    /// How much it matters.
    pub level: HermesLogLevel,
    /// The text. It may have data of patients in it.
    pub message: String,
}

/// How much an entry matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesLogLevel {
    /// Something failed.
    Error,
    /// Something may be wrong.
    Warn,
    /// Anything else.
    Info,
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

/// Params of `hermes/document/open`. Without `path` and `text`, the document is empty.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesOpenParams {
    /// The Thread.
    pub thread_id: String,
    /// A file of the server's machine; a relative path is one of the workspace.
    pub path: Option<String>,
    /// The text of a new document.
    pub text: Option<String>,
    /// Discards the changes of the document that the Thread has. Default `false`.
    #[serde(default)]
    pub discard: bool,
}

/// A document, without its text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesDocument {
    /// The Thread.
    pub thread_id: String,
    /// The number of accepted changes.
    pub version: u64,
    /// Whether it differs from its file.
    pub dirty: bool,
    /// Its file.
    pub file_path: Option<String>,
    /// The encoding that it is saved in.
    pub encoding: String,
    /// How many steps can be taken back.
    pub undo_steps: u64,
    /// How many can be made again.
    pub redo_steps: u64,
}

/// Params of `hermes/document/changed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesDocumentChanged {
    /// The document.
    pub document: HermesDocument,
    /// Who changed it.
    pub origin: HermesOrigin,
}

/// Who changed a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HermesOrigin {
    /// A user, through a client.
    Client,
    /// An extension.
    Extension {
        /// Its id.
        extension_id: String,
    },
    /// The agent of the Thread.
    Agent,
}

/// Params of `hermes/document/get`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesGetParams {
    /// The Thread.
    pub thread_id: String,
    /// `hl7` (with CR as line ends), `json`, `yaml` or `toml`. Without it, the text as it is, in which `change` counts.
    pub format: Option<String>,
    /// How JSON, YAML and TOML are laid out. Default `segments`.
    pub shape: Option<HermesShape>,
}

/// How a message is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesShape {
    /// A list of segments.
    Segments,
    /// Segments of one name together.
    Keyed,
}

/// Result of `hermes/document/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesText {
    /// The text.
    pub text: String,
    /// The version that it is of.
    pub version: u64,
}

/// Params of `hermes/document/change`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesChangeParams {
    /// The Thread.
    pub thread_id: String,
    /// The version that the edits were made on.
    pub version: u64,
    /// Made one after the other, all or none.
    pub edits: Vec<HermesEdit>,
}

/// A replacement of a part of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesEdit {
    /// Where the part starts, in bytes of UTF-8.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// What comes in its place.
    pub text: String,
}

/// Params of `hermes/document/set`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSetParams {
    /// The Thread.
    pub thread_id: String,
    /// The message.
    pub text: String,
    /// `hl7`, `json`, `yaml` or `toml`. Default `hl7`.
    pub format: Option<String>,
    /// Refused with the reason `conflict` if the document has another one.
    pub version: Option<u64>,
}

/// Params of `hermes/document/patch`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPatchParams {
    /// The Thread.
    pub thread_id: String,
    /// Made one after the other; one that fails is skipped.
    pub patches: Vec<HermesPatch>,
    /// Refused with the reason `conflict` if the document has another one.
    pub version: Option<u64>,
}

/// A change of one place.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPatch {
    /// The place, such as `PID.5.1` or `OBX[2]`.
    pub path: String,
    /// What it is to hold. Without it, the place is cleared.
    pub value: Option<String>,
    /// Removes a segment, or clears a place. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
    /// Creates a segment. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create: bool,
}

/// Result of `hermes/document/patch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPatchResult {
    /// Whether all were made.
    pub success: bool,
    /// How many were.
    pub patches_applied: u64,
    /// Those that were skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<HermesPatchFailure>,
}

/// A patch that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPatchFailure {
    /// Its position, from 0.
    pub index: u64,
    /// Its path.
    pub path: String,
    /// Why.
    pub message: String,
}

/// Params of `hermes/document/undo` and `redo`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesStepParams {
    /// The Thread.
    pub thread_id: String,
    /// Refused with the reason `conflict` if the document has another one.
    pub version: Option<u64>,
}

/// Params of `hermes/document/save`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSaveParams {
    /// The Thread.
    pub thread_id: String,
    /// Another file, which is the document's from then on.
    pub path: Option<String>,
}

/// Params of `hermes/document/close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesCloseParams {
    /// The Thread.
    pub thread_id: String,
    /// Discards changes. Default `false`.
    #[serde(default)]
    pub discard: bool,
}

/// A Thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesFocusParams {
    /// The Thread.
    pub thread_id: String,
}

/// Result of `hermes/document/validate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesFindings {
    /// In the order of the message.
    pub findings: Vec<HermesFinding>,
    /// Whether there are more.
    pub truncated: bool,
}

/// Something that does not fit the schema.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesFinding {
    /// The place; absent for the message as a whole.
    pub path: Option<String>,
    /// What does not fit, without a value.
    pub message: String,
}

/// Params of `hermes/schema/segment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSegmentParams {
    /// The name of the segment.
    pub segment: String,
}

/// Result of `hermes/schema/segment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSegment {
    /// By field and component.
    pub fields: Vec<HermesField>,
}

/// What is known of a field.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesField {
    /// Its number.
    pub field: u8,
    /// The number of the component.
    pub component: Option<u8>,
    /// What it is called.
    pub name: Option<String>,
    /// A heading.
    pub group: Option<String>,
    /// A remark.
    pub note: Option<String>,
    /// Whether it must have a value.
    pub required: Option<bool>,
    /// The least number of characters.
    pub minlength: Option<u32>,
    /// The largest number of characters.
    pub maxlength: Option<u32>,
    /// A regular expression for the whole value.
    pub pattern: Option<String>,
    /// What kind of text it is.
    pub datatype: Option<HermesDataType>,
    /// What an empty field shows.
    pub placeholder: Option<String>,
    /// Its codes with their meanings.
    pub values: Option<BTreeMap<String, String>>,
    /// A text to begin with.
    pub template: Option<String>,
}

/// A kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HermesDataType {
    /// A date.
    Date,
    /// A date with a time.
    DateTime,
}

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
    /// Whether the user deals with it first.
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
    /// How much it matters.
    pub kind: HermesSeverity,
    /// The extension that asks.
    pub extension_id: String,
    /// The Thread that it is about.
    pub thread_id: Option<String>,
}

/// How much a message matters.
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
    /// Where to start.
    pub default_path: Option<String>,
    /// The name to start with, where a file is saved.
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
