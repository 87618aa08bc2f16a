//! The disabled skills of a workspace: `.craft/skills.json`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::PromptError;

/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 64 << 10;

/// The file; read at each use, since users edit it too.
#[derive(Debug)]
pub(crate) struct SwitchedOff {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SwitchedOffFile {
    #[serde(default)]
    disabled: BTreeSet<String>,
}

impl SwitchedOff {
    pub(crate) fn of(workspace: &Path) -> Self {
        Self {
            path: workspace.join(".craft/skills.json"),
        }
    }

    /// Returns the names.
    ///
    /// # Errors
    /// The file exists and is malformed.
    pub(crate) fn names(&self) -> Result<BTreeSet<String>, PromptError> {
        let cannot = |reason: String| PromptError::unreadable(&self.path, &reason);
        let text = match bobbin_files::read_bytes(&self.path, MAX_BYTES) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            read => read.map_err(|error| cannot(error.to_string()))?,
        };
        let file: SwitchedOffFile =
            serde_json::from_slice(&text).map_err(|error| cannot(error.to_string()))?;
        Ok(file.disabled)
    }

    /// Adds or removes a name; the file is replaced in one step.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn set(&mut self, name: &str, off: bool) -> Result<(), PromptError> {
        let mut disabled = self.names()?;
        let changed = if off {
            disabled.insert(name.to_owned())
        } else {
            disabled.remove(name)
        };
        if !changed {
            return Ok(());
        }
        let cannot = |reason: String| PromptError::unchangeable(&self.path, &reason);
        let text = serde_json::to_string_pretty(&SwitchedOffFile { disabled })
            .map_err(|error| cannot(error.to_string()))?;
        let write = || {
            let directory = self.path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            writeln!(file, "{text}")?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok::<_, std::io::Error>(())
        };
        write().map_err(|error| cannot(error.to_string()))
    }
}
