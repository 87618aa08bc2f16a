//! Errors of commands and skills.

use std::path::PathBuf;

/// Why a command or skill cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// Nothing has this name.
    #[error("there is no {what} '{name}'")]
    NotFound {
        /// `command` or `skill`.
        what: &'static str,
        /// The name; a command's with its slash.
        name: String,
    },
    /// The workspace has one of this name, and its user has not trusted the workspace.
    #[error("the {what} '{name}' waits for trust in this folder; run `bobbin trust`")]
    NotTrusted {
        /// `command` or `skill`.
        what: &'static str,
        /// The name; a command's with its slash.
        name: String,
    },
    /// No file can have this name.
    #[error("'{0}' is no name of a skill: it is one directory's name")]
    BadName(String),
    /// A plugin has the skill.
    #[error("the skill '{skill}' comes with the plugin '{plugin}'; remove or disable the plugin")]
    OfPlugin {
        /// The skill.
        skill: String,
        /// The plugin.
        plugin: String,
    },
    /// The text exceeds the limit for reading or sending.
    #[error("{what} has more than {limit} bytes; shorten it")]
    TooLarge {
        /// The text in question.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// The file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A change failed.
    #[error("{} cannot be changed: {reason}", path.display())]
    Unchangeable {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
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
