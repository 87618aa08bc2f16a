//! The files a Turn has changed, with what they were before.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_core::tool::ChangedFile;
use bobbin_model::TurnDiff;
use bobbin_model::turn::FileChangeStatus;

use super::patch::{Past, split, take_back};
use super::section::{Section, section, untold};
use crate::tools::{head, shown};

/// Most bytes of diff text (03 §9); the list of files stays complete.
pub(super) const MAX_DIFF_BYTES: usize = 1 << 20;
/// Most bytes of old contents kept for one Turn; further files are named, not shown.
pub(super) const MAX_KEPT_BYTES: usize = 64 << 20;
/// Largest content read to be shown.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The files a Turn has changed so far.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    root: PathBuf,
    /// By shown path, which is the order in the diff.
    files: BTreeMap<String, Followed>,
    kept_bytes: usize,
}

#[derive(Debug, Clone)]
struct Followed {
    before: Before,
    /// `None` while the file is as it was.
    section: Option<Section>,
}

/// What a file was before the Turn.
#[derive(Debug, Clone)]
enum Before {
    NotThere,
    Content(Arc<[u8]>),
    /// In the recorded diff, as long as the file is as that diff left it.
    Recorded,
    /// Too much to keep, or lost.
    Unknown,
}

impl Changes {
    /// Returns the changes of a Turn; `recorded` is the diff that a run before a crash has shown.
    pub(crate) fn new(root: &Path, recorded: Option<&TurnDiff>) -> Self {
        let mut changes = Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
            kept_bytes: 0,
        };
        if let Some(recorded) = recorded {
            // A diff that was cut has no whole sections to go by.
            let sections = if recorded.truncated {
                None
            } else {
                split(&recorded.diff)
            };
            let sections = sections
                .filter(|all| all.len() == recorded.files.len())
                .unwrap_or_default();
            for (index, change) in recorded.files.iter().enumerate() {
                let told = sections
                    .get(index)
                    .map(|text| (Before::Recorded, Arc::from(*text)));
                let untold = || (Before::Unknown, untold(&change.path, change.status).text);
                let (before, text) = told.unwrap_or_else(untold);
                let section = Section {
                    text,
                    change: change.clone(),
                };
                changes.files.insert(
                    change.path.clone(),
                    Followed {
                        before,
                        section: Some(section),
                    },
                );
            }
        }
        changes
    }

    /// Takes note of files that a call has changed and reads what they are now. Blocking.
    pub(crate) fn note(&mut self, changed: Vec<ChangedFile>) {
        for file in changed {
            let path = shown(&self.root, &file.path);
            let before = self.before(&path, file.before);
            let now = read(&file.path);
            let section = match (&before, &now) {
                (Before::NotThere, Ok(now)) => section(&path, None, now.as_deref()),
                (Before::Content(old), Ok(now)) => section(&path, Some(old), now.as_deref()),
                (Before::NotThere, Err(_)) => Some(untold(&path, FileChangeStatus::Added)),
                (Before::Unknown, Ok(None)) => Some(untold(&path, FileChangeStatus::Deleted)),
                _ => Some(untold(&path, FileChangeStatus::Modified)),
            };
            let section = section.map(no_longer_than_shown);
            self.files.insert(path, Followed { before, section });
        }
    }

    /// Takes note of changed files whose earlier content is too much to be kept here.
    pub(crate) fn note_untold(&mut self, changed: Vec<(PathBuf, FileChangeStatus)>) {
        for (path, status) in changed {
            let path = shown(&self.root, &path);
            let section = Some(untold(&path, status));
            let before = Before::Unknown;
            self.files.entry(path).or_insert(Followed { before, section });
        }
    }

    /// Returns what a file was before the Turn, given what it was before this call.
    fn before(&mut self, path: &str, before_call: Option<Vec<u8>>) -> Before {
        let before = match self.files.get(path) {
            None => before_call,
            Some(Followed {
                before: Before::Recorded,
                section: Some(section),
            }) => match take_back(&section.text, before_call.as_deref()) {
                Some(Past::Content(before)) => Some(before),
                Some(Past::NotThere) => None,
                None => return Before::Unknown,
            },
            Some(followed) => return followed.before.clone(),
        };
        let Some(content) = before else {
            return Before::NotThere;
        };
        if self.kept_bytes + content.len() > MAX_KEPT_BYTES {
            return Before::Unknown;
        }
        self.kept_bytes += content.len();
        Before::Content(content.into())
    }

    /// Returns the whole diff.
    pub(crate) fn diff(&self) -> TurnDiff {
        let mut diff = TurnDiff::default();
        for section in self.files.values().filter_map(|file| file.section.as_ref()) {
            diff.files.push(section.change.clone());
            if diff.truncated {
                continue;
            }
            let room = MAX_DIFF_BYTES - diff.diff.len();
            if section.text.len() <= room {
                diff.diff.push_str(&section.text);
            } else {
                let end = section.text.as_bytes()[..room]
                    .iter()
                    .rposition(|&byte| byte == b'\n');
                diff.diff.push_str(&section.text[..end.map_or(0, |at| at + 1)]);
                diff.truncated = true;
            }
        }
        diff
    }
}

/// Drops text that no diff has room for; what is left is still too long, so that the diff says it was cut.
fn no_longer_than_shown(mut section: Section) -> Section {
    let (kept, whole) = head(&section.text, MAX_DIFF_BYTES + 4);
    if !whole {
        section.text = kept.into();
    }
    section
}

/// Reads a file as it is now; `None` when there is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Workspace;

    fn change(changes: &mut Changes, workspace: &Workspace, path: &str, content: &str) {
        let full = workspace.root().join(path);
        let before = std::fs::read(&full).ok();
        workspace.write(path, content);
        changes.note(vec![ChangedFile { path: full, before }]);
    }

    #[test]
    fn the_diff_is_cumulative_and_empty_when_all_is_undone() {
        let workspace = Workspace::new();
        workspace.write("b", "1\n");
        let mut changes = Changes::new(workspace.root(), None);
        change(&mut changes, &workspace, "b", "2\n");
        change(&mut changes, &workspace, "a/new", "x\n");
        change(&mut changes, &workspace, "b", "3\n");
        let diff = changes.diff();
        assert_eq!(
            diff.diff,
            "--- /dev/null\n+++ b/a/new\n@@ -0,0 +1 @@\n+x\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+3\n"
        );
        assert_eq!(
            diff.files
                .iter()
                .map(|file| file.path.as_str())
                .collect::<Vec<_>>(),
            ["a/new", "b"]
        );
        change(&mut changes, &workspace, "b", "1\n");
        std::fs::remove_file(workspace.root().join("a/new")).unwrap();
        changes.note(vec![ChangedFile {
            path: workspace.root().join("a/new"),
            before: None,
        }]);
        assert_eq!(changes.diff(), TurnDiff::default());
    }

    #[test]
    fn a_turn_taken_up_again_goes_on_from_its_recorded_diff() {
        let workspace = Workspace::new();
        workspace.write("a", "1\n");
        workspace.write("b", "1\n");
        let mut first = Changes::new(workspace.root(), None);
        change(&mut first, &workspace, "a", "2\n");
        change(&mut first, &workspace, "b", "2\n");
        let mut second = Changes::new(workspace.root(), Some(&first.diff()));
        assert_eq!(second.diff(), first.diff());
        change(&mut first, &workspace, "b", "3\n");
        workspace.write("b", "2\n");
        change(&mut second, &workspace, "b", "3\n");
        assert_eq!(second.diff(), first.diff());
    }

    #[test]
    fn a_recorded_diff_that_no_longer_fits_is_owned_up_to() {
        let workspace = Workspace::new();
        workspace.write("a", "1\n");
        let mut first = Changes::new(workspace.root(), None);
        change(&mut first, &workspace, "a", "2\n");
        workspace.write("a", "changed by somebody else\n");
        let mut second = Changes::new(workspace.root(), Some(&first.diff()));
        change(&mut second, &workspace, "a", "3\n");
        assert_eq!(second.diff().diff, "Binary files a/a and b/a differ\n");
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line_and_names_every_file() {
        let workspace = Workspace::new();
        let mut changes = Changes::new(workspace.root(), None);
        let long = "some line\n".repeat(MAX_DIFF_BYTES / 10);
        change(&mut changes, &workspace, "a", &long);
        change(&mut changes, &workspace, "b", "x\n");
        let diff = changes.diff();
        assert!(diff.truncated && diff.diff.len() <= MAX_DIFF_BYTES && diff.diff.ends_with("line\n"));
        assert_eq!(diff.files.len(), 2);
    }
}
