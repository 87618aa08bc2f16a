//! Slash commands of features: answers to `/name` without a Turn.

use futures_util::future::BoxFuture;

/// A slash command of a feature, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, with the slash.
    pub name: &'static str,
    /// Its purpose.
    pub description: &'static str,
}

/// Runs the slash commands of a feature.
pub trait SlashCommands: Send + Sync + 'static {
    /// Returns the commands, sorted by name.
    fn list(&self) -> &'static [SlashCommand];

    /// Runs a listed command with the text after its name. Returns Markdown for the user, also for an error. May take
    /// minutes; dropping the future does not stop work that it started.
    fn run(&self, name: &str, arguments: &str) -> BoxFuture<'static, String>;
}
