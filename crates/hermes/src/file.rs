//! The file of a document: read up to a limit, and replaced only if it is unchanged since the last read or write. Blocking.

use std::io;
use std::path::{Path, PathBuf};

use bobbin_files::{Batch, FileState, Kind, Leftovers, MAX_FILE_BYTES, Want, find, read_bytes};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::DocumentError;

/// A file, with the hash of its content when it was last read or written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct File {
    /// Absolute and without symbolic links in its directory.
    pub(crate) path: PathBuf,
    /// `None` if the file did not exist.
    content: Option<[u8; 32]>,
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// [`DocumentError::File`].
    pub(crate) fn read(path: &Path, max_bytes: usize) -> Result<(Self, Vec<u8>), DocumentError> {
        let read = || {
            let path = path.canonicalize()?;
            let bytes = read_bytes(&path, max_bytes as u64)?;
            Ok((path, bytes))
        };
        let (path, bytes) = read().map_err(|source| DocumentError::file(path, source))?;
        let content = Some(hash(&bytes));
        Ok((Self { path, content }, bytes))
    }

    /// Returns the file at a path with its present content, to be replaced.
    ///
    /// # Errors
    /// [`DocumentError::File`] if its directory does not exist, or the path is no regular file.
    pub(crate) fn at(path: &Path) -> Result<Self, DocumentError> {
        let place = || {
            let name = path.file_name();
            let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            Ok(directory.unwrap_or(Path::new(".")).canonicalize()?.join(name))
        };
        let path = place().map_err(|source| DocumentError::file(path, source))?;
        let content = match find(&path, MAX_FILE_BYTES) {
            FileState::Nothing => None,
            FileState::File(_, bytes) => Some(hash(&bytes)),
            FileState::Link(_) | FileState::Unread(_) | FileState::Other => {
                let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not an ordinary file");
                return Err(DocumentError::file(&path, source));
            }
        };
        Ok(Self { path, content })
    }

    /// Returns whether the file existed when it was last read or written.
    pub(crate) fn exists(&self) -> bool {
        self.content.is_some()
    }

    /// Replaces the content, if the file is unchanged.
    ///
    /// # Errors
    /// [`DocumentError::ChangedOnDisk`] and [`DocumentError::File`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), DocumentError> {
        let before = self.content;
        let still = move |now: &FileState| match now {
            FileState::Nothing => before.is_none(),
            FileState::File(_, now) => before == Some(hash(now)),
            FileState::Link(_) | FileState::Unread(_) | FileState::Other => false,
        };
        if !still(&find(&self.path, MAX_FILE_BYTES)) {
            return Err(DocumentError::ChangedOnDisk(self.path.clone()));
        }
        let mut batch = Batch::default();
        let want = Want::File(Kind::AsItWas, bytes.into());
        batch.add(self.path.clone(), want, Box::new(still));
        // A crash can leave a temporary file beside the file; its name says what it belongs to.
        let written = batch.apply(&Leftovers::default());
        written.map_err(|why| DocumentError::file(&self.path, io::Error::other(why)))?;
        self.content = Some(hash(bytes));
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
