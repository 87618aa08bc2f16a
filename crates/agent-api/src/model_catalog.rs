//! The models that a Thread can be given, as dialects list them.

use bobbin_model::{Effort, ModelListErrorCode, UnixMillis};
use futures_util::future::BoxFuture;

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// What a Thread's configuration names it by.
    pub id: String,
    /// Who made it; may be empty.
    pub owned_by: String,
    /// When; 1970 when nobody says.
    pub created_at: UnixMillis,
    /// The reasoning efforts it can be asked for.
    pub efforts: Vec<Effort>,
}

/// The model of Threads that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModel {
    /// Its whole name.
    pub id: String,
    /// The reasoning efforts it can be asked for.
    pub efforts: Vec<Effort>,
    /// Why it is the default.
    pub source: DefaultSource,
}

/// Why a model is the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DefaultSource {
    /// No model is set up: the offline one answers.
    #[default]
    Nothing,
    /// No model is set, and this variable of the environment has the only key of a provider.
    Key {
        /// The variable.
        variable: String,
    },
    /// A setting names it.
    Setting,
}

impl DefaultModel {
    /// Returns what a user should know of a default that no setting names, as one line.
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

/// Why models cannot be listed. The text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ListModelsError {
    /// What the trouble is.
    pub code: ModelListErrorCode,
    /// One sentence.
    pub message: String,
}

/// Lists the models that a Thread can be given.
pub trait ModelCatalog: Send + Sync + 'static {
    /// Returns the model of Threads that name none.
    fn default_model(&self) -> DefaultModel;

    /// Lists them within 20 seconds. Dropped when the client waits no longer.
    fn list(&self) -> BoxFuture<'static, Result<Vec<ListedModel>, ListModelsError>>;
}
