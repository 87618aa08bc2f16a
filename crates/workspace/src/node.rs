//! The running node of a user, as its record says: `node.lock` in the state directory, locked by the node's process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Context as _;
use crate::{StateDirectory, WorkspaceError, open_private, private_directory};

/// The file.
const NAME: &str = "node.lock";
/// Most bytes of it that are read.
const MAX_BYTES: u64 = 64 << 10;

/// The record of a running node, written by its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    /// Its process.
    pub pid: u32,
    /// When it started, as RFC 3339.
    pub started_at: String,
    /// Its version.
    pub version: String,
    /// `ws://HOST:PORT`, where this machine reaches it.
    pub address: String,
    /// The address of its page, without a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// The address of its page on other machines, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// The record, locked by this process.
pub struct NodeLock(File);

impl NodeRecord {
    /// Returns the record of the node that runs with a state directory.
    pub fn of(state: &StateDirectory) -> Option<Self> {
        let path = path(state);
        let file = bobbin_files::open_regular(&path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {
                serde_json::from_str(&bobbin_files::read_text(&path, MAX_BYTES).ok()?).ok()
            }
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    /// Returns the address of a workspace's page on other machines, if there is one.
    pub fn page_elsewhere_of(&self, name: &str) -> Option<String> {
        self.elsewhere.as_ref().map(|page| format!("{page}w/{name}/"))
    }

    /// Returns the address of a workspace's page.
    pub fn page_of(&self, name: &str) -> Option<String> {
        self.page.as_ref().map(|page| format!("{page}w/{name}/"))
    }
}

impl NodeLock {
    /// Takes the lock; `None` while another node runs.
    ///
    /// # Errors
    /// The file cannot be made or locked.
    pub fn take(state: &StateDirectory) -> Result<Option<Self>, WorkspaceError> {
        private_directory(state.path())?;
        let path = path(state);
        let failed = || format!("{} cannot be locked", path.display());
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true);
        let file = open_private(&path, options).context(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).context(failed),
        }
    }

    /// Writes the record.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, record: &NodeRecord) -> Result<(), WorkspaceError> {
        let mut write = || {
            let text = serde_json::to_vec_pretty(record)?;
            self.0.set_len(0)?;
            self.0.rewind()?;
            self.0.write_all(&text)
        };
        write().context(|| "the record of the node cannot be written".to_owned())
    }
}

fn path(state: &StateDirectory) -> PathBuf {
    state.path().join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_runs_with_a_state_directory_and_its_record_counts_while_it_does() {
        let top = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(&top.path().join("state"));
        assert_eq!(NodeRecord::of(&state), None);
        let mut lock = NodeLock::take(&state).unwrap().unwrap();
        assert_eq!(NodeRecord::of(&state), None, "it does not listen yet");
        let mut record = NodeRecord {
            pid: 7,
            started_at: "2026-11-28T06:00:00Z".to_owned(),
            version: "a rather long version".to_owned(),
            address: "ws://127.0.0.1:9100".to_owned(),
            page: Some("http://127.0.0.1:9100/".to_owned()),
            elsewhere: None,
        };
        for version in ["a rather long version", "1"] {
            version.clone_into(&mut record.version);
            lock.write(&record).unwrap();
            assert_eq!(NodeRecord::of(&state).as_ref(), Some(&record));
        }
        assert_eq!(
            record.page_of("tea").as_deref(),
            Some("http://127.0.0.1:9100/w/tea/")
        );
        assert!(NodeLock::take(&state).unwrap().is_none());
        drop(lock);
        assert_eq!(NodeRecord::of(&state), None, "what it left behind does not count");
        assert!(NodeLock::take(&state).unwrap().is_some());
    }
}
