//! The values that describe a Thread apart from its Turns.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::input::{text_without_pictures, written_text};
use crate::{InputPart, SubAgentSource, ThreadConfig, ThreadId, UnixMillis};

/// The client's user and channel (AppServer protocol 02 §2.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Channel, never blank.
    pub channel_name: String,
    /// Owner inside that channel.
    pub user_id: Option<String>,
    /// Free scope text.
    pub channel_context: Option<String>,
    /// Absolute path; `None` means the server's workspace.
    pub workspace_path: Option<String>,
}

/// Status of a Thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ThreadStatus {
    /// Accepts Turns.
    Active,
    /// Accepts no Turns until resumed.
    Paused,
    /// Accepts no Turns until unarchived.
    Archived,
}

impl ThreadStatus {
    /// Returns the status's word on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Archived => "archived",
        }
    }
}

impl fmt::Display for ThreadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which side stores the model's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum HistoryMode {
    /// The server does.
    #[default]
    Server,
    /// The client sends it with every Turn.
    Client,
}

/// How a Thread was started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ThreadSource {
    /// A user or a channel started it.
    #[default]
    User,
    /// The agent of another Thread started it.
    #[serde(rename = "subagent", rename_all = "camelCase")]
    SubAgent {
        /// Its place in the tree of Threads.
        sub_agent: Box<SubAgentSource>,
    },
}

impl ThreadSource {
    /// Returns a subagent's place in the tree; `None` for a Thread that a user or a channel started.
    pub fn sub_agent(&self) -> Option<&SubAgentSource> {
        match self {
            Self::User => None,
            Self::SubAgent { sub_agent } => Some(sub_agent),
        }
    }
}

/// The description of a Thread without its Turns (AppServer protocol 02 §2.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadHeader {
    /// Its id.
    pub id: ThreadId,
    /// Workspace it was started for, as given.
    pub workspace_path: String,
    /// Owner inside the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// Channel that started it; never changes.
    pub origin_channel: String,
    /// Scope inside the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_context: Option<String>,
    /// Title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// How it was started.
    pub source: ThreadSource,
    /// Status.
    pub status: ThreadStatus,
    /// When it was started.
    pub created_at: UnixMillis,
    /// When something last happened in it.
    pub last_active_at: UnixMillis,
    /// Which side stores the history.
    pub history_mode: HistoryMode,
    /// Its configuration, if any was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<ThreadConfig>,
    /// Free labels.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl ThreadHeader {
    /// Returns the Thread at the root of its tree: itself, unless the agent of another Thread started it.
    pub fn root(&self) -> &ThreadId {
        self.source.sub_agent().map_or(&self.id, |source| &source.root)
    }
}

/// A Thread's activity, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ThreadRuntime")
)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a member of its own for clients"
)]
pub struct Runtime {
    /// A Turn runs or waits.
    pub running: bool,
    /// At least one Approval is open.
    pub waiting_on_approval: bool,
    /// At least one question of the model is open.
    #[serde(default)]
    pub waiting_on_input: bool,
    /// A finished plan waits for the user's confirmation.
    pub waiting_on_plan_confirmation: bool,
}

/// Longest title made from a first message, in characters before `...` (02 §3).
const TITLE_CHARS: usize = 50;

/// Returns the title a Thread without one gets from its first input: the beginning of what the user typed, else of
/// what is shown of it. Pictures give none.
pub fn title_of_input(input: &[InputPart]) -> Option<String> {
    title_of(&written_text(input)).or_else(|| title_of(&text_without_pictures(input)))
}

/// Returns the title a Thread without one gets from its first message, or `None` for a blank message.
pub fn title_of(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if line.chars().nth(TITLE_CHARS).is_some() {
        title.push_str("...");
    }
    Some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_the_first_text_cut_to_50_characters() {
        assert_eq!(title_of("  \n "), None);
        assert_eq!(title_of("Boil\n  water ").as_deref(), Some("Boil water"));
        assert_eq!(title_of(&"é".repeat(50)), Some("é".repeat(50)));
        assert_eq!(title_of(&"é".repeat(51)), Some("é".repeat(50) + "..."));
    }
}
