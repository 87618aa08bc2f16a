//! An engine that stops in the middle of a message, and ignores interrupts.
//!
//! It writes the first half, waits for its release, and writes the rest. So a test decides how long a Turn runs.

use std::sync::Arc;

use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::ItemBody;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// See the module.
#[derive(Clone)]
pub(crate) struct HalfwayEngine(Arc<Semaphore>);

impl Default for HalfwayEngine {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl HalfwayEngine {
    pub(crate) fn release(&self) {
        self.0.add_permits(1);
    }
}

impl Engine for HalfwayEngine {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let gate = self.0.clone();
        async move {
            let item = turn.open(ItemBody::AgentMessage { text: String::new() }).await?;
            item.text("Half a ").await?;
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
            item.text("word").await?;
            Ok(item.complete(None).await?)
        }
        .boxed()
    }
}
