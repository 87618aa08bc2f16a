//! Background terminals.
//!
//! AppServer protocol 03 §13.

use bobbin_model::TerminalStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::handshake::types::ClientRequestId;
use crate::item::tool_payload::CommandSource;

/// A command that goes on while its Turn does other things.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTerminal {
    /// Its id.
    pub session_id: String,
    /// The Thread it belongs to.
    pub thread_id: String,
    /// The Turn that started it.
    pub turn_id: Option<String>,
    /// The tool call that started it.
    pub call_id: Option<String>,
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub working_directory: String,
    /// On what it runs.
    pub source: CommandSource,
    /// How far it is.
    pub status: TerminalStatus,
    /// The end of its output.
    pub output: String,
    /// File with the whole output.
    pub output_path: String,
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// How long it has been running, milliseconds.
    pub wall_time_ms: u64,
    /// Length of the whole output.
    pub original_output_chars: u64,
    /// Whether `output` was cut.
    pub truncated: bool,
    /// Why it is in the background.
    pub background_reason: Option<String>,
}

/// Params of `terminal/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalListParams {
    /// Only those of this Thread.
    pub thread_id: Option<String>,
}

/// Result of `terminal/list`, and of `terminal/clean` with those that were removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalsResult {
    /// The terminals.
    pub terminals: Vec<BackgroundTerminal>,
}

/// Params of `terminal/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalReadParams {
    /// The terminal.
    pub session_id: String,
    /// Wait so long for news, milliseconds.
    pub wait_ms: Option<u64>,
    /// At most so much of the output.
    pub max_output_chars: Option<u64>,
}

/// Result of `terminal/read`, `terminal/write` and `terminal/stop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalResult {
    /// The terminal as it is now.
    pub terminal: BackgroundTerminal,
}

/// Params of `terminal/write`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalWriteParams {
    /// The terminal.
    pub session_id: String,
    /// What to type.
    pub input: String,
    /// Wait so long for the output, milliseconds. Default 1000.
    pub yield_time_ms: Option<u64>,
    /// At most so much of the output.
    pub max_output_chars: Option<u64>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `terminal/stop`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalStopParams {
    /// The terminal.
    pub session_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `terminal/clean`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCleanParams {
    /// The Thread whose terminals go.
    pub thread_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `terminal/started`, `terminal/completed`, `terminal/stalled` and `terminal/cleaned`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalNotification {
    /// The terminal.
    pub terminal: BackgroundTerminal,
}

/// Params of `terminal/outputDelta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutputDeltaNotification {
    /// The terminal.
    pub terminal: BackgroundTerminal,
    /// The output to append.
    pub delta: String,
}
