//! Subagents: Threads that the agent of another Thread starts, gives inputs and waits for (AppServer protocol 02 §2.5,
//! 03 §12, 05 §10.2).
//!
//! A subagent is an ordinary Thread, with its own owner, log, Turns, Items and Approvals. [`WithSubAgents`] wraps an engine
//! and gives each run of a Turn a `SubAgentScope`. The scope starts subagents within [`SubAgentLimits`], follows their logs
//! as a client would, and stops them with the Turn. The agent sees the scope as
//! [`SubAgents`](bobbin_agent_api::sub_agent::SubAgents). At each limit, the agent gets an error that says which limit is
//! reached and what to do. `bobbin-core` serves the tree of Threads to clients; `bobbin-model` decides the inputs and
//! settings of a subagent.

mod follow;
mod input;
mod report;
mod scope;
mod shared;
mod start;
mod sub_agent;

use std::sync::Arc;

use bobbin_agent_api::sub_agent::{NoProfiles, SubAgentError, SubAgentProfiles};
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_core::{CoreError, SubAgentLimits};
use bobbin_model::ContextWindow;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use scope::SubAgentScope;

/// An engine whose Turns may have subagents.
pub struct WithSubAgents {
    engine: Arc<dyn Engine>,
    limits: SubAgentLimits,
    profiles: Arc<dyn SubAgentProfiles>,
    /// A permit for each running subagent of the workspace.
    room: Arc<Semaphore>,
}

impl WithSubAgents {
    /// Returns an engine that runs Turns with `engine` and gives them subagents.
    pub fn new(engine: Arc<dyn Engine>, limits: SubAgentLimits) -> Arc<Self> {
        Self::with_profiles(engine, limits, Arc::new(NoProfiles))
    }

    /// Returns an engine as [`Self::new`] does, with profiles for subagents.
    pub fn with_profiles(
        engine: Arc<dyn Engine>,
        limits: SubAgentLimits,
        profiles: Arc<dyn SubAgentProfiles>,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine,
            limits,
            profiles,
            room: Arc::new(Semaphore::new(limits.in_workspace)),
        })
    }
}

impl Engine for WithSubAgents {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let scope = SubAgentScope::new(&turn, self.limits, self.profiles.clone(), self.room.clone());
        let engine = self.engine.clone();
        let turn = turn.with_sub_agents(scope.clone());
        scope.around(async move { engine.run(turn).await }).boxed()
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.engine.window(model)
    }
}

/// Returns an error of the core as an agent's error.
fn failed(error: impl Into<CoreError>) -> SubAgentError {
    SubAgentError::Failed(error.into().to_string())
}
