//! What an agent is told once, at the start, besides its model and its tools.

use bobbin_tools::Sandbox;

use super::{TurnLimits, instructions};

/// Settings of an [`AgentEngine`](super::AgentEngine).
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// What holds commands, as a sentence for the model.
    pub commands: &'static str,
    /// What bounds a Turn.
    pub limits: TurnLimits,
    /// Whether conversations that are getting too long are summed up.
    pub compaction: bool,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            commands: instructions::held(&Sandbox::default()),
            limits: TurnLimits::default(),
            compaction: true,
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
