//! A program: the actions that it knows.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::action::{Action, ActionResult, Entry};

/// The actions of a runner.
#[derive(Default)]
pub struct Program {
    actions: Vec<Entry>,
}

impl Program {
    /// Returns a program without actions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an action.
    #[must_use]
    pub fn action<P, R>(mut self, action: Action<P, R>) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: ActionResult,
    {
        self.actions.push(action.entry);
        self
    }

    /// Returns the action with this import path.
    pub(crate) fn find(&self, source: &str) -> Option<&Entry> {
        let names =
            |entry: &&Entry| entry.canonical == source || entry.aliases.iter().any(|alias| alias == source);
        self.actions.iter().find(names)
    }
}
