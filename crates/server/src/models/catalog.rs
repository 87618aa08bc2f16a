//! `model/list` over the configured models.

use std::time::Duration;

use bobbin_agent_api::model_catalog::{
    DefaultModel, ListModelsError, ListedModel, ModelCatalog, ModelPrice, ModelProvider,
};
use bobbin_model::{ModelListErrorCode as Code, ProviderProtocol, UnixMillis};
use bobbin_models::settings::Wire;
use bobbin_models::{
    Chosen, CurrentModels, Listed, ModelSet, Network, Provider, ProviderError, ProviderSettings,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Longest wait for all providers together: clients give up after 20 seconds (AppServer protocol 05 §7).
const LONGEST: Duration = Duration::from_secs(15);

/// Lists the current models.
#[derive(Debug)]
pub(crate) struct Catalog(pub(crate) CurrentModels);

impl ModelCatalog for Catalog {
    fn default_model(&self) -> DefaultModel {
        self.0.get().default_model()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<ListedModel>, ListModelsError>> {
        let set = self.0.get();
        async move {
            match tokio::time::timeout(LONGEST, set.list()).await {
                Ok(Ok(models)) => Ok(models.into_iter().map(|model| listed(&set, model)).collect()),
                Ok(Err(error)) => Err(failed(code(&error), &error)),
                Err(_) => Err(failed(Code::Timeout, "The providers did not answer in time.")),
            }
        }
        .boxed()
    }
}

fn listed_as(model: Listed) -> ListedModel {
    ListedModel {
        id: model.id,
        owned_by: model.owned_by,
        created_at: UnixMillis(model.created_at_ms),
        efforts: Vec::new(),
        provider: None,
        context_window: None,
        price: None,
    }
}

fn listed(set: &ModelSet, model: Listed) -> ListedModel {
    let mut listed = listed_as(model);
    if let Ok(Chosen::Provided { provider, model }) = set.choose(Some(&listed.id)) {
        let settings = provider.settings();
        let facts = settings.facts_of(&model);
        listed.efforts = facts.efforts().iter().collect();
        listed.context_window = facts.context_window;
        listed.price = facts.price.map(|price| ModelPrice {
            input: price.input,
            cached_input: price.cached_input.unwrap_or(price.input),
            output: price.output,
            currency: set.currency().map(str::to_owned),
        });
        listed.provider = Some(ModelProvider {
            id: settings.name.clone(),
            protocol: protocol(settings.wire),
        });
    }
    listed
}

/// Returns the protocol of a wire.
pub(crate) fn protocol(wire: Wire) -> ProviderProtocol {
    match wire {
        Wire::ChatCompletions => ProviderProtocol::ChatCompletions,
        Wire::Responses => ProviderProtocol::Responses,
        Wire::Messages => ProviderProtocol::Messages,
    }
}

/// Returns the wire of a protocol.
pub(crate) fn wire(protocol: ProviderProtocol) -> Wire {
    match protocol {
        ProviderProtocol::ChatCompletions => Wire::ChatCompletions,
        ProviderProtocol::Responses => Wire::Responses,
        ProviderProtocol::Messages => Wire::Messages,
    }
}

/// Asks a provider that no model set has for its models.
pub(crate) async fn tested(settings: ProviderSettings) -> Result<Vec<ListedModel>, ListModelsError> {
    let name = settings.name.clone();
    let asked = async {
        let network =
            Network::new(&super::proxies().0).map_err(|error| failed(Code::InvalidEndpoint, &error))?;
        let provider = Provider::new(settings, &network).map_err(|error| failed(code(&error), &error))?;
        provider
            .models()
            .await
            .map_err(|error| failed(code(&error), &error))
    };
    let listed = tokio::time::timeout(LONGEST, asked).await;
    let listed =
        listed.unwrap_or_else(|_| Err(failed(Code::Timeout, "The provider did not answer in time.")))?;
    let model = |mut model: Listed| {
        if !name.is_empty() {
            model.id = format!("{name}/{}", model.id);
        }
        listed_as(model)
    };
    Ok(listed.into_iter().map(model).collect())
}

fn failed(code: Code, message: &(impl ToString + ?Sized)) -> ListModelsError {
    ListModelsError {
        code,
        message: message.to_string(),
    }
}

fn code(error: &ProviderError) -> Code {
    match error {
        ProviderError::NoKey { .. } => Code::MissingApiKey,
        ProviderError::Settings { .. } => Code::InvalidEndpoint,
        ProviderError::WrongKey { .. } => Code::Unauthorized,
        ProviderError::Forbidden { .. } => Code::Forbidden,
        ProviderError::UnknownModel { .. } | ProviderError::Malformed { .. } => Code::EndpointNotSupported,
        ProviderError::Unreachable { .. } | ProviderError::Truncated { .. } => Code::Network,
        ProviderError::Stalled { .. } | ProviderError::Endless { .. } => Code::Timeout,
        ProviderError::ContextExceeded { .. }
        | ProviderError::Quota { .. }
        | ProviderError::RateLimited { .. }
        | ProviderError::OverRate { .. }
        | ProviderError::Server { .. }
        | ProviderError::Refused { .. }
        | ProviderError::BrokenOff { .. }
        | ProviderError::Filtered { .. }
        | ProviderError::TooLarge { .. } => Code::Unknown,
    }
}
