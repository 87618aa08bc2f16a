//! The models that a Thread can use, as dialects list them.

use bobbin_model::{Effort, ModelListErrorCode, ProviderProtocol, UnixMillis};
use futures_util::future::BoxFuture;

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Its name in a Thread's configuration.
    pub id: String,
    /// Its maker; may be empty.
    pub owned_by: String,
    /// Its date; 1970 if unknown.
    pub created_at: UnixMillis,
    /// The reasoning efforts that it supports.
    pub efforts: Vec<Effort>,
    /// Its provider; `None` for the offline model.
    pub provider: Option<ModelProvider>,
    /// Tokens of its window, if known.
    pub context_window: Option<u64>,
    /// Its price, if a setting has one.
    pub price: Option<ModelPrice>,
}

/// The provider of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProvider {
    /// Its name in settings.
    pub id: String,
    /// The protocol that it speaks.
    pub protocol: ProviderProtocol,
}

/// The price of a million tokens, in millionths of a currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPrice {
    /// For tokens that the model reads.
    pub input: u64,
    /// For those of them that its provider has in a cache.
    pub cached_input: u64,
    /// For tokens that it writes.
    pub output: u64,
    /// The currency, as three letters, if a setting names it.
    pub currency: Option<String>,
}

/// The default model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModel {
    /// Its full name.
    pub id: String,
    /// The reasoning efforts that it supports.
    pub efforts: Vec<Effort>,
    /// Why it is the default.
    pub source: DefaultSource,
}

/// Why a model is the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DefaultSource {
    /// No model is set up, so the offline model replies.
    #[default]
    Nothing,
    /// No model is set, and this environment variable has the only provider key.
    Key {
        /// The variable.
        variable: String,
    },
    /// A setting names it.
    Setting,
}

impl DefaultModel {
    /// Returns a one-line notice for the user about a default that no setting names.
    pub fn notice(&self) -> Option<String> {
        match &self.source {
            DefaultSource::Setting => None,
            DefaultSource::Key { variable } => Some(format!(
                "No model is set: using {}, because {variable} is set. Set `Model` to choose another.",
                self.id
            )),
            DefaultSource::Nothing => Some(
                "No model is set: the offline engine answers. Run `bobbin setup` to set one up.".to_owned(),
            ),
        }
    }
}

/// Error of a listing. The text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ListModelsError {
    /// The kind of the error.
    pub code: ModelListErrorCode,
    /// One sentence.
    pub message: String,
}

/// Lists the models that a Thread can use.
pub trait ModelCatalog: Send + Sync + 'static {
    /// Returns the model of Threads that choose none.
    fn default_model(&self) -> DefaultModel;

    /// Lists the models within 20 seconds. Dropped when the client no longer waits.
    fn list(&self) -> BoxFuture<'static, Result<Vec<ListedModel>, ListModelsError>>;
}
