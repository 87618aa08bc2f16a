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
    /// Lists them within 20 seconds. Dropped when the client waits no longer.
    fn list(&self) -> BoxFuture<'static, Result<Vec<ListedModel>, ListModelsError>>;
}
