//! Why a workspace or its state cannot be used.

use std::error::Error;

/// Why a workspace or its state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Something failed on the way.
    #[error("{what}")]
    Failed {
        /// The step that failed, and its path.
        what: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It may not be done: a sentence that says what to do instead.
    #[error("{0}")]
    Refused(String),
    /// Another process serves the workspace.
    #[error("the workspace {root} is served by {who}")]
    Busy {
        /// The workspace.
        root: String,
        /// That process, and what to do about it.
        who: String,
    },
}

impl WorkspaceError {
    /// Returns whether another process serves the workspace.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }
}

/// Adds what could not be done to an error.
pub(crate) trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, WorkspaceError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, WorkspaceError> {
        self.map_err(|source| WorkspaceError::Failed {
            what: what(),
            source: source.into(),
        })
    }
}
