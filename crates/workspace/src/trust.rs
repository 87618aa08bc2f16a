//! The user's record about one folder: `trust.json` in the folder's part of the state directory, 0600.
//!
//! A record is about the directory that was there when it was given: another one in its place has none. At most
//! [`MAX_FINGERPRINTS`] things of each kind; the oldest go.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::WorkspaceError;
use crate::error::Context as _;
use crate::state::{StateDirectory, directory_id, open_private, write_small};

/// Name of the file.
const NAME: &str = "trust.json";
/// Locked while the file changes.
const LOCK: &str = "trust.lock";
/// Most things that a record is about (guess: many times what a folder brings).
const MAX_FINGERPRINTS: usize = 1024;

/// The trust that the user has given to a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustRecord {
    /// Which directory was there, by inode and birth.
    directory: Option<String>,
    /// Whether the folder is trusted: its texts count then.
    pub trusted: bool,
    /// The fingerprints of trusted items that run or loosen something, oldest first.
    fingerprints: Vec<String>,
    /// Names of things that the user has switched off here, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<String>,
}

impl TrustRecord {
    /// Whether a thing with this content counts.
    pub fn has(&self, fingerprint: &str) -> bool {
        self.fingerprints.iter().any(|known| known == fingerprint)
    }

    /// Makes a thing count.
    pub fn add(&mut self, fingerprint: &str) {
        self.remove(fingerprint);
        self.fingerprints.push(fingerprint.to_owned());
        let excess = self.fingerprints.len().saturating_sub(MAX_FINGERPRINTS);
        self.fingerprints.drain(..excess);
    }

    /// Takes that back.
    pub fn remove(&mut self, fingerprint: &str) {
        self.fingerprints.retain(|known| known != fingerprint);
    }

    /// Takes all trust back. What is switched off stays so.
    pub fn revoke(&mut self) {
        self.trusted = false;
        self.fingerprints.clear();
    }

    /// Returns the names of what is switched off.
    pub fn switched_off(&self) -> &[String] {
        &self.switched_off
    }

    /// Switches a thing off, or on again.
    pub fn switch(&mut self, name: &str, on: bool) {
        self.switched_off.retain(|known| known != name);
        if !on {
            self.switched_off.push(name.to_owned());
            let excess = self.switched_off.len().saturating_sub(MAX_FINGERPRINTS);
            self.switched_off.drain(..excess);
        }
    }

    /// Whether the user trusts something of the folder.
    fn trusts_something(&self) -> bool {
        self.trusted || !self.fingerprints.is_empty()
    }

    fn is_empty(&self) -> bool {
        !self.trusts_something() && self.switched_off.is_empty()
    }
}

/// The file with the record about one folder.
#[derive(Debug, Clone)]
pub struct TrustFile {
    path: PathBuf,
    root: PathBuf,
    state: StateDirectory,
}

impl TrustFile {
    /// Returns the file of the folder whose canonical path is `root`; it may not be there.
    pub fn of(state: &StateDirectory, root: &Path) -> Self {
        Self {
            path: state.of_workspace(root).join(NAME),
            root: root.to_owned(),
            state: state.clone(),
        }
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the record. There is none where the file cannot be read or is about another directory.
    pub fn read(&self) -> TrustRecord {
        let record = self.try_read().unwrap_or_else(|error| {
            tracing::warn!(
                %error, cause = std::error::Error::source(&error),
                "no record about the folder is known"
            );
            TrustRecord::default()
        });
        if record.directory.is_some() && record.directory == directory_id(&self.root) {
            record
        } else {
            TrustRecord::default()
        }
    }

    /// Changes the record. Others that change it wait: a server and commands may do so at the same time.
    ///
    /// # Errors
    /// It cannot be written; it is as before then.
    pub fn change(&self, change: impl FnOnce(&mut TrustRecord)) -> Result<TrustRecord, WorkspaceError> {
        let folder = self.state.make_folder(&self.root)?;
        // Network file systems lock only what is open for writing, so not the folder.
        let lock = open_private(&folder.join(LOCK), OpenOptions::new().write(true).create(true));
        let locked = lock.and_then(|file| file.lock().map(|()| file));
        let _lock = locked.context(|| format!("{} cannot be locked", folder.join(LOCK).display()))?;
        let mut record = self.read();
        change(&mut record);
        record.directory = directory_id(&self.root);
        self.write(&record)?;
        Ok(record)
    }

    fn try_read(&self) -> Result<TrustRecord, WorkspaceError> {
        match std::fs::read(&self.path) {
            Ok(text) => {
                serde_json::from_slice(&text).context(|| format!("{} is damaged", self.path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(TrustRecord::default()),
            Err(error) => Err(error).context(|| format!("{} cannot be read", self.path.display())),
        }
    }

    fn write(&self, record: &TrustRecord) -> Result<(), WorkspaceError> {
        if record.is_empty() {
            return match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(error).context(|| format!("{} cannot be removed", self.path.display()))
                }
                Ok(()) | Err(_) => Ok(()),
            };
        }
        let text = serde_json::to_vec_pretty(record)
            .context(|| "the record cannot be written as JSON".to_owned())?;
        write_small(&self.path, &text)
    }
}

/// Returns every folder of which the user trusts something.
///
/// # Errors
/// The state directory cannot be listed.
pub fn records(state: &StateDirectory) -> Result<Vec<(PathBuf, TrustRecord)>, WorkspaceError> {
    let mut records: Vec<_> = state
        .workspaces()?
        .into_iter()
        .map(|(root, _)| (TrustFile::of(state, &root).read(), root))
        .filter(|(record, _)| record.trusts_something())
        .map(|(record, root)| (root, record))
        .collect();
    records.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, StateDirectory, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(&top.path().join("state"));
        let root = top.path().join("work");
        std::fs::create_dir(&root).unwrap();
        (top, state, root)
    }

    #[test]
    fn changes_at_the_same_time_all_count() {
        let (_top, state, root) = place();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file = TrustFile::of(&state, &root);
                scope.spawn(move || {
                    for thing in 0..20 {
                        file.change(|record| record.add(&format!("{thread}-{thing}")))
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(TrustFile::of(&state, &root).read().fingerprints.len(), 160);
    }

    #[test]
    fn a_record_is_about_one_directory_and_can_be_taken_back() {
        let (_top, state, root) = place();
        let file = TrustFile::of(&state, &root);
        assert_eq!(file.read(), TrustRecord::default());
        file.change(|record| {
            record.trusted = true;
            record.add("a");
            record.add("b");
        })
        .unwrap();
        assert!(file.read().trusted && file.read().has("a") && !file.read().has("c"));
        assert_eq!(records(&state).unwrap().len(), 1);
        std::fs::rename(&root, root.with_extension("aside")).unwrap();
        std::fs::create_dir(&root).unwrap();
        assert_eq!(
            file.read(),
            TrustRecord::default(),
            "another directory in its place"
        );
        file.change(|record| *record = TrustRecord::default()).unwrap();
        assert_eq!(records(&state).unwrap(), []);
    }

    #[test]
    fn a_damaged_record_says_nothing_and_the_oldest_things_go() {
        let (_top, state, root) = place();
        let file = TrustFile::of(&state, &root);
        let added = |record: &mut TrustRecord| {
            (0..=MAX_FINGERPRINTS).for_each(|number| record.add(&number.to_string()));
        };
        let record = file.change(added).unwrap();
        assert!(!record.has("0") && record.has("1"));
        let switched = |record: &mut TrustRecord| {
            (0..=MAX_FINGERPRINTS).for_each(|number| record.switch(&number.to_string(), false));
            record.switch("7", true);
        };
        let record = file.change(switched).unwrap();
        let off = record.switched_off();
        assert_eq!(
            (off.len(), off[0].as_str(), off[6].as_str()),
            (MAX_FINGERPRINTS - 1, "1", "8")
        );
        let emptied = |record: &mut TrustRecord| {
            *record = TrustRecord::default();
            record.switch("a", false);
            record.trusted = true;
            record.add("b");
            record.revoke();
        };
        let record = file.change(emptied).unwrap();
        assert!(!record.trusted && !record.has("b"));
        assert_eq!(file.read().switched_off(), ["a"], "reason enough for a record");
        assert_eq!(records(&state).unwrap(), [], "nothing of it is trusted");
        std::fs::write(&file.path, "nonsense").unwrap();
        assert_eq!(file.read(), TrustRecord::default());
    }
}
