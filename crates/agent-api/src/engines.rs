//! Other agents that can run the Turns of Threads, for lists and pickers.

use std::sync::Arc;

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
