//! Turns, each one user input and all that follows, and their running totals.

use serde::{Deserialize, Serialize};

use crate::{Actor, ClientKeys, Effort, Item, SandboxProfile, TurnId, UnixMillis};

/// Status of a Turn: `running`, `waitingApproval` and `waitingInput` in turns, then exactly one of the others for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// The engine works.
    Running,
    /// At least one Approval is open.
    WaitingApproval,
    /// No Approval is open, and at least one question of the model is.
    WaitingInput,
    /// Ended well.
    Completed,
    /// Ended by an error.
    Failed,
    /// Ended because a client stopped it.
    Cancelled,
}

impl TurnStatus {
    /// Returns the status's word on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitingApproval => "waitingApproval",
            Self::WaitingInput => "waitingInput",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the status that a word names, if any.
    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::Running,
            Self::WaitingApproval,
            Self::WaitingInput,
            Self::Completed,
            Self::Failed,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|status| status.as_str() == word)
    }
}

/// How a Turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// The engine finished.
    Completed,
    /// The engine could not go on; the text is for the user.
    Failed {
        /// Why.
        error: String,
    },
    /// A client stopped it.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Returns the final status.
    pub fn status(&self) -> TurnStatus {
        match self {
            Self::Completed => TurnStatus::Completed,
            Self::Failed { .. } => TurnStatus::Failed,
            Self::Cancelled { .. } => TurnStatus::Cancelled,
        }
    }
}

/// Tokens billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Those of `input_tokens` that its provider had in a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input_tokens: u64,
    /// Those of `output_tokens` that are reasoning, where its provider counts them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_output_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl TokenUsage {
    /// Returns tokens of which no more is known.
    pub const fn of(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            cached_input_tokens: 0,
            reasoning_output_tokens: 0,
        }
    }

    /// Returns the tokens that were read and written.
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds another call's tokens.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.reasoning_output_tokens = self
            .reasoning_output_tokens
            .saturating_add(other.reasoning_output_tokens);
    }

    /// Whether nothing was read or written, which means "not known".
    pub fn is_zero(self) -> bool {
        self.total() == 0
    }
}

/// Usage of a conversation: all its model calls together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Their cost, in millionths of the currency of the prices; 0 where no price is known.
    pub cost_micros: u64,
}

impl Spent {
    /// Adds a call.
    pub fn add(&mut self, usage: TokenUsage, cost_micros: u64) {
        self.tokens = self.tokens.saturating_add(usage.total());
        self.cost_micros = self.cost_micros.saturating_add(cost_micros);
    }
}

/// What the client that started a Turn can do, and wants of it. It decides which extra Items the Turn gets and whether
/// a client can be asked (AppServer protocol 01 §5, 04 §4).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a client")]
pub struct TurnFeatures {
    /// Shell calls also appear as `commandExecution` Items.
    #[serde(default)]
    pub command_execution: bool,
    /// Calls also appear as `toolExecution` Items.
    #[serde(default)]
    pub tool_execution: bool,
    /// The starting client can answer Approvals.
    #[serde(default)]
    pub approvals: bool,
    /// A person has started it and reads along: page, terminal, desktop, editor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
    /// How much the model reasons in this Turn, where the client does not leave it to the Thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// Rules that allow in this Turn alone, and in the Turns of its subagents, beside those of the configuration:
    /// `tool:NAME`, `path:PATTERN` or a pattern of commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// What its commands and those of its subagents may reach, in the place of what is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxProfile>,
    /// The command line that a user typed: the Turn runs it, and no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The actor that has started it.
    #[serde(default, skip_serializing_if = "Actor::is_owner")]
    pub actor: Actor,
    /// The keys that its client has. After a restart the server's own count alone.
    #[serde(skip)]
    pub keys: ClientKeys,
}

/// A Turn, with all or some of its Items.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Number inside the Thread.
    pub id: TurnId,
    /// Status.
    pub status: TurnStatus,
    /// Its Items, in order of their ids.
    pub items: Vec<Item>,
    /// When it started.
    pub started_at: UnixMillis,
    /// When it ended.
    pub completed_at: Option<UnixMillis>,
    /// Tokens used, when known.
    pub usage: TokenUsage,
    /// Their cost, in millionths of the currency of the prices; 0 where no price is known.
    pub cost_micros: u64,
    /// Number of files that it changed, as its last diff says.
    pub files_changed: u32,
    /// Whether these changes were undone, and not made again.
    pub files_undone: bool,
    /// Why it failed.
    pub error: Option<String>,
    /// Channel that started it.
    pub origin_channel: Option<String>,
}

/// How a Turn changed one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "DiffFile")
)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Path relative to the workspace.
    pub path: String,
    /// What happened to it.
    pub status: FileChangeStatus,
    /// Where a renamed file was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// Kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "DiffFileStatus")
)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeStatus {
    /// The file is new.
    Added,
    /// The file has other content.
    Modified,
    /// The file was removed.
    Deleted,
    /// The file has another name, and may have other content.
    Renamed,
}

/// The change that a call would make to a file, as of when the call was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallPreview {
    /// Absolute path.
    pub path: String,
    /// Hunks of a unified diff, without the lines that name the files; empty where the content is no text.
    pub diff: String,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// A file that was restored to its state before a Turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevertedFile {
    /// Path relative to the workspace, absolute for a file outside of it.
    pub path: String,
    /// How it was restored.
    pub action: RevertAction,
}

/// How a file was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RevertAction {
    /// Its earlier content was written back.
    Restored,
    /// It did not exist before, so it was removed.
    Removed,
}

/// All file changes of a Turn so far (AppServer protocol 03 §9).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiff {
    /// Unified diff, git style; empty when everything was undone.
    pub diff: String,
    /// One entry for each file.
    pub files: Vec<FileChange>,
    /// Whether `diff` was cut at its limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl TurnDiff {
    /// Returns the number of changed files.
    pub fn files_changed(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_found_by_its_word() {
        use TurnStatus::{Cancelled, Completed, Failed, Running, WaitingApproval, WaitingInput};
        for status in [
            Running,
            WaitingApproval,
            WaitingInput,
            Completed,
            Failed,
            Cancelled,
        ] {
            assert_eq!(TurnStatus::from_word(status.as_str()), Some(status));
            let stored = serde_json::to_string(&status).unwrap();
            assert_eq!(stored, format!("\"{}\"", status.as_str()));
        }
        assert_eq!(TurnStatus::from_word("idle"), None);
    }

    #[test]
    fn tokens_and_costs_are_added_up() {
        let usage = TokenUsage::of;
        let mut sum = TokenUsage::default();
        assert!(sum.is_zero());
        sum.add(usage(1, 2));
        sum.add(usage(3, 4));
        assert_eq!((sum, sum.total(), sum.is_zero()), (usage(4, 6), 10, false));
        let mut spent = Spent::default();
        spent.add(sum, 7);
        spent.add(sum, u64::MAX);
        assert_eq!((spent.tokens, spent.cost_micros), (20, u64::MAX));
    }
}
