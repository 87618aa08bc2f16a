//! What an agent is told once, at the start, besides its model and its tools.

use crate::Sandbox;

use super::instructions;

/// Settings of an [`AgentEngine`](super::AgentEngine).
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// What holds commands, as a sentence for the model.
    pub commands: &'static str,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            commands: instructions::held(&Sandbox::default()),
        }
    }
}

impl AgentSettings {
    /// Says how commands are held.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: &Sandbox) -> Self {
        self.commands = instructions::held(sandbox);
        self
    }
}
