//! Files, as the client's editor has them.

use serde::{Deserialize, Serialize};

/// The parameters of `fs/read_text_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadTextFileParams {
    /// The session.
    pub session_id: String,
    /// The file, an absolute path.
    pub path: String,
    /// The first line to read, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// At most so many lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer of `fs/read_text_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadTextFileResult {
    /// The text. Some clients send an empty one for a file that is not there.
    pub content: String,
}

/// The parameters of `fs/write_text_file`. Its answer is [`crate::Empty`] or null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteTextFileParams {
    /// The session.
    pub session_id: String,
    /// The file, an absolute path.
    pub path: String,
    /// The whole text.
    pub content: String,
}
