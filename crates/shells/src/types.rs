//! The messages of the group.
//!
//! Output and typed text are bytes in base64: a character may lie across two parts, and programs write what is no text.

use bobbin_native_wire::handshake::types::ClientRequestId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shell of the user in a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShellInfo {
    /// Its id.
    pub id: String,
    /// The name of its program, as `zsh`.
    pub program: String,
    /// The folder in which it started.
    pub cwd: String,
    /// The Thread whose folder that is; absent for the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Columns of its terminal.
    pub columns: u16,
    /// Rows of its terminal.
    pub rows: u16,
}

/// Parameters of `shell/open`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShellOpenParams {
    /// The Thread in whose folder it starts; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Columns of its terminal, 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub columns: u16,
    /// Rows of its terminal, 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `shell/open`. `shell/output` has what the shell writes, from its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellOpenResult {
    /// The shell.
    pub shell: ShellInfo,
}

/// Parameters of `shell/list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ShellListParams {}

/// Result of `shell/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellListResult {
    /// The open shells, the oldest first.
    pub shells: Vec<ShellInfo>,
}

/// Parameters of `shell/attach`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellAttachParams {
    /// The shell.
    pub id: String,
}

/// Result of `shell/attach`. `shell/output` has what the shell writes after that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShellAttachResult {
    /// The shell.
    pub shell: ShellInfo,
    /// The newest 256 KiB of what it has written, in base64. A client clears the screen and shows them.
    pub data_base64: String,
    /// The count of all bytes that it has written, up to the end of these.
    pub position: u64,
}

/// Parameters of `shell/detach`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellDetachParams {
    /// The shell.
    pub id: String,
}

/// Result of `shell/detach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellDetachResult {}

/// Parameters of `shell/write`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShellWriteParams {
    /// The shell.
    pub id: String,
    /// The typed bytes, in base64: 64 KiB at most.
    pub data_base64: String,
    /// Whether the terminal itself wrote them, as an answer to a question in the output, and not its user. One attached
    /// connection answers: the one that opened the shell or typed last. Answers of others are dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer: bool,
}

/// Result of `shell/write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellWriteResult {}

/// Parameters of `shell/resize`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellResizeParams {
    /// The shell.
    pub id: String,
    /// Columns of its terminal, 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub columns: u16,
    /// Rows of its terminal, 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
}

/// Result of `shell/resize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellResizeResult {}

/// Parameters of `shell/close`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShellCloseParams {
    /// The shell.
    pub id: String,
}

/// Result of `shell/close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellCloseResult {}

/// Parameters of `shell/output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShellOutputNotification {
    /// The shell.
    pub id: String,
    /// The bytes that it has written, in base64.
    pub data_base64: String,
}

/// Parameters of `shell/skipped`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellSkippedNotification {
    /// The shell.
    pub id: String,
}

/// Parameters of `shell/exited`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellExitedNotification {
    /// The shell.
    pub id: String,
    /// Its exit code; absent where a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
}
