//! Other agents that can run the Turns of Threads, for lists and pickers, and their slash commands.

use std::sync::Arc;

use bobbin_model::ThreadId;
use serde::{Deserialize, Serialize};

/// The engines of the configuration, in order.
#[derive(Debug, Clone, Default)]
pub struct EngineList(pub Arc<[ListedEngine]>);

/// An engine of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEngine {
    /// The name by which a Thread chooses it.
    pub name: String,
    /// Whether it counts: one of a folder's file counts once its user trusts it.
    pub trusted: bool,
    /// Whether it reaches the network.
    pub network: bool,
}

impl EngineList {
    /// Returns the names of the engines that count.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let trusted = self.0.iter().filter(|engine| engine.trusted);
        trusted.map(|engine| engine.name.as_str())
    }
}

/// A slash command of another agent. The agent reads a prompt with it in front as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineCommand {
    /// Its name, without the slash.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The text after its name, in words; `None` if it takes none.
    pub hint: Option<String>,
}

/// Lists the slash commands of other agents.
pub trait EngineCommands: Send + Sync + 'static {
    /// Returns the commands that the agent of an engine has sent last in a Thread; none if it has not worked there. Blocks on
    /// the disk.
    fn of_thread(&self, thread: &ThreadId, engine: &str) -> Vec<EngineCommand>;
}
