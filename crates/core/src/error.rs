//! Errors of commands.

use std::sync::Arc;

use bobbin_model::Refusal;
use bobbin_store::StoreError;

/// Error of a command. Cheap to clone, since one failed batch answers many commands.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CoreError {
    /// A rule refuses it; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed; nothing of the command is recorded.
    #[error("the change could not be stored")]
    Store(#[source] Arc<StoreError>),
    /// The Turn was stopped, but the store could not record that yet. It does so once it accepts writes again.
    #[error("the turn was stopped, which could not be stored yet")]
    StoppedNotStored(#[source] Arc<StoreError>),
    /// The same request is being executed, or the Thread is being loaded again. The client can repeat the request in a
    /// moment.
    #[error("the same request is being carried out; repeat it in a moment")]
    Busy,
    /// The server is shutting down.
    #[error("the server is shutting down; connect again in a moment")]
    Stopping,
}

impl From<StoreError> for CoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
