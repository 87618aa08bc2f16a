//! The record of each worktree: a small file beside it, which outlives the worktree's Thread.
//!
//! It is written before the worktree is made, and removed after the worktree. So a server that dies in between leaves a
//! record, and the list shows what is left.

use std::fs;
use std::path::{Path, PathBuf};

use bobbin_model::Worktree;
use bobbin_workspace::{private_directory, write_small};
use serde::{Deserialize, Serialize};

/// Largest record.
const MAX_BYTES: u64 = 64 << 10;

/// A worktree, and the Thread that it was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorktreeRecord {
    pub(crate) thread_id: String,
    pub(crate) worktree: Worktree,
}

/// The directory of worktrees and their records.
#[derive(Debug, Clone)]
pub(crate) struct Records(pub(crate) PathBuf);

impl Records {
    /// Returns all records, by the age of their worktrees. Blocking.
    pub(crate) fn all(&self) -> Vec<WorktreeRecord> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut all: Vec<WorktreeRecord> = entries.filter_map(|entry| read(&entry.path())).collect();
        all.sort_by(|a, b| a.worktree.created_at.cmp(&b.worktree.created_at));
        all
    }

    /// Writes a record. Blocking.
    pub(crate) fn write(&self, record: &WorktreeRecord) -> Result<(), String> {
        let write = || {
            private_directory(&self.0)?;
            let text = serde_json::to_vec(record).unwrap_or_default();
            write_small(&self.file(&record.worktree.id), &text)
        };
        write().map_err(|error| format!("the worktree cannot be recorded: {error}"))
    }

    /// Removes a record. Blocking.
    pub(crate) fn remove(&self, id: &str) {
        drop(fs::remove_file(self.file(id)));
    }

    fn file(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }
}

/// Reads a record. The name of its file is the id, so that no record leads elsewhere.
fn read(path: &Path) -> Option<WorktreeRecord> {
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    if path.metadata().ok()?.len() > MAX_BYTES {
        return None;
    }
    let record: WorktreeRecord = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let place = path.with_file_name(name);
    let is_own = record.worktree.id == name && Path::new(&record.worktree.path) == place;
    is_own.then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(directory: &Path, id: &str, created_at: &str) -> WorktreeRecord {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        WorktreeRecord {
            thread_id: format!("thread_{id}"),
            worktree: Worktree {
                id: id.to_owned(),
                source_thread_id: format!("thread_{id}"),
                workspace_path: text(&directory.join(id)),
                source_workspace_path: "/w".to_owned(),
                path: text(&directory.join(id)),
                branch_name: format!("bobbin/{id}"),
                base_ref: "HEAD".to_owned(),
                base_head: "12ab".to_owned(),
                head: "12ab".to_owned(),
                created_at: created_at.to_owned(),
                dirty_handoff: None,
            },
        }
    }

    #[test]
    fn records_are_listed_by_age_and_none_leads_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("worktrees");
        let records = Records(directory.clone());
        assert_eq!(records.all(), []);
        let (new, old) = (record(&directory, "a", "2027"), record(&directory, "b", "2026"));
        for written in [&new, &old] {
            records.write(written).unwrap();
        }
        let mut elsewhere = record(&directory, "c", "2025");
        "/home/mika".clone_into(&mut elsewhere.worktree.path);
        records.write(&elsewhere).unwrap();
        fs::write(directory.join("d.json"), "{").unwrap();
        assert_eq!(records.all(), [old.clone(), new]);
        records.remove("a");
        assert_eq!(records.all(), [old]);
    }
}
