//! FineCode's files: projects of a workspace, what they configure, how configuration merges.
//!
//! Blocking and pure but for reading files. Every reason not to use a part is a [`Problem`]; the rest works.

mod catalog;
mod definition;
mod merge;
mod scan;
mod source;

pub(crate) use catalog::{Action, Catalog, locate};
pub(crate) use definition::{Definition, Enabled, Fingerprint, Preset, read, read_preset};
pub(crate) use merge::{normalize, overlay};
pub(crate) use scan::scan;

use std::path::PathBuf;

/// A mistake in configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file that has it.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// A sentence for the user.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}
