//! `hub.lock`: says at which address the Hub listens, and is the lock of the running Hub.
//!
//! The Hub has an operating system lock on the file from its start to its end. So a killed Hub's file is taken over at
//! once, even if another process has its number now. Clients read the file; it is written once the Hub listens.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bobbin_workspace::open_private;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

const NAME: &str = "hub.lock";
/// Most of the file that is read.
const MAX_BYTES: u64 = 64 << 10;
/// How often the file is opened anew because its owner removed it meanwhile.
const MAX_TRIES: usize = 8;

/// The content of the lock file, which clients read.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockContent {
    /// The Hub's process.
    pub pid: u32,
    /// `http://HOST:PORT`.
    pub api_base_url: String,
    /// The token that requests present.
    pub token: String,
    /// When it started.
    #[serde(default)]
    pub started_at: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Its program, without links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_path: Option<PathBuf>,
}

impl std::fmt::Debug for LockContent {
    /// Leaves the token out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("LockContent");
        shown
            .field("pid", &self.pid)
            .field("api_base_url", &self.api_base_url);
        shown.finish_non_exhaustive()
    }
}

impl LockContent {
    /// Reads what the file in `directory` says. It may be left from a Hub that is gone.
    pub fn read(directory: &Path) -> Option<Self> {
        let text = bobbin_files::read_text(&directory.join(NAME), MAX_BYTES).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns whether a process has the number that it names.
    pub fn process_exists(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().filter(|pid| *pid > 0);
        pid.is_some_and(|pid| kill(Pid::from_raw(pid), None) != Err(nix::errno::Errno::ESRCH))
    }
}

/// The file, locked by this process. Removed when dropped.
pub(crate) struct HubLock {
    file: File,
    path: PathBuf,
    /// Whether the file stays when this is dropped.
    stays: bool,
}

impl HubLock {
    /// Takes the lock. Returns `None` while another process has it.
    ///
    /// # Errors
    /// The file cannot be opened or locked.
    pub(crate) fn take(directory: &Path) -> io::Result<Option<Self>> {
        let path = directory.join(NAME);
        for _ in 0..MAX_TRIES {
            let file = open_private(&path, OpenOptions::new().read(true).write(true).create(true))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let path = path.clone();
            let mut lock = Self {
                file,
                path,
                stays: true,
            };
            if lock.is_at_its_path() {
                lock.stays = false;
                return Ok(Some(lock));
            }
            // A Hub that ended has removed this file; another one is at the path, or none.
        }
        Err(io::Error::other("the file is removed again and again"))
    }

    /// Returns what the file said when it was taken.
    pub(crate) fn left_behind(&self) -> Option<LockContent> {
        let mut text = Vec::new();
        (&self.file).take(MAX_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Leaves the file to the Hub of another make that it names.
    pub(crate) fn leave_file(&mut self) {
        self.stays = true;
    }

    /// Says where this Hub is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&mut self, content: &LockContent) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        // At once: a reader sees nothing or all of it.
        self.file.write_all(&serde_json::to_vec_pretty(content)?)
    }

    fn is_at_its_path(&self) -> bool {
        let id = |found: std::fs::Metadata| (found.dev(), found.ino());
        let there = std::fs::symlink_metadata(&self.path).map(id);
        matches!((self.file.metadata().map(id), there), (Ok(ours), Ok(there)) if ours == there)
    }
}

impl Drop for HubLock {
    fn drop(&mut self) {
        if !self.stays && self.is_at_its_path() {
            // Only tidiness: without the lock, clients find that nobody answers there.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn one_process_has_the_file_and_the_next_takes_it_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        // Of a Hub that was killed.
        std::fs::write(
            &path,
            r#"{"pid":1,"apiBaseUrl":"http://127.0.0.1:1","token":"old, longer than the new one"}"#,
        )
        .unwrap();
        let mut lock = HubLock::take(directory.path()).unwrap().unwrap();
        assert_eq!(lock.left_behind().unwrap().pid, 1);
        assert!(HubLock::take(directory.path()).unwrap().is_none());
        let content = LockContent {
            pid: std::process::id(),
            api_base_url: "http://127.0.0.1:2".to_owned(),
            token: "t".to_owned(),
            started_at: String::new(),
            version: String::new(),
            binary_path: None,
        };
        lock.write(&content).unwrap();
        let read = LockContent::read(directory.path()).unwrap();
        assert_eq!((read.token.as_str(), read.process_exists()), ("t", true));
        drop(lock);
        assert!(!path.exists());
        let lock = HubLock::take(directory.path()).unwrap().unwrap();
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        // Another file in its place is not removed.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "mine").unwrap();
        drop(lock);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
