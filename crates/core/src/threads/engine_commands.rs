//! The slash commands of the agent that runs a Thread.

use std::sync::Arc;

use bobbin_agent_api::Services;
use bobbin_agent_api::engines::EngineCommand;
use bobbin_model::ThreadId;

use super::Threads;

impl Threads {
    /// Returns the slash commands of the other agent that runs a Thread. There are none if our own agent runs it, and before
    /// the other one has worked in it.
    pub async fn engine_commands(
        self: &Arc<Self>,
        services: &Services,
        thread: &ThreadId,
    ) -> Vec<EngineCommand> {
        let Some(commands) = services.engine_commands.clone() else {
            return Vec::new();
        };
        let state = async { self.snapshot(&*self.thread(thread).await?).await };
        let Ok(snapshot) = state.await else {
            return Vec::new();
        };
        let config = snapshot.state.header.config.as_ref();
        let Some(engine) = config.and_then(|config| config.engine.clone()) else {
            return Vec::new();
        };
        let thread = thread.clone();
        let read = tokio::task::spawn_blocking(move || commands.of_thread(&thread, &engine));
        read.await.unwrap_or_default()
    }
}
