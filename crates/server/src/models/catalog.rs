//! `model/list` over the configured models.

use std::time::Duration;

use bobbin_agent_api::model_catalog::{DefaultModel, ListModelsError, ListedModel, ModelCatalog};
use bobbin_model::{ModelListErrorCode as Code, UnixMillis};
use bobbin_models::{CurrentModels, Listed, ModelSet, ProviderError};
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
            let failed = |code, message| ListModelsError { code, message };
            match tokio::time::timeout(LONGEST, set.list()).await {
                Ok(Ok(models)) => Ok(models.into_iter().map(|model| listed(&set, model)).collect()),
                Ok(Err(error)) => Err(failed(code(&error), error.to_string())),
                Err(_) => Err(failed(
                    Code::Timeout,
                    "The providers did not answer in time.".to_owned(),
                )),
            }
        }
        .boxed()
    }
}

fn listed(set: &ModelSet, model: Listed) -> ListedModel {
    ListedModel {
        efforts: set.efforts(&model.id),
        id: model.id,
        owned_by: model.owned_by,
        created_at: UnixMillis(model.created_at_ms),
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
