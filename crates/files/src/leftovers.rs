//! Records the names of temporary files before they exist, so that the next server can remove those of a killed one,
//! and no others.
//!
//! A note is a file in a directory of the server's own, one for each batch, removed when the batch is done. [`clear`]
//! handles the notes of earlier servers: it removes the named files, if their names have the form that [`fresh`]
//! generates and they are no directories. A power failure may lose a note; then its files stay. Without a directory,
//! nothing is recorded. Blocking. Bounded by the size of a batch, and by [`MAX_NOTE_BYTES`] when read.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::directory::Directory;

/// Beginning of the names of temporary files.
const PREFIX: &str = ".bobbin-";
/// Random characters in them.
const CHANCE: usize = 32;
/// Most bytes of a note; the rest is not read.
const MAX_NOTE_BYTES: u64 = 64 << 20;

/// The directory of notes. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Leftovers(Arc<OnceLock<PathBuf>>);

/// A note of names, removed with the value.
#[derive(Debug)]
pub(crate) struct Note(PathBuf);

impl Leftovers {
    /// Records names in this directory from now on. The first call counts.
    pub fn record_in(&self, directory: &Path) {
        // A second server in one process, as in tests, has its own.
        drop(self.0.set(directory.to_owned()));
    }

    /// Records names.
    pub(crate) fn note(&self, names: impl Iterator<Item = PathBuf>) -> Option<Note> {
        let directory = self.0.get()?;
        let mut text = Vec::new();
        for name in names {
            text.extend_from_slice(name.as_os_str().as_bytes());
            text.push(0);
        }
        let note = Note(directory.join(fresh()));
        if let Err(error) = std::fs::write(&note.0, text) {
            tracing::warn!(%error, "what a kill would leave behind cannot be noted");
        }
        Some(note)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // The note may not exist.
        drop(std::fs::remove_file(&self.0));
    }
}

/// Returns a new, unique name for a temporary file.
pub(crate) fn fresh() -> OsString {
    use std::hash::BuildHasher as _;
    // The keys are unique, from the system's randomness.
    let chance = || std::hash::RandomState::new().hash_one(PREFIX);
    OsString::from(format!("{PREFIX}{:016x}{:016x}", chance(), chance()))
}

fn is_ours(name: &OsStr) -> bool {
    let chance = name.as_bytes().strip_prefix(PREFIX.as_bytes());
    chance.is_some_and(|chance| chance.len() == CHANCE && chance.iter().all(u8::is_ascii_hexdigit))
}

/// Removes the temporary files of earlier servers, and creates the directory of the notes if it is missing.
///
/// # Errors
/// The notes cannot be read.
pub fn clear(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for note in std::fs::read_dir(directory)? {
        let note = note?.path();
        let mut names = Vec::new();
        File::open(&note)?.take(MAX_NOTE_BYTES).read_to_end(&mut names)?;
        for name in names.split(|&byte| byte == 0) {
            let path = Path::new(OsStr::from_bytes(name));
            if path.is_absolute()
                && path.file_name().is_some_and(is_ours)
                && let Ok((parent, name)) = Directory::parent_of(path)
            {
                // Most of them never existed, or have been removed.
                drop(parent.remove(name));
            }
        }
        std::fs::remove_file(&note)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobbin_testkit::Folder;

    #[test]
    fn only_what_was_noted_and_is_named_like_ours_is_removed() {
        let workspace = Folder::new();
        let notes = workspace.outside().join("notes");
        clear(&notes).unwrap();
        let leftovers = Leftovers::default();
        assert!(leftovers.note(std::iter::empty()).is_none());
        leftovers.record_in(&notes);
        let ours = || fresh().into_string().unwrap();
        let [noted, other, away, directory] = [ours(), ours(), ours(), ours()];
        for name in [&noted, &other, ".bobbin-mine", "file"] {
            workspace.write(name, "x");
        }
        std::fs::create_dir(workspace.root().join(&directory)).unwrap();
        std::fs::write(workspace.outside().join(&away), "x").unwrap();
        std::os::unix::fs::symlink(workspace.outside(), workspace.root().join("link")).unwrap();
        let link = format!("link/{away}");
        let names = [&noted, "missing", ".bobbin-mine", "file", &directory, &link];
        let names = names.map(|name| workspace.root().join(name));
        let note = leftovers.note(names.iter().cloned()).unwrap();
        // As if the server were killed.
        std::mem::forget(note);
        clear(&notes).unwrap();
        assert!(!workspace.root().join(&noted).exists());
        for name in [&other, ".bobbin-mine", "file", &directory] {
            assert!(workspace.root().join(name).exists(), "{name}");
        }
        assert!(workspace.outside().join(&away).exists());
        assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 0);
        // A finished batch leaves no note.
        drop(leftovers.note(names.iter().cloned()));
        assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 0);
    }
}
