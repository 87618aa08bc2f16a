//! `model/list`: the models that a Thread can use. It asks providers in a task of its own.
//!
//! The answer comes after all other answers that the client waits for. A terminal client in use takes the first answer
//! after a request for the request's own, and requests the models while it reconnects.

use std::sync::Arc;

use bobbin_agent_api::model_catalog::{
    DefaultSource, ListModelsError, ListedModel, ModelCatalog, ModelProvider,
};
use bobbin_native_wire::models::types::{
    DefaultModelSource, ModelInfo, ModelListParams, ModelListResult, ModelPriceInfo, WorkspaceDefaultsResult,
};
use bobbin_peer::Responder;

use crate::call::NoParams;
use crate::client::Client;
use crate::convert;

pub(super) fn list(
    client: &Client,
    models: &Arc<dyn ModelCatalog>,
    ModelListParams { provider_id }: ModelListParams,
    responder: Responder,
) {
    let models = models.clone();
    let cancelled = responder.token().clone();
    let asking = client.clone();
    client.spawn(async move {
        tokio::select! {
            biased;
            // The client no longer waits.
            () = cancelled.cancelled() => drop(responder),
            listed = listed(&asking, &*models) => {
                responder.ok(result(listed, &models.default_model().id, provider_id));
            }
        }
    });
}

pub(super) fn defaults(client: &Client, models: &Arc<dyn ModelCatalog>, _: NoParams, responder: Responder) {
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

fn result(
    listed: Result<Vec<ListedModel>, ListModelsError>,
    default: &str,
    provider_id: Option<String>,
) -> ModelListResult {
    let (mut models, error) = match listed {
        Ok(models) => (models, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    if let Some(wanted) = &provider_id {
        let is_wanted = |provider: &ModelProvider| provider.id.eq_ignore_ascii_case(wanted);
        models.retain(|model| model.provider.as_ref().is_some_and(is_wanted));
    }
    let protocol = models
        .first()
        .and_then(|model| Some(model.provider.as_ref()?.protocol));
    ModelListResult {
        success: error.is_none(),
        models: infos(models, default),
        protocol: protocol.filter(|_| provider_id.is_some()),
        provider_id,
        error_code: error.as_ref().map(|error| error.code),
        error_message: error.map(|error| error.message),
    }
}

/// Returns models for the wire. If none is the default one, the first is.
pub(crate) fn infos(models: Vec<ListedModel>, default: &str) -> Vec<ModelInfo> {
    let found = models.iter().position(|model| model.id == default);
    let default = found.unwrap_or(0);
    let models = models.into_iter().enumerate();
    models
        .map(|(place, model)| info(model, place == default))
        .collect()
}

fn info(model: ListedModel, is_default: bool) -> ModelInfo {
    let (provider_id, protocol) = model
        .provider
        .map(|provider| (provider.id, provider.protocol))
        .unzip();
    ModelInfo {
        id: model.id,
        owned_by: model.owned_by,
        created_at: convert::time(model.created_at),
        reasoning_efforts: Some(model.efforts).filter(|efforts| !efforts.is_empty()),
        is_default,
        provider_id,
        protocol,
        context_window: model.context_window,
        price: model.price.map(|price| ModelPriceInfo {
            input: convert::units(price.input),
            cached_input: convert::units(price.cached_input),
            output: convert::units(price.output),
            currency: price.currency,
        }),
    }
}
