//! Takes snapshots: the files of a workspace as one git tree.
//!
//! The last tree of each workspace is in memory, with a ref to it. So a snapshot costs only the changes since the last
//! one, and runs no git. Git copies the files of the first snapshot if there are many: into a pack, with an index of its
//! own, so that the next server copies only what has changed since. Snapshots of one workspace are taken one after the
//! other. Each is a task of its own that continues when its call stops waiting. Bounded by [`scan`](crate::scan), by
//! [`FIRST_TIME`] for a run of git in the first snapshot, and by [`NEXT_TIME`] in later ones.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bobbin_files::{FileState, MAX_FILE_BYTES, find};

use crate::calls::mode_of;
use crate::contents::{Difference, MAX_NAMES, paths};
use crate::git::{GitError, Job};
use crate::objects::{Digest, FileMode, StoredFile, put, write_object};
use crate::repository::{Repository, VersionError, chain};
use crate::scan::{Files, Scan, ScanRoot, scan};
use crate::tree::Tree;

/// Longest first snapshot, which copies every file.
const FIRST_TIME: Duration = Duration::from_mins(2);
/// Longest later snapshot: a call waits for it.
const NEXT_TIME: Duration = Duration::from_secs(8);
/// Most workspaces whose files are in memory; others have only their index on disk.
pub(crate) const MAX_WORKSPACES: usize = 16;
/// Number of files from which git takes the first snapshot, as one pack, which needs a third of the disk.
const MANY: usize = 500;
/// Most changes of files that are remembered for the calls that made them; git compares the trees of others.
const MAX_REMEMBERED: usize = 20_000;
/// Most files that one run of git copies.
const PART: usize = 4_000;
/// The first git that writes one pack for many contents.
const PACKS_AT_ONCE: (u32, u32) = (2, 37);

/// The state of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    last: Option<Snapshot>,
    /// The newest changes from one snapshot to the next, in order.
    changes: VecDeque<Changed>,
    /// Why no more snapshots of it are taken.
    refused: Option<String>,
}

/// A snapshot.
#[derive(Debug, Default)]
struct Snapshot {
    /// The name of its tree.
    name: String,
    tree: Tree,
    files: Files,
}

/// What differs between two snapshots.
#[derive(Debug)]
struct Changed {
    before: String,
    after: String,
    files: Vec<Difference>,
}

/// Why a snapshot failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    /// Half a sentence for the user.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl SnapshotError {
    /// Returns half a sentence for the user, and logs the details.
    pub(crate) fn for_user(&self) -> String {
        match self {
            Self::Refused(why) => why.clone(),
            Self::Git(error) => {
                tracing::warn!(error = chain(error), "no snapshot of a workspace");
                "the snapshot of the workspace failed, see the server's log".to_owned()
            }
        }
    }
}

impl Repository {
    /// Takes a snapshot and returns the name of its tree.
    ///
    /// # Errors
    /// Any [`SnapshotError`].
    ///
    /// # Cancel safety
    /// Dropping the future loses the answer; the snapshot is taken all the same.
    pub(crate) async fn snapshot(self: &Arc<Self>, root: &Path) -> Result<String, SnapshotError> {
        let (repository, root) = (self.clone(), root.to_owned());
        let task = self.tasks.spawn(async move {
            let workspace = repository.workspace(&root);
            let mut workspace = workspace.lock().await;
            tokio::select! {
                () = repository.stop.cancelled() => Err(SnapshotError::Refused("the server is stopping".to_owned())),
                taken = repository.take(&root, &mut workspace) => taken,
            }
        });
        let broken = || GitError::Pipe(std::io::ErrorKind::Other.into()).into();
        task.await.unwrap_or_else(|_| Err(broken()))
    }

    fn workspace(&self, root: &Path) -> Arc<tokio::sync::Mutex<Workspace>> {
        let mut workspaces = self.workspaces.lock();
        if workspaces.len() >= MAX_WORKSPACES && !workspaces.contains_key(root) {
            workspaces.retain(|_, workspace| Arc::strong_count(workspace) > 1);
        }
        workspaces.entry(root.to_owned()).or_default().clone()
    }

    async fn take(self: &Arc<Self>, root: &Path, workspace: &mut Workspace) -> Result<String, SnapshotError> {
        if let Some(why) = &workspace.refused {
            return Err(SnapshotError::Refused(why.clone()));
        }
        let taken = self.take_once(root, workspace).await;
        let taken = match taken {
            Err(SnapshotError::Git(GitError::Failed { command, complaint })) => {
                // A file came or went meanwhile, the index names missing contents, or a killed run left its lock.
                tracing::debug!(command, complaint, "taking the snapshot once more");
                let index = self.index(root);
                drop(tokio::fs::remove_file(index.with_extension("lock")).await);
                drop(tokio::fs::remove_file(&index).await);
                workspace.last = None;
                self.take_once(root, workspace).await
            }
            taken => taken,
        };
        if let Err(error) = &taken {
            workspace.refused = match error {
                SnapshotError::Refused(why) => Some(why.clone()),
                SnapshotError::Git(GitError::TooLong(_, time)) => Some(format!(
                    "a snapshot of the workspace takes longer than {} s",
                    time.as_secs()
                )),
                SnapshotError::Git(_) => None,
            };
        }
        taken
    }

    async fn take_once(
        self: &Arc<Self>,
        root: &Path,
        workspace: &mut Workspace,
    ) -> Result<String, SnapshotError> {
        let index = self.index(root);
        // Taken out, so that a cancelled snapshot leaves no state.
        let last = workspace.last.take();
        let time = if last.is_some() { NEXT_TIME } else { FIRST_TIME };
        let is_first = last.is_none();
        let mut last = last.unwrap_or_default();
        let place = ScanRoot {
            root: root.to_owned(),
            own: self.git.directory().to_owned(),
            keys: self.keys.clone(),
        };
        let now = self.clock.now().0;
        let known = std::mem::take(&mut last.files);
        let scanned = self.blocking(move |_| Ok(scan(&place, &known, now, time)));
        let Scan { files, changed, gone } = scanned
            .await
            .map_err(GitError::from)?
            .map_err(SnapshotError::Refused)?;
        let mut next = Snapshot { files, ..last };
        if is_first && changed.len() > MANY {
            next = self.take_with_git(root, &index, next, &changed, time).await?;
        } else if is_first || !changed.is_empty() || !gone.is_empty() {
            let before = next.name.clone();
            let differences;
            (next, differences) = self.change_tree(root, next, (changed, gone), time).await?;
            if !is_first && !differences.is_empty() {
                workspace.remember(Changed {
                    before,
                    after: next.name.clone(),
                    files: differences,
                });
            }
        }
        let name = next.name.clone();
        workspace.last = Some(next);
        Ok(name)
    }

    /// Brings the tree up to the files that have changed or are gone; returns it with the differences.
    async fn change_tree(
        self: &Arc<Self>,
        root: &Path,
        mut snapshot: Snapshot,
        (changed, gone): (Vec<PathBuf>, Vec<PathBuf>),
        time: Duration,
    ) -> Result<(Snapshot, Vec<Difference>), SnapshotError> {
        let (root, until) = (root.to_owned(), Instant::now() + time);
        let changing = self.blocking(move |repository| {
            let directory = repository.git.directory();
            let mut differences = Vec::new();
            // What is gone comes first: a new file can lie below its name.
            for (path, is_gone) in gone
                .iter()
                .map(|path| (path, true))
                .chain(changed.iter().map(|path| (path, false)))
            {
                if Instant::now() >= until || repository.stop.is_cancelled() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                let before = snapshot.tree.get(path).copied();
                let after = if is_gone {
                    None
                } else {
                    store_file(directory, &root.join(path))?
                };
                if before == after {
                    continue;
                }
                match after {
                    Some(entry) => snapshot.tree.insert(path, entry),
                    None => snapshot.tree.remove(path),
                }
                differences.push((path.clone(), before, after));
            }
            let tree = snapshot
                .tree
                .write(&mut |content| write_object(directory, "tree", content))?;
            let name = tree.to_string();
            if snapshot.name != name {
                repository.retain_tree(&root, &name)?;
                snapshot.name = name;
            }
            Ok((snapshot, differences))
        });
        changing.await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => GitError::TooLong("snapshot".to_owned(), time).into(),
            _ => GitError::from(error).into(),
        })
    }

    /// Takes the first snapshot of many files.
    async fn take_with_git(
        self: &Arc<Self>,
        root: &Path,
        index: &Path,
        mut snapshot: Snapshot,
        changed: &[PathBuf],
        time: Duration,
    ) -> Result<Snapshot, SnapshotError> {
        let version = self.version().await.map_err(|error| match error {
            VersionError::Old(_) => SnapshotError::Refused(error.to_string()),
            VersionError::Git(error) => error.into(),
        })?;
        let gone: Vec<PathBuf> = self
            .indexed(root, index)
            .await?
            .into_iter()
            .filter(|path| !snapshot.files.contains_key(path))
            .collect();
        let in_one = version >= PACKS_AT_ONCE;
        snapshot.name = self
            .write_tree(root, index, (changed, &gone), in_one, time)
            .await?;
        let listed = self
            .git
            .run(
                Job::new(["ls-files", "--stage", "-z"], NEXT_TIME)
                    .on(root, index)
                    .up_to(MAX_NAMES),
            )
            .await?;
        let (root, name) = (root.to_owned(), snapshot.name.clone());
        let reading = self.blocking(move |repository| {
            let mut tree = staged(&listed).ok_or(io::ErrorKind::InvalidData)?;
            // Git has written these objects.
            let read = tree.write(&mut |content| Ok(Digest::of("tree", content)))?;
            if read.to_string() != name {
                return Err(io::ErrorKind::InvalidData.into());
            }
            repository.retain_tree(&root, &name)?;
            Ok(tree)
        });
        snapshot.tree = reading.await.map_err(GitError::from)?;
        Ok(snapshot)
    }

    /// Returns the files of a workspace that differ between two of its trees.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(crate) async fn difference(
        self: &Arc<Self>,
        root: &Path,
        before: String,
        after: String,
    ) -> Result<Vec<Difference>, GitError> {
        let workspace = self.workspace(root);
        let remembered = workspace.lock().await.difference(&before, &after);
        match remembered {
            Some(files) => Ok(files),
            None => Ok(self
                .differences(&[(before, after)])
                .await?
                .pop()
                .unwrap_or_default()),
        }
    }

    /// Returns the files in an index.
    async fn indexed(&self, root: &Path, index: &Path) -> Result<Vec<PathBuf>, GitError> {
        if !tokio::fs::try_exists(index).await? {
            return Ok(Vec::new());
        }
        let job = Job::new(["ls-files", "-z"], NEXT_TIME).on(root, index);
        let names = self.git.run(job.up_to(MAX_NAMES)).await?;
        Ok(paths(&names).collect())
    }

    async fn write_tree(
        &self,
        root: &Path,
        index: &Path,
        (changed, gone): (&[PathBuf], &[PathBuf]),
        in_one: bool,
        time: Duration,
    ) -> Result<String, GitError> {
        let job = |args: &[&str]| Job::new(args, time).on(root, index);
        if !gone.is_empty() {
            let mut lines = Vec::new();
            for path in gone {
                lines.extend_from_slice(b"0 0000000000000000000000000000000000000000\t");
                lines.extend_from_slice(path.as_os_str().as_bytes());
                lines.push(0);
            }
            let remove = job(&["update-index", "-z", "--index-info"]);
            self.git.run(remove.input(lines)).await?;
        }
        // In parts, so that the work done before a stop of the server is not lost.
        for part in changed.chunks(PART) {
            let mut names = Vec::new();
            for path in part {
                names.extend_from_slice(path.as_os_str().as_bytes());
                names.push(0);
            }
            let mut args = vec!["-c", "core.bigFileThreshold=1"];
            args.truncate(if in_one { 2 } else { 0 });
            args.extend(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
            self.git.run(job(&args).input(names)).await?;
        }
        let tree = self.git.run(job(&["write-tree"])).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Writes a ref to the last tree of a workspace, so that git does not collect its objects, and records the workspace
    /// of this name. Blocking.
    fn retain_tree(&self, root: &Path, tree: &str) -> io::Result<()> {
        let directory = self.git.directory();
        let note = directory.join("roots").join(short(root));
        put(directory, &note, root.as_os_str().as_bytes())?;
        self.write_ref(&format!("refs/roots/{}", short(root)), tree)
    }

    fn index(&self, root: &Path) -> PathBuf {
        self.git.directory().join(format!("index-{}", short(root)))
    }
}

impl Workspace {
    fn remember(&mut self, changed: Changed) {
        self.changes.push_back(changed);
        let mut count: usize = self.changes.iter().map(|changed| changed.files.len()).sum();
        while count > MAX_REMEMBERED
            && let Some(oldest) = self.changes.pop_front()
        {
            count -= oldest.files.len();
        }
    }

    /// Returns the files that differ between two snapshots; `None` if one of them is not remembered.
    fn difference(&self, before: &str, after: &str) -> Option<Vec<Difference>> {
        let end = self.changes.iter().rposition(|changed| changed.after == after)?;
        let start = self
            .changes
            .iter()
            .take(end + 1)
            .rposition(|changed| changed.before == before)?;
        let mut files: BTreeMap<&Path, (Option<StoredFile>, Option<StoredFile>)> = BTreeMap::new();
        for (path, before, after) in self.changes.range(start..=end).flat_map(|changed| &changed.files) {
            files.entry(path).or_insert((*before, None)).1 = *after;
        }
        files.retain(|_, (before, after)| before != after);
        let difference = |(path, (before, after)): (&Path, _)| (path.to_owned(), before, after);
        Some(files.into_iter().map(difference).collect())
    }
}

/// Stores a file and returns its entry; `None` if there is none, or it cannot be read. Blocking.
fn store_file(repository: &Path, path: &Path) -> io::Result<Option<StoredFile>> {
    let (mode, content) = match find(path, MAX_FILE_BYTES) {
        FileState::File(mode, content) => (mode_of(mode), content),
        FileState::Link(target) => (FileMode::Link, target),
        FileState::Nothing | FileState::Unread(_) | FileState::Other => return Ok(None),
    };
    let blob = write_object(repository, "blob", &content)?;
    Ok(Some(StoredFile { mode, blob }))
}

/// Reads the output of `git ls-files --stage -z`.
fn staged(listed: &[u8]) -> Option<Tree> {
    let mut tree = Tree::default();
    for line in listed.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        let mut words = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
        let entry = StoredFile {
            mode: FileMode::from_word(words.next()?)?,
            blob: Digest::from_hex(words.next()?)?,
        };
        tree.insert(Path::new(OsStr::from_bytes(&line[tab + 1..])), entry);
    }
    Some(tree)
}

/// Returns a short name for a path that is the same in every version (FNV-1a).
pub(crate) fn short(path: &Path) -> String {
    let hash = path
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(content: &str) -> Option<StoredFile> {
        let blob = Digest::of("blob", content.as_bytes());
        let mode = FileMode::Plain;
        (content != "-").then_some(StoredFile { mode, blob })
    }

    /// Remembers a snapshot's changes: names of trees, then path, before and after.
    fn remember(workspace: &mut Workspace, before: &str, after: &str, files: &[(&str, &str, &str)]) {
        let difference =
            |(path, before, after): &(&str, &str, &str)| (PathBuf::from(path), entry(before), entry(after));
        workspace.remember(Changed {
            before: before.to_owned(),
            after: after.to_owned(),
            files: files.iter().map(difference).collect(),
        });
    }

    #[test]
    fn changes_of_several_snapshots_become_one_difference() {
        let mut workspace = Workspace::default();
        remember(&mut workspace, "1", "2", &[("a", "-", "x"), ("b", "x", "y")]);
        remember(&mut workspace, "2", "3", &[("a", "x", "-"), ("b", "y", "z")]);
        remember(&mut workspace, "3", "2", &[("a", "-", "x"), ("b", "z", "y")]);
        let found = |before: &str, after: &str| workspace.difference(before, after);
        let b = |before: &str, after: &str| (PathBuf::from("b"), entry(before), entry(after));
        assert_eq!(found("1", "3"), Some(vec![b("x", "z")]));
        assert_eq!(
            found("2", "3"),
            Some(vec![(PathBuf::from("a"), entry("x"), None), b("y", "z")])
        );
        // The way back to a tree that was there before counts from its last start.
        assert_eq!(
            found("3", "2"),
            Some(vec![(PathBuf::from("a"), None, entry("x")), b("z", "y")])
        );
        assert_eq!(found("0", "2"), None);
        assert_eq!(found("1", "4"), None);
    }

    #[test]
    fn old_changes_are_forgotten_beyond_the_bound() {
        let mut workspace = Workspace::default();
        let many = vec![("a", "x", "y"); MAX_REMEMBERED - 1];
        remember(&mut workspace, "1", "2", &many);
        remember(&mut workspace, "2", "3", &[("a", "y", "z")]);
        assert!(workspace.difference("1", "3").is_some());
        remember(&mut workspace, "3", "4", &[("a", "z", "x")]);
        assert!(workspace.difference("1", "4").is_none() && workspace.difference("2", "4").is_some());
    }

    #[test]
    fn the_list_of_git_becomes_a_tree() {
        let blob = Digest::of("blob", b"x").to_string();
        let listed = format!("100755 {blob} 0\ta/b c\0120000 {blob} 0\tlink\0");
        let tree = staged(listed.as_bytes()).unwrap();
        assert_eq!(tree.get(Path::new("a/b c")).unwrap().mode, FileMode::Program);
        assert_eq!(tree.get(Path::new("link")).unwrap().mode, FileMode::Link);
        assert!(staged(b"100644 x\0").is_none());
    }
}
