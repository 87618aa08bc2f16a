//! The shapes of `workspace/files/find`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

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
