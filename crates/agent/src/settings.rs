//! The settings of an agent, besides its model and its tools.

use bobbin_model::SandboxProfile;
use bobbin_tools::Sandbox;

use super::{TurnLimits, instructions};

/// Settings of an [`AgentEngine`](super::AgentEngine).
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// How commands are sandboxed, for the model.
    pub sandbox: Sandbox,
    /// The limits of a Turn.
    pub limits: TurnLimits,
    /// Whether conversations that are getting too long are compacted.
    pub compaction: bool,
    /// Whether the tools of MCP servers are searched where there are many, instead of all being offered.
    pub tool_search: bool,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            sandbox: Sandbox::default(),
            limits: TurnLimits::default(),
            compaction: true,
            tool_search: true,
        }
    }
}

impl AgentSettings {
    /// Sets how commands are sandboxed.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: &Sandbox) -> Self {
        self.sandbox = sandbox.clone();
        self
    }

    /// Returns how the commands of a Turn are sandboxed, as a sentence for the model.
    pub(super) fn commands(&self, of_turn: Option<SandboxProfile>) -> &'static str {
        match of_turn {
            Some(profile) => instructions::confinement(&self.sandbox.with_profile(profile)),
            None => instructions::confinement(&self.sandbox),
        }
    }
}
