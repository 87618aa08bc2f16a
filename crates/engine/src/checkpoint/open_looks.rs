//! Looks that are open, each a small file beside the repository: a command that changes nothing costs no run of git.
//!
//! A file says what the step is and which tree was seen; it appears in one piece under the step's own name in `open/`,
//! and is gone when the look is closed. It is as durable as the store is by default: a killed server loses
//! none, a power failure may. The tree is kept by the ref of its root; where that moved on, git may collect it when it
//! tidies ([`super::tidy`]), and then nobody knows what the call has changed. Blocking. Bounded by the calls that run or were interrupted, and by
//! [`MAX_BYTES`] a file.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::ledger::Step;

/// Most bytes of one: the names a look has left out are bounded well below it.
const MAX_BYTES: u64 = 32 << 20;
/// Ending of a file that is being written.
const HALF: &str = "half";
/// What stands in a file's name for the `/` of a step's, which are made of letters, digits, `-` and `_` otherwise.
const BETWEEN: &str = "!";

/// The open looks of a server.
#[derive(Debug, Clone)]
pub(super) struct OpenLooks {
    directory: PathBuf,
}

/// One of them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenLook<S = Step> {
    /// Name of the tree that was seen.
    pub(super) tree: String,
    pub(super) step: S,
}

impl OpenLooks {
    pub(super) fn of(directory: &Path) -> Self {
        Self {
            directory: directory.join("open"),
        }
    }

    /// Makes their directory, when it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn prepare(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.directory)
    }

    /// Notes a look, before its call runs.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub(super) fn begin(&self, name: &str, tree: &str, step: &Step) -> io::Result<()> {
        let path = self.path(name);
        let half = path.with_extension(HALF);
        let tree = tree.to_owned();
        std::fs::write(&half, serde_json::to_vec(&OpenLook { tree, step })?)?;
        std::fs::rename(&half, &path)
    }

    /// Returns a look, if it is open.
    ///
    /// # Errors
    /// Its file cannot be read, or is none of ours.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<OpenLook>> {
        let file = match File::open(self.path(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text)?;
        Ok(Some(serde_json::from_slice(&text)?))
    }

    /// Forgets a look, if it is open.
    ///
    /// # Errors
    /// Its file cannot be removed.
    pub(super) fn end(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Returns the names of the open looks whose name begins with `place`, and when each was noted.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn names(&self, place: &str) -> io::Result<Vec<(SystemTime, String)>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            let file = entry.file_name();
            // With a dot it is half of one.
            let Some(name) = file.to_str().filter(|name| !name.contains('.')) else {
                continue;
            };
            let name = name.replace(BETWEEN, "/");
            if name.starts_with(place) {
                match entry.metadata() {
                    // Closed meanwhile.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    about => names.push((about?.modified()?, name)),
                }
            }
        }
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name.replace('/', BETWEEN))
    }
}
