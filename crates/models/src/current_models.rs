//! The models that are configured now: a set that a change of the configuration replaces while Turns run.

use std::sync::Arc;

use bobbin_agent_api::model::{Model, ModelError, ModelReply, ModelRequest, ModelSink};
use bobbin_model::ContextWindow;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;

use crate::ModelSet;

/// A set of models that can be replaced. Clones share it. A running request uses one set until it ends.
#[derive(Debug, Clone)]
pub struct CurrentModels(Arc<RwLock<Arc<ModelSet>>>);

impl CurrentModels {
    /// Returns models that start with `set`.
    pub fn new(set: ModelSet) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(set))))
    }

    /// Returns the current set.
    pub fn get(&self) -> Arc<ModelSet> {
        self.0.read().clone()
    }

    /// Replaces the set. The new set asks providers for their models again.
    pub fn replace(&self, set: ModelSet) {
        *self.0.write() = Arc::new(set);
    }
}

impl Model for CurrentModels {
    fn history_turns(&self, model: Option<&str>) -> u32 {
        self.get().history_turns(model)
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.get().window(model)
    }

    fn sees_pictures(&self, model: Option<&str>) -> bool {
        self.get().sees_pictures(model)
    }

    fn is_offline(&self, model: Option<&str>) -> bool {
        self.get().is_offline(model)
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move { self.get().respond(request, sink).await })
    }
}
