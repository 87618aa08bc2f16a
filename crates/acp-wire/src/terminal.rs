//! Commands that run in a terminal of the client's.

use serde::{Deserialize, Serialize};
use serde_with::{DefaultOnNull, serde_as};

use crate::Pair;

/// The parameters of `terminal/create`.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalParams {
    /// The session.
    pub session_id: String,
    /// The program; without arguments it may be a whole line for a shell.
    pub command: String,
    /// The program's arguments.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub args: Vec<String>,
    /// The program's variables, beside those of the client.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub env: Vec<Pair>,
    /// The directory to run it in, an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// So many bytes of output are retained; the start is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_byte_limit: Option<u64>,
}

/// The answer of `terminal/create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalResult {
    /// The terminal.
    pub terminal_id: String,
}

/// The parameters of `terminal/output`, `terminal/wait_for_exit`, `terminal/kill` and `terminal/release`.
///
/// The answer of `terminal/wait_for_exit` is an [`ExitStatus`], that of the last two [`crate::Empty`] or null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalParams {
    /// The session.
    pub session_id: String,
    /// The terminal.
    pub terminal_id: String,
}

/// The answer of `terminal/output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutputResult {
    /// The output so far.
    pub output: String,
    /// Whether its start was cut.
    pub truncated: bool,
    /// How the command ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<ExitStatus>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitStatus {
    /// Its exit code.
    #[serde(default)]
    pub exit_code: Option<u32>,
    /// The signal that ended it.
    #[serde(default)]
    pub signal: Option<String>,
}
