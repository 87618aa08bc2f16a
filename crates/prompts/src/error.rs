//! What can be wrong with a command or a skill.

use std::path::PathBuf;

/// Why a command or skill cannot be had, or not be changed.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// Nothing has this name.
    #[error("there is no {what} '{name}'")]
    NotFound {
        /// `command` or `skill`.
        what: &'static str,
        /// The name; of a command with its slash.
        name: String,
    },
    /// No file can have this name.
    #[error("'{0}' is no name of a skill: it is one directory's name")]
    BadName(String),
    /// There are more bytes than are read or sent.
    #[error("{what} has more than {limit} bytes; shorten it")]
    TooLarge {
        /// Which text.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// It cannot be read as it is.
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A change could not be made.
    #[error("{} cannot be changed: {reason}", path.display())]
    Unchangeable {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl PromptError {
    pub(crate) fn unreadable(path: &std::path::Path, reason: &dyn std::fmt::Display) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    pub(crate) fn unchangeable(path: &std::path::Path, reason: &dyn std::fmt::Display) -> Self {
        Self::Unchangeable {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
