//! Unsaved changes of documents, on the disk, so that a killed server loses no acknowledged change. Blocking.
//!
//! Each document has a file, in a directory that only the user may read, without its undo steps. A file is replaced as a
//! whole and not flushed: it survives the end of the process, but a power loss may cost the last seconds.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bobbin_hl7::{Document, Limits, Snapshot};
use bobbin_model::ThreadId;
use serde::{Deserialize, Serialize};

use crate::documents::State;
use crate::file::File;

/// Largest file: the longest text, with each byte escaped.
const MAX_BYTES: u64 = 64 << 20;

/// The directory; `None` for a host that ends with its command.
#[derive(Debug, Clone)]
pub(crate) struct Unsaved(pub(crate) Option<PathBuf>);

/// Content of a file.
#[derive(Serialize, Deserialize)]
struct Record {
    thread: ThreadId,
    document: Snapshot,
    file: Option<File>,
}

impl Unsaved {
    /// Stores a document with changes, or removes the file of a document without changes.
    ///
    /// # Errors
    /// The file cannot be written; an earlier file stays unchanged.
    pub(crate) fn keep(&self, thread: &ThreadId, state: &State) -> io::Result<()> {
        let Some(directory) = &self.0 else { return Ok(()) };
        // A text without a file exists only here.
        let only_here = state.file.is_none() && !state.document.text().is_empty();
        if !state.document.is_dirty() && !only_here {
            return self.forget(thread);
        }
        let record = Record {
            thread: thread.clone(),
            document: state.document.snapshot(),
            file: state.file.clone(),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let new = directory.join(format!("{thread}.new"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        fs::rename(new, path(directory, thread))
    }

    /// Removes the file of a document.
    ///
    /// # Errors
    /// The file exists and cannot be removed.
    pub(crate) fn forget(&self, thread: &ThreadId) -> io::Result<()> {
        let Some(directory) = &self.0 else { return Ok(()) };
        match fs::remove_file(path(directory, thread)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns up to `most` stored documents. A file that cannot be read is left in place.
    pub(crate) fn read(&self, most: usize) -> Vec<(ThreadId, State)> {
        let entries = self.0.as_ref().and_then(|directory| fs::read_dir(directory).ok());
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let documents = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let read = |path: PathBuf| {
            let read = restore(&path);
            if let Err(error) = &read {
                tracing::error!(%error, path = %path.display(), "an unsaved document cannot be read");
            }
            read.ok()
        };
        documents.filter_map(read).take(most).collect()
    }
}

fn restore(path: &Path) -> io::Result<(ThreadId, State)> {
    let bytes = bobbin_files::read_bytes(path, MAX_BYTES)?;
    // The cause would contain a part of the text.
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let record: Record = serde_json::from_slice(&bytes).map_err(|_| invalid("it is damaged"))?;
    let document = Document::restore(record.document, Limits::default());
    let document = document.map_err(|_| invalid("it does not fit"))?;
    let file = record.file;
    Ok((record.thread, State { document, file }))
}

fn path(directory: &Path, thread: &ThreadId) -> PathBuf {
    directory.join(format!("{thread}.json"))
}
