//! The commands that come with Bobbin and are a prompt.

use crate::commands::fill;

/// Name of the command that compacts a conversation. Its Turn asks no model to answer.
pub const COMPACT: &str = "compact";

/// A command that comes with Bobbin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCommand {
    /// Its name without the slash.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    text: &'static str,
}

impl OwnCommand {
    /// All of them, by name.
    pub const ALL: [Self; 3] = [
        Self {
            name: COMPACT,
            description: "Summarizes the conversation, so that the model's window has room again",
            text: "Compact the conversation.",
        },
        Self {
            name: "init",
            description: "Has the model write AGENTS.md, a guide to this workspace",
            text: include_str!("own/init.md"),
        },
        Self {
            name: "review",
            description: "Has the model review changes: uncommitted ones, or what is named",
            text: include_str!("own/review.md"),
        },
    ];

    /// Returns the command of a name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name == name)
    }

    /// Returns its prompt with what the user wrote behind the name; `None` if that is too long.
    pub fn prompt(self, arguments: &str) -> Option<String> {
        fill(self.text.trim_end(), arguments.trim())
    }
}
