//! Documents, their findings and the schema of segments.

use bobbin_hl7::{FieldSchema, Shape, TextEdit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

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
    /// Number of steps that can be undone.
    pub undo_steps: u64,
    /// Number of steps that can be redone.
    pub redo_steps: u64,
}

/// Params of `hermes/document/changed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesDocumentChanged {
    /// The document.
    pub document: HermesDocument,
    /// The author of the change.
    pub origin: HermesOrigin,
}

/// Author of a change of a document.
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

/// Result of `hermes/document/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesDocumentListResult {
    /// By the ids of their Threads.
    pub documents: Vec<HermesDocument>,
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
    /// Layout of JSON, YAML and TOML. Default `segments`.
    pub shape: Option<Shape>,
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
    /// Applied one after the other, all or none.
    pub edits: Vec<TextEdit>,
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
    /// Refused with the reason `conflict` if the document has another version.
    pub version: Option<u64>,
}

/// Params of `hermes/document/patch`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPatchParams {
    /// The Thread.
    pub thread_id: String,
    /// Applied one after the other; a patch that fails is skipped.
    pub patches: Vec<HermesPatch>,
    /// Refused with the reason `conflict` if the document has another version.
    pub version: Option<u64>,
}

/// A change of one place.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesPatch {
    /// The place, such as `PID.5.1` or `OBX[2]`.
    pub path: String,
    /// The new value. Without it, the place is cleared.
    pub value: Option<String>,
    /// Removes a segment, or clears a place. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
    /// Creates a segment. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create: bool,
}

/// Params of `hermes/document/undo` and `redo`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesStepParams {
    /// The Thread.
    pub thread_id: String,
    /// Refused with the reason `conflict` if the document has another version.
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
    /// Replaces a file that is at `path`, whatever is in it. Default `false`: the answer is an error with the reason `exists`, or
    /// `changedOnDisk` where the file is the document's own.
    #[serde(default)]
    pub replace: bool,
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
    /// The rule that the message breaks, without a value.
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HermesSegment {
    /// By field and component.
    pub fields: Vec<FieldSchema>,
}
