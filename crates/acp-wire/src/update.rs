//! News of a session: the notification `session/update`.

use serde::{Deserialize, Serialize};

use crate::{ConfigOption, ContentBlock, Meta, ToolCall};

/// The parameters of `session/update`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionNotification {
    /// The session.
    pub session_id: String,
    /// The news.
    pub update: SessionUpdate,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// One piece of news.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "sessionUpdate",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum SessionUpdate {
    /// A piece of a user's message: in a replay, or by another client.
    UserMessageChunk {
        /// The piece.
        content: ContentBlock,
        /// Its message; the same id continues it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A piece of the agent's message.
    AgentMessageChunk {
        /// The piece.
        content: ContentBlock,
        /// Its message; the same id continues it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A piece of the agent's thoughts.
    AgentThoughtChunk {
        /// The piece.
        content: ContentBlock,
        /// Its message; the same id continues it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// A new tool call. It has a title.
    ToolCall(ToolCall),
    /// A change of a tool call.
    ToolCallUpdate(ToolCall),
    /// The whole plan.
    Plan {
        /// Its steps, in order.
        entries: Vec<PlanEntry>,
    },
    /// All slash commands.
    AvailableCommandsUpdate {
        /// The commands.
        available_commands: Vec<AvailableCommand>,
    },
    /// The mode that is on.
    CurrentModeUpdate {
        /// The mode.
        current_mode_id: String,
    },
    /// All options.
    ConfigOptionUpdate {
        /// The options.
        config_options: Vec<ConfigOption>,
    },
    /// The session's title and last change. Null clears, absent leaves.
    SessionInfoUpdate {
        /// The title.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "serde_with::rust::double_option"
        )]
        title: Option<Option<String>>,
        /// The last change, as RFC 3339.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "serde_with::rust::double_option"
        )]
        updated_at: Option<Option<String>>,
    },
    /// How full the model's window is.
    UsageUpdate {
        /// Tokens in the window. Some agents send null where they do not know.
        #[serde(default, deserialize_with = "or_default")]
        used: u64,
        /// The window's size in tokens.
        #[serde(default, deserialize_with = "or_default")]
        size: u64,
        /// Cost of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// A message to the user that is no part of the conversation. Only for clients that offered it.
    Notice {
        /// How grave it is.
        severity: Severity,
        /// The message.
        title: String,
        /// More about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A compaction, or a change of it. Only for clients that offered it.
    CompactionUpdate {
        /// The compaction.
        compaction_id: String,
        /// How far it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<CompactionStatus>,
        /// The summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Vec<ContentBlock>>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<serde_json::Value>,
    },
    /// A piece of a compaction's summary. Only for clients that offered compactions.
    CompactionSummaryChunk {
        /// The compaction.
        compaction_id: String,
        /// The piece.
        content: ContentBlock,
    },
    /// News of another kind. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// The step.
    pub content: String,
    /// How important it is.
    #[serde(default)]
    pub priority: PlanPriority,
    /// How far it is.
    #[serde(default)]
    pub status: PlanStatus,
}

/// How important a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPriority {
    /// It comes first.
    High,
    /// It can wait.
    Low,
    /// As usual; unknown priorities count as this one.
    #[default]
    #[serde(other)]
    Medium,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Not started; unknown statuses count as this one.
    #[default]
    #[serde(other)]
    Pending,
}

/// One slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailableCommand {
    /// Its name, without the slash.
    pub name: String,
    /// Its effect.
    #[serde(default)]
    pub description: String,
    /// The text after its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

/// The text after the name of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInput {
    /// Shown while nothing was typed.
    pub hint: String,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The amount.
    pub amount: f64,
    /// The currency, as ISO 4217.
    pub currency: String,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
    /// For information; unknown ones count as this one.
    #[serde(other)]
    Info,
}

/// How far a compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStatus {
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// It did not work.
    Failed,
    /// It was stopped.
    Cancelled,
    /// Another status. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// Reads a value; null is its default.
fn or_default<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}
