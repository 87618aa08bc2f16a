//! The files that a Turn has changed, with their earlier contents.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::tool::ChangedFile;
use bobbin_model::turn::FileChangeStatus;
use bobbin_model::{FileChange, TurnDiff};

use super::patch::{Past, split, take_back};
use super::rename::pairs;
use super::section::{Section, omitted, renamed, section};
use bobbin_agent_api::cut::head;
use bobbin_files::{open_file, shown};

/// Most bytes of diff text (03 §9); the list of files stays complete.
pub(super) const MAX_DIFF_BYTES: usize = 1 << 20;
/// Most bytes of old contents in memory for one Turn; further files are named, not shown.
pub(super) const MAX_STORED_BYTES: usize = 64 << 20;
/// Largest file that is compared to detect a rename.
const MAX_RENAMED_BYTES: usize = 1 << 20;
/// Largest content that is read for the diff.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The files that a Turn has changed so far.
#[derive(Debug, Clone)]
pub struct Changes {
    root: PathBuf,
    /// By shown path, which is the order in the diff.
    files: BTreeMap<String, Followed>,
    stored_bytes: usize,
}

#[derive(Debug, Clone)]
struct Followed {
    before: BeforeTurn,
    /// `None` while the file is unchanged.
    section: Option<Section>,
    /// The content of a new file, if it is stored: the file may be a renamed one.
    now: Option<Arc<[u8]>>,
}

/// The state of a file before the Turn.
#[derive(Debug, Clone)]
enum BeforeTurn {
    NotThere,
    Content(Arc<[u8]>),
    /// In the recorded diff, as long as the file is as that diff left it.
    Recorded,
    /// Too large to store, or lost.
    Unknown,
}

impl Changes {
    /// Returns the changes of a Turn; `recorded` is the diff of a run before a crash.
    pub fn new(root: &Path, recorded: Option<&TurnDiff>) -> Self {
        let mut changes = Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
            stored_bytes: 0,
        };
        if let Some(recorded) = recorded {
            // A cut diff may have incomplete sections.
            let sections = if recorded.truncated {
                None
            } else {
                split(&recorded.diff)
            };
            let sections = sections
                .filter(|all| all.len() == recorded.files.len())
                .unwrap_or_default();
            for (index, change) in recorded.files.iter().enumerate() {
                let known = sections
                    .get(index)
                    .map(|text| (BeforeTurn::Recorded, Arc::from(*text)));
                let omitted = || (BeforeTurn::Unknown, omitted(&change.path, change.status).text);
                let (before, text) = known.unwrap_or_else(omitted);
                let section = Section {
                    text,
                    change: change.clone(),
                };
                if let Some(old_path) = &change.old_path {
                    changes.take_apart(old_path, change, &section.text);
                    continue;
                }
                changes.files.insert(
                    change.path.clone(),
                    Followed {
                        before,
                        section: Some(section),
                        now: None,
                    },
                );
            }
        }
        changes
    }

    /// Splits a recorded rename into a removed file and a new one.
    fn take_apart(&mut self, old_path: &str, change: &FileChange, text: &str) {
        let now = read(&self.root.join(&change.path)).ok().flatten();
        let before = now.as_deref().and_then(|now| match take_back(text, Some(now)) {
            Some(Past::Content(before)) => Some(before),
            _ => None,
        });
        let (gone, came) = if let (Some(before), Some(now)) = (before, now) {
            let gone = Followed {
                section: section(old_path, Some(&before), None).map(no_longer_than_shown),
                before: self.store(Some(before)),
                now: None,
            };
            let came = Followed {
                section: section(&change.path, None, Some(&now)).map(no_longer_than_shown),
                before: BeforeTurn::NotThere,
                now: self.store_new(&now),
            };
            (gone, came)
        } else {
            let lost = |path: &str, status| Followed {
                before: BeforeTurn::Unknown,
                section: Some(omitted(path, status)),
                now: None,
            };
            let gone = lost(old_path, FileChangeStatus::Deleted);
            (gone, lost(&change.path, FileChangeStatus::Added))
        };
        self.files.insert(old_path.to_owned(), gone);
        self.files.insert(change.path.clone(), came);
    }

    /// Notes files that a call has changed, and reads their present content. Blocking.
    pub fn note(&mut self, changed: Vec<ChangedFile>) {
        for file in changed {
            let path = shown(&self.root, &file.path);
            let before = self.before(&path, file.before);
            let now = read(&file.path);
            let section = match (&before, &now) {
                (BeforeTurn::NotThere, Ok(now)) => section(&path, None, now.as_deref()),
                (BeforeTurn::Content(old), Ok(now)) => section(&path, Some(old), now.as_deref()),
                (BeforeTurn::NotThere, Err(_)) => Some(omitted(&path, FileChangeStatus::Added)),
                (BeforeTurn::Unknown, Ok(None)) => Some(omitted(&path, FileChangeStatus::Deleted)),
                _ => Some(omitted(&path, FileChangeStatus::Modified)),
            };
            let section = section.map(no_longer_than_shown);
            let now = match (&before, &now) {
                (BeforeTurn::NotThere, Ok(Some(now))) => self.store_new(now),
                _ => None,
            };
            self.files.insert(path, Followed { before, section, now });
        }
    }

    /// Notes changed files whose earlier content is too large to store.
    pub fn note_omitted(&mut self, changed: Vec<(PathBuf, FileChangeStatus)>) {
        for (path, status) in changed {
            let path = shown(&self.root, &path);
            let section = Some(omitted(&path, status));
            let (before, now) = (BeforeTurn::Unknown, None);
            self.files
                .entry(path)
                .or_insert(Followed { before, section, now });
        }
    }

    /// Returns the state of a file before the Turn, given its content before this call.
    fn before(&mut self, path: &str, before_call: Option<Vec<u8>>) -> BeforeTurn {
        let before = match self.files.get(path) {
            None => before_call,
            Some(Followed {
                before: BeforeTurn::Recorded,
                section: Some(section),
                ..
            }) => match take_back(&section.text, before_call.as_deref()) {
                Some(Past::Content(before)) => Some(before),
                Some(Past::NotThere) => None,
                None => return BeforeTurn::Unknown,
            },
            Some(followed) => return followed.before.clone(),
        };
        self.store(before)
    }

    /// Stores the content of an existing file, unless it is too large.
    fn store_new(&mut self, content: &[u8]) -> Option<Arc<[u8]>> {
        if content.len() > MAX_RENAMED_BYTES || self.stored_bytes + content.len() > MAX_STORED_BYTES {
            return None;
        }
        self.stored_bytes += content.len();
        Some(content.into())
    }

    /// Stores the earlier content of a file, unless it is too large.
    fn store(&mut self, before: Option<Vec<u8>>) -> BeforeTurn {
        let Some(content) = before else {
            return BeforeTurn::NotThere;
        };
        if self.stored_bytes + content.len() > MAX_STORED_BYTES {
            return BeforeTurn::Unknown;
        }
        self.stored_bytes += content.len();
        BeforeTurn::Content(content.into())
    }

    /// Returns the sections of renamed files by their new names, and nothing for their old ones.
    fn renamed(&self) -> HashMap<&str, Option<Section>> {
        let is = |file: &Followed, status| {
            file.section
                .as_ref()
                .is_some_and(|section| section.change.status == status)
        };
        let gone = self.files.iter().filter_map(|(path, file)| match &file.before {
            BeforeTurn::Content(content)
                if is(file, FileChangeStatus::Deleted) && content.len() <= MAX_RENAMED_BYTES =>
            {
                Some((path.as_str(), &**content))
            }
            _ => None,
        });
        let came = self.files.iter().filter_map(|(path, file)| {
            let now = file
                .now
                .as_deref()
                .filter(|_| is(file, FileChangeStatus::Added))?;
            Some((path.as_str(), now))
        });
        let (gone, came): (Vec<_>, Vec<_>) = (gone.collect(), came.collect());
        let mut sections = HashMap::new();
        for pair in pairs(&contents(&gone), &contents(&came)) {
            let ((old_path, before), (path, after)) = (gone[pair.gone], came[pair.came]);
            let section = renamed(old_path, path, before, after, pair.alike);
            sections.insert(old_path, None);
            sections.insert(path, Some(no_longer_than_shown(section)));
        }
        sections
    }

    /// Returns the whole diff.
    pub fn diff(&self) -> TurnDiff {
        let mut diff = TurnDiff::default();
        let renamed = self.renamed();
        let sections = self
            .files
            .iter()
            .filter_map(|(path, file)| match renamed.get(path.as_str()) {
                Some(section) => section.as_ref(),
                None => file.section.as_ref(),
            });
        for section in sections {
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

fn contents<'a>(files: &[(&str, &'a [u8])]) -> Vec<&'a [u8]> {
    files.iter().map(|(_, content)| *content).collect()
}

/// Drops text that never fits into a diff; the rest is still too long, so the diff is marked as cut.
fn no_longer_than_shown(mut section: Section) -> Section {
    let (start, whole) = head(&section.text, MAX_DIFF_BYTES + 4);
    if !whole {
        section.text = start.into();
    }
    section
}

/// Reads the present content of a file; `None` if there is no file.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match open_file(path) {
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
    use crate::objects::{Digest, ObjectKind};
    use bobbin_testkit::Folder;

    fn change(changes: &mut Changes, workspace: &Folder, path: &str, content: &str) {
        let full = workspace.root().join(path);
        let before = std::fs::read(&full).ok();
        workspace.write(path, content);
        changes.note(vec![ChangedFile { path: full, before }]);
    }

    #[test]
    fn the_diff_is_cumulative_and_empty_when_all_is_undone() {
        let workspace = Folder::new();
        workspace.write("b", "1\n");
        let mut changes = Changes::new(workspace.root(), None);
        change(&mut changes, &workspace, "b", "2\n");
        change(&mut changes, &workspace, "a/new", "x\n");
        change(&mut changes, &workspace, "b", "3\n");
        let diff = changes.diff();
        let id = |content: &str| Digest::of(ObjectKind::Blob, content.as_bytes()).to_string();
        let expected = format!(
            "diff --git a/a/new b/a/new\nnew file mode 100644\nindex {}..{}\n--- /dev/null\n+++ b/a/new\n\
             @@ -0,0 +1 @@\n+x\ndiff --git a/b b/b\nindex {}..{}\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+3\n",
            "0".repeat(40),
            id("x\n"),
            id("1\n"),
            id("3\n"),
        );
        assert_eq!(diff.diff, expected);
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
        let workspace = Folder::new();
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
    fn a_renamed_file_is_one_change_also_after_a_crash() {
        let workspace = Folder::new();
        let long = "a\nb\nc\nd\ne\n";
        workspace.write("old", long);
        workspace.write("z", "1\n");
        let mut changes = Changes::new(workspace.root(), None);
        let mut moved = |from: &str, to: &str, content: &str| {
            let paths = [from, to].map(|path| workspace.root().join(path));
            let before = std::fs::read(&paths[0]).ok();
            std::fs::remove_file(&paths[0]).unwrap();
            workspace.write(to, content);
            let [from, to] = paths;
            changes.note(vec![
                ChangedFile { path: from, before },
                ChangedFile {
                    path: to,
                    before: None,
                },
            ]);
            changes.diff()
        };
        let diff = moved("old", "dir/new", long);
        let head = "diff --git a/old b/dir/new\nsimilarity index 100%\nrename from old\nrename to dir/new\n";
        assert_eq!(diff.diff, head);
        let changed = moved("dir/new", "dir/newer", &long.replace("c\n", "x\n"));
        let [file] = &changed.files[..] else {
            panic!("{changed:?}")
        };
        assert_eq!(
            (file.path.as_str(), file.old_path.as_deref()),
            ("dir/newer", Some("old"))
        );
        assert_eq!(
            (file.status, file.additions, file.deletions),
            (FileChangeStatus::Renamed, 1, 1)
        );
        assert!(
            changed
                .diff
                .contains("--- a/old\n+++ b/dir/newer\n@@ -1,5 +1,5 @@\n a\n b\n-c\n+x\n"),
            "{}",
            changed.diff
        );
        change(&mut changes, &workspace, "z", "2\n");
        let whole = changes.diff();
        assert_eq!(Changes::new(workspace.root(), Some(&whole)).diff(), whole);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the git of the machine is asked")]
    fn git_undoes_it() {
        let workspace = Folder::new();
        let long = "a\nb\nc\nd\ne\n";
        let old = [
            ("changed", "1\n2"),
            ("gone", "x\n"),
            ("old name", long),
            ("emptied", "y\n"),
        ];
        for (path, content) in old {
            workspace.write(path, content);
        }
        let mut changes = Changes::new(workspace.root(), None);
        change(&mut changes, &workspace, "changed", "1\n3\n");
        change(&mut changes, &workspace, "emptied", "");
        change(&mut changes, &workspace, "dir/new", "x");
        change(&mut changes, &workspace, "empty", "");
        for (path, to) in [("gone", None), ("old name", Some("new name"))] {
            let from = workspace.root().join(path);
            let before = std::fs::read(&from).ok();
            std::fs::remove_file(&from).unwrap();
            changes.note(vec![ChangedFile { path: from, before }]);
            if let Some(to) = to {
                change(&mut changes, &workspace, to, &long.replace('c', "x"));
            }
        }
        let diff = changes.diff();
        let patch = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(patch.path(), &diff.diff).unwrap();
        let done = std::process::Command::new("git")
            .args(["apply", "--reverse"])
            .arg(patch.path())
            .current_dir(workspace.root())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}\n{}", diff.diff);
        for (path, content) in old {
            assert_eq!(
                std::fs::read_to_string(workspace.root().join(path)).unwrap(),
                content
            );
        }
        for path in ["dir/new", "empty", "new name"] {
            assert!(!workspace.root().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn a_recorded_diff_that_no_longer_fits_is_owned_up_to() {
        let workspace = Folder::new();
        workspace.write("a", "1\n");
        let mut first = Changes::new(workspace.root(), None);
        change(&mut first, &workspace, "a", "2\n");
        workspace.write("a", "changed by somebody else\n");
        let mut second = Changes::new(workspace.root(), Some(&first.diff()));
        change(&mut second, &workspace, "a", "3\n");
        let expected = "diff --git a/a b/a\nBinary files a/a and b/a differ\n";
        assert_eq!(second.diff().diff, expected);
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line_and_names_every_file() {
        let workspace = Folder::new();
        let mut changes = Changes::new(workspace.root(), None);
        let long = "some line\n".repeat(MAX_DIFF_BYTES / 10);
        change(&mut changes, &workspace, "a", &long);
        change(&mut changes, &workspace, "b", "x\n");
        let diff = changes.diff();
        assert!(diff.truncated && diff.diff.len() <= MAX_DIFF_BYTES && diff.diff.ends_with("line\n"));
        assert_eq!(diff.files.len(), 2);
    }
}
