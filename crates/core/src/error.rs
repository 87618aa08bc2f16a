//! Why a command was not carried out.

use std::sync::Arc;

use bobbin_model::Refusal;
use bobbin_store::StoreError;

/// Why a command was not carried out. Cheap to clone: one failed batch answers many commands.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CoreError {
    /// A rule says no; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed; nothing of the command is recorded.
    #[error("the change could not be stored")]
    Store(#[source] Arc<StoreError>),
    /// The Turn was stopped, and the store could not record that. It is recorded when the store takes writes again.
    #[error("the turn was stopped, which could not be stored yet")]
    StoppedNotStored(#[source] Arc<StoreError>),
    /// The same named request is being carried out, or the Thread is just being loaded anew; repeated in a moment it is
    /// answered.
    #[error("the same request is being carried out; repeat it in a moment")]
    Busy,
    /// The server is going down.
    #[error("the server is shutting down; connect again in a moment")]
    Stopping,
}

impl From<StoreError> for CoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
