//! `model/list` over the configured models.

use std::time::Duration;

use bobbin_models::{Listed, ModelSet, ProviderError};
use bobbin_native::ModelCatalog;
use bobbin_wire::{ModelInfo, ModelListErrorCode as Code, ModelListResult, Timestamp};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Longest wait for all providers together: clients give up after 20 seconds (AppServer protocol 05 §7).
const LONGEST: Duration = Duration::from_secs(15);

/// Lists what the set has.
#[derive(Debug)]
pub(crate) struct Catalog(pub(crate) ModelSet);

impl ModelCatalog for Catalog {
    fn list(&self) -> BoxFuture<'static, ModelListResult> {
        let models = self.0.clone();
        async move {
            match tokio::time::timeout(LONGEST, models.list()).await {
                Ok(Ok(models)) => ModelListResult {
                    success: true,
                    models: models.into_iter().map(info).collect(),
                    error_code: None,
                    error_message: None,
                },
                Ok(Err(error)) => trouble(code(&error), error.to_string()),
                Err(_) => trouble(Code::Timeout, "The providers did not answer in time.".to_owned()),
            }
        }
        .boxed()
    }
}

fn info(model: Listed) -> ModelInfo {
    ModelInfo {
        id: model.id,
        owned_by: model.owned_by,
        created_at: Timestamp(model.created_at_ms),
    }
}

fn trouble(code: Code, message: String) -> ModelListResult {
    ModelListResult {
        success: false,
        models: Vec::new(),
        error_code: Some(code),
        error_message: Some(message),
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
