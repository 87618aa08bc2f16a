//! The shapes of `workspace/files/*`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;

/// Parameters of `workspace/files/find`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesFindParams {
    /// A part of the path, without regard to case; empty for the first files.
    pub query: String,
    /// Most files to answer, 1 to 100; 50 when left out.
    pub limit: Option<u32>,
}

/// Result of `workspace/files/find`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesFindResult {
    /// Those with the query in their own name first, then by their paths.
    pub files: Vec<WorkspaceFile>,
}

/// A file or directory of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFile {
    /// Its path from the workspace on, for a `fileRef`.
    pub path: String,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Parameters of `workspace/files/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesListParams {
    /// The Thread whose folder is meant; the workspace when left out.
    pub thread_id: Option<String>,
    /// The directory, relative to the folder; the folder itself when left out.
    pub path: Option<String>,
}

/// Result of `workspace/files/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesListResult {
    /// Directories first, then by name. At most 2,000. Those of git and of the server are left out.
    pub entries: Vec<WorkspaceFilesEntry>,
    /// Whether there are more.
    pub truncated: bool,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether ignore files leave it out.
    pub ignored: bool,
}

/// Parameters of `workspace/files/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesReadParams {
    /// The Thread whose folder is meant; the workspace when left out.
    pub thread_id: Option<String>,
    /// The file, relative to the folder, or absolute and in it.
    pub path: String,
}

/// Result of `workspace/files/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesReadResult {
    /// Its path relative to the folder.
    pub path: String,
    /// Its absolute path on the server's machine, without links.
    pub absolute_path: String,
    /// Its size, bytes.
    pub size: u64,
    /// Its text, of which at most the first MiB; absent where it is no UTF-8.
    pub text: Option<String>,
    /// Its bytes in base64, where it is a picture of at most 5 MiB.
    pub data: Option<String>,
    /// The media type of a picture, by its bytes.
    pub media_type: Option<String>,
    /// Whether `text` is only the beginning.
    pub truncated: bool,
}

/// Parameters of `workspace/files/write`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesWriteParams {
    /// The Thread whose folder is meant; the workspace when left out.
    pub thread_id: Option<String>,
    /// The new file, relative to the folder, or absolute and in it. Its directories are made.
    pub path: String,
    /// Its bytes in base64, at most 2 MiB of them.
    pub data: String,
    /// Makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `workspace/files/write`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesWriteResult {
    /// Its path relative to the folder.
    pub path: String,
}

/// Parameters of `workspace/files/grep`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesGrepParams {
    /// The Thread whose folder is meant; the workspace when left out.
    pub thread_id: Option<String>,
    /// The text to find, 1 to 1,000 bytes; without regard to case if it has no capital letter.
    pub query: String,
}

/// Result of `workspace/files/grep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesGrepResult {
    /// The lines, by path and number. At most 500. Files that ignore files leave out are not searched.
    pub matches: Vec<WorkspaceFilesMatch>,
    /// Whether the search ended early: more matches, more files than 50,000, or 10 seconds.
    pub truncated: bool,
}

/// A line with the text that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFilesMatch {
    /// The file, relative to the folder.
    pub path: String,
    /// The line's number, from 1 on.
    pub line: u64,
    /// The line, at most its first 300 characters.
    pub text: String,
}
