//! What git said its version is, kept beside the checkpoints: a start need not run it again to hear the same.
//!
//! Goes by the program that `PATH` leads to: another path, size or time of change, and git is asked anew. Blocking.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Most bytes of the file.
const MAX_BYTES: u64 = 8 << 10;

/// The git that would be run, and where it is noted what it said.
#[derive(Debug)]
pub(super) struct KnownGit {
    note: PathBuf,
    /// Tells one git from another.
    stamp: String,
}

impl KnownGit {
    /// Finds git. `None` when there is none, or none that can be told from another.
    pub(super) fn find(directory: &Path, path: Option<&OsStr>) -> Option<Self> {
        let mut places = std::env::split_paths(path?);
        places.find_map(|place| {
            let program = place.join("git");
            let found = std::fs::metadata(&program).ok()?;
            let runs = found.is_file() && found.permissions().mode() & 0o111 != 0;
            runs.then(|| Self {
                note: directory.join("git-version"),
                stamp: format!(
                    "{} {} {}.{} {}",
                    program.display(),
                    found.size(),
                    found.mtime(),
                    found.mtime_nsec(),
                    found.ino()
                ),
            })
        })
    }

    /// Returns what it said, if it was asked before.
    pub(super) fn said(&self) -> Option<String> {
        let length = std::fs::metadata(&self.note).ok()?.len();
        if length > MAX_BYTES {
            return None;
        }
        let note = std::fs::read_to_string(&self.note).ok()?;
        let (stamp, said) = note.split_once('\n')?;
        (stamp == self.stamp).then(|| said.trim().to_owned())
    }

    /// Notes what it said. A note that cannot be written costs the next start a run of git.
    pub(super) fn note(&self, said: &str) {
        drop(std::fs::write(&self.note, format!("{}\n{said}\n", self.stamp)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_said_is_known_until_another_git_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("git");
        let find = || KnownGit::find(dir.path(), Some(dir.path().as_os_str()));
        assert!(find().is_none());
        std::fs::write(&program, "one").unwrap();
        assert!(find().is_none(), "it cannot be run");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = find().unwrap();
        assert_eq!(git.said(), None);
        git.note("git version 2.39.5");
        assert_eq!(find().unwrap().said().as_deref(), Some("git version 2.39.5"));
        std::fs::write(&program, "another").unwrap();
        assert_eq!(find().unwrap().said(), None);
    }
}
