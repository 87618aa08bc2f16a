//! A command that runs in the background, as clients see it (AppServer protocol 03 §13). Values only; the
//! `terminals` crate records them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ThreadId, TurnId, UnixMillis};

/// A background terminal at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// The facts that never change.
    pub facts: Arc<TerminalFacts>,
    /// How far it is.
    pub status: TerminalStatus,
    /// Exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// When it ended.
    pub completed_at: Option<UnixMillis>,
    /// How long it has been running, milliseconds.
    pub wall_time_ms: u64,
    /// The end of its output, as much as the caller requested.
    pub output: String,
    /// Characters of its whole output.
    pub output_chars: u64,
    /// Whether `output` is shorter than that.
    pub truncated: bool,
}

/// The facts about a background terminal that never change.
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
    /// Whether the kernel confines the command.
    pub sandboxed: bool,
    /// When its command was started.
    pub started_at: UnixMillis,
    /// Why it is in the background.
    pub reason: BackgroundReason,
    /// File with its output.
    pub output_path: String,
}

/// State of a background terminal.
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
    /// Ended by a client or agent, or with the server.
    Killed,
    /// Ended by a time limit.
    TimedOut,
    /// The server died while the command ran, and the command died with it.
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
    /// Returns the reason's word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::TimeLimit => "timeLimit",
        }
    }
}

/// A change of a background terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalChange {
    /// It went into the background.
    Started,
    /// It wrote output: the new part, or as much of it as fits.
    Output(String),
    /// It ended.
    Completed,
    /// It has written nothing for a long time.
    Stalled,
    /// It was removed, with its output.
    Cleaned,
}
