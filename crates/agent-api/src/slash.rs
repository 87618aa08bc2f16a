//! Slash commands of features: what a feature answers when a user types `/name`, without a Turn.

use futures_util::future::BoxFuture;

/// A slash command of a feature, for lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name with the slash.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
}

/// Answers slash commands of a feature.
pub trait SlashCommands: Send + Sync + 'static {
    /// Returns the commands, by name.
    fn list(&self) -> &'static [SlashCommand];

    /// Runs a command of the list with the text behind its name. Returns Markdown for the user; what went wrong is said
    /// there too. May take minutes; dropping the future leaves what it has started.
    fn run(&self, name: &str, arguments: &str) -> BoxFuture<'static, String>;
}
