//! The models that a Thread can use, as dialects list them.

use bobbin_model::{Effort, ModelListErrorCode, UnixMillis};
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
