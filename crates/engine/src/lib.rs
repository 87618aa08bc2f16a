//! Runs one Turn: model stream in, Items out, tools and approvals through the core.
//!
//! [`AgentEngine`] is the one [`Engine`](bobbin_core::engine::Engine): the loop, shared by every [`Model`](bobbin_agent_api::model::Model).
//! [`Offline`] is the model that needs no key. [`ToolSet::built_in`] has the tools. Files a Turn changes are
//! shown as one diff; `bobbin-undo` records what they were. [`RulesPolicy`] holds
//! commands and paths against the rules of people. [`Helpers`] asks a model for small things outside of any Turn.
//!
//! Nothing here knows a wire, a client or SQL; what happens is told to the core through a `TurnContext`, and
//! no state outlives a run. Processes are started by `bobbin-children` only.

mod agent;
mod diff;
mod helper;
mod offline;
mod patch;
mod policy;
#[cfg(test)]
mod policy_shells;
mod programs;
mod tools;
mod web;

pub use agent::{AgentEngine, AgentSettings, TurnLimits, project_instructions};
pub use helper::Helpers;
pub use offline::Offline;
pub use policy::RulesPolicy;
pub use programs::Programs;
pub use tools::{Bubblewrap, BubblewrapUse, Sandbox, ToolSet, WhenMissing};
pub use web::read_page;
