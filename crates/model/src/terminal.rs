//! A command that goes on while its Turn does other things, as people are shown it (AppServer protocol 03 §13).
//! Values only; who runs it keeps its record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ThreadId, TurnId, UnixMillis};

/// A background terminal at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// What does not change.
    pub facts: Arc<TerminalFacts>,
    /// How far it is.
    pub status: TerminalStatus,
    /// Exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// When it ended.
    pub completed_at: Option<UnixMillis>,
    /// How long it has been running, milliseconds.
    pub wall_time_ms: u64,
    /// The end of its output, as much as was asked for.
    pub output: String,
    /// Characters of its whole output.
    pub output_chars: u64,
    /// Whether `output` is less than that.
    pub truncated: bool,
}

/// What of a background terminal is settled when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalFacts {
    /// Its id, `term_` and eight hexadecimal digits.
    pub id: String,
    /// The Thread it belongs to.
    pub thread: ThreadId,
    /// The Turn that started it.
    pub turn: TurnId,
    /// The tool call that started it.
    pub call: String,
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub working_directory: String,
    /// Whether the kernel holds what it may do.
    pub sandboxed: bool,
    /// When its command was started.
    pub started_at: UnixMillis,
    /// Why it is in the background.
    pub reason: BackgroundReason,
    /// File with its output.
    pub output_path: String,
}

/// How far a background terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TerminalStatus {
    /// Runs.
    Running,
    /// Ended with exit code 0.
    Completed,
    /// Ended otherwise.
    Failed,
    /// Ended because somebody wanted it, or with the server.
    Killed,
    /// Ended by a time limit.
    TimedOut,
    /// The server died while it ran, and it with the server.
    Lost,
}

/// Why a command is in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BackgroundReason {
    /// The model asked for it.
    Requested,
    /// It took longer than a Turn waits for a command.
    TimeLimit,
}

impl BackgroundReason {
    /// Returns its word on wires.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::TimeLimit => "timeLimit",
        }
    }
}

/// What has become of a background terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalChange {
    /// It has gone into the background.
    Started,
    /// It has written something: what is new, or the part of it that there was room for.
    Output(String),
    /// It has ended.
    Completed,
    /// It has been silent for long.
    Stalled,
    /// It was removed, with its output.
    Cleaned,
}
