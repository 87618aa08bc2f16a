//! `model/list`: the models that a Thread can use. It asks providers in a task of its own.
//!
//! The answer comes after all other answers that the client waits for. A terminal client in use takes the first answer
//! after a request for the request's own, and requests the models while it reconnects.

use std::sync::Arc;

use bobbin_agent_api::model_catalog::{DefaultSource, ListModelsError, ListedModel, ModelCatalog};
use bobbin_peer::Responder;
use serde::de::IgnoredAny;

use crate::client::Client;
use crate::convert;
use crate::groups::models::types::{DefaultModelSource, ModelInfo, ModelListResult, WorkspaceDefaultsResult};

pub(super) fn list(client: &Client, models: &Arc<dyn ModelCatalog>, _: IgnoredAny, responder: Responder) {
    let models = models.clone();
    let cancelled = responder.token().clone();
    let asking = client.clone();
    client.spawn(async move {
        tokio::select! {
            biased;
            // The client no longer waits.
            () = cancelled.cancelled() => drop(responder),
            listed = listed(&asking, &*models) => responder.ok(result(listed)),
        }
    });
}

pub(super) fn defaults(client: &Client, models: &Arc<dyn ModelCatalog>, _: IgnoredAny, responder: Responder) {
    let policy = &client.threads().settings().approval_policy;
    let model = models.default_model();
    let notice = model.notice();
    let (model_source, key_variable) = match model.source {
        DefaultSource::Nothing => (DefaultModelSource::Nothing, None),
        DefaultSource::Key { variable } => (DefaultModelSource::Key, Some(variable)),
        DefaultSource::Setting => (DefaultModelSource::Setting, None),
    };
    responder.ok(WorkspaceDefaultsResult {
        model: model.id,
        model_source,
        key_variable,
        reasoning_efforts: model.efforts,
        approval_policy: policy.for_person(),
        approval_policy_set: policy.is_set(),
        notice,
    });
}

/// Lists the models, and waits for the answers to the client's other requests.
async fn listed(client: &Client, models: &dyn ModelCatalog) -> Result<Vec<ListedModel>, ListModelsError> {
    let (listed, ()) = tokio::join!(models.list(), client.answered_otherwise());
    listed
}

fn result(listed: Result<Vec<ListedModel>, ListModelsError>) -> ModelListResult {
    let info = |model: ListedModel| ModelInfo {
        id: model.id,
        owned_by: model.owned_by,
        created_at: convert::time(model.created_at),
        reasoning_efforts: Some(model.efforts).filter(|efforts| !efforts.is_empty()),
    };
    let (models, error) = match listed {
        Ok(models) => (models, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    ModelListResult {
        success: error.is_none(),
        models: models.into_iter().map(info).collect(),
        error_code: error.as_ref().map(|error| error.code),
        error_message: error.map(|error| error.message),
    }
}
