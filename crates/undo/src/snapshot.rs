//! Takes snapshots: the files of a workspace as one git tree, without git.
//!
//! The last tree of each workspace is in memory, with a ref to it. So a snapshot costs only the changes since the last
//! one. The first one of a server starts from the index of an earlier server ([`crate::index`]), or copies every file.
//! Threads copy many files side by side, into a pack. Snapshots of one workspace are taken one after the other. Each is
//! a task of its own that continues when its call stops waiting. Bounded by [`scan`](crate::scan), by [`FIRST_TIME`] for
//! each half of the first snapshot, and by [`NEXT_TIME`] for those of later ones.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bobbin_files::{FileState, MAX_FILE_BYTES, Opener};

use crate::calls::mode_of;
use crate::contents::Difference;
use crate::git::GitError;
use crate::index;
use crate::objects::{Digest, FileMode, ObjectKind, StoredFile, put, write_object};
use crate::pack::Pack;
use crate::repository::{Repository, chain};
use crate::scan::{Files, Scan, ScanRoot, joined, scan, threads};
use crate::tree::Tree;

/// Longest first snapshot, which may copy every file.
const FIRST_TIME: Duration = Duration::from_mins(2);
/// Longest later snapshot: a call waits for it.
const NEXT_TIME: Duration = Duration::from_secs(8);
/// Most workspaces whose files are in memory; others have only their index on disk.
pub(crate) const MAX_WORKSPACES: usize = 16;
/// Number of changes from which a snapshot writes a pack, which needs a third of the disk, and a new index.
const MANY: usize = 500;
/// Most changes of files that are remembered for the calls that made them; git compares the trees of others.
const MAX_REMEMBERED: usize = 20_000;
/// Most threads that copy files. Each has one file in memory.
const MAX_THREADS: usize = 8;
/// Number of files that a thread takes at once: mostly of one directory.
const PART: usize = 32;

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

    /// Returns whether the last snapshot of a workspace is in memory, or one is being taken.
    pub(crate) fn has_snapshot(&self, root: &Path) -> bool {
        let workspace = self.workspace(root);
        workspace
            .try_lock()
            .map_or(true, |workspace| workspace.last.is_some())
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
        // Taken out, so that a cancelled snapshot leaves no state.
        let last = workspace.last.take();
        let is_first = last.is_none();
        let time = if is_first { FIRST_TIME } else { NEXT_TIME };
        let place = ScanRoot {
            root: root.to_owned(),
            own: self.git.directory().to_owned(),
        };
        let now = self.clock.now().0;
        let scanned = self.blocking(move |repository| {
            let mut last = last
                .or_else(|| repository.read_index(&place.root))
                .unwrap_or_default();
            let known = std::mem::take(&mut last.files);
            Ok(scan(&place, known, now, time).map(|scan| (last, scan)))
        });
        let (last, scan) = scanned
            .await
            .map_err(GitError::from)?
            .map_err(SnapshotError::Refused)?;
        let before = last.name.clone();
        let (next, differences) = if last.name.is_empty() || !scan.changed.is_empty() || !scan.gone.is_empty()
        {
            self.change_tree(root, last, scan, time).await?
        } else {
            let files = scan.files;
            (Snapshot { files, ..last }, Vec::new())
        };
        if !is_first && !differences.is_empty() {
            workspace.remember(Changed {
                before,
                after: next.name.clone(),
                files: differences,
            });
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
        scan: Scan,
        time: Duration,
    ) -> Result<(Snapshot, Vec<Difference>), SnapshotError> {
        let (root, until) = (root.to_owned(), Instant::now() + time);
        let changing = self.blocking(move |repository| {
            let is_many = scan.changed.len() > MANY;
            let objects = Objects::start(repository.git.directory(), is_many)?;
            let goes_on = || Instant::now() < until && !repository.stop.is_cancelled();
            let stored = objects.store_files(&root, &scan.changed, &goes_on)?;
            snapshot.files = scan.files;
            let mut differences = Vec::new();
            // What is gone comes first: a new file can lie below its name.
            let gone = scan.gone.into_iter().map(|path| (path, None));
            for (path, after) in gone.chain(scan.changed.into_iter().zip(stored)) {
                let before = snapshot.tree.get(&path).copied();
                if before == after {
                    continue;
                }
                match after {
                    Some(entry) => snapshot.tree.insert(&path, entry),
                    None => snapshot.tree.remove(&path),
                }
                differences.push((path, before, after));
            }
            let tree = snapshot
                .tree
                .write(&mut |content| objects.write(ObjectKind::Tree, content))?;
            objects.finish()?;
            let name = tree.to_string();
            if snapshot.name != name {
                repository.retain_tree(&root, &name)?;
                snapshot.name = name;
            }
            if is_many {
                repository.write_index(&root, &snapshot)?;
            }
            Ok((snapshot, differences))
        });
        changing.await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => GitError::TooLong("snapshot".to_owned(), time).into(),
            _ => GitError::from(error).into(),
        })
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

    /// Writes a ref to the last tree of a workspace, so that git does not collect its objects, and records the workspace
    /// of this name. Blocking.
    fn retain_tree(&self, root: &Path, tree: &str) -> io::Result<()> {
        let directory = self.git.directory();
        let note = directory.join("roots").join(short(root));
        put(directory, &note, root.as_os_str().as_bytes())?;
        self.write_ref(&format!("refs/roots/{}", short(root)), tree)
    }

    /// Writes the files of a snapshot for the next server, with a ref to its tree. Blocking.
    fn write_index(&self, root: &Path, snapshot: &Snapshot) -> io::Result<()> {
        self.write_ref(&index_ref(root), &snapshot.name)?;
        index::write(
            self.git.directory(),
            &self.index(root),
            &snapshot.tree,
            &snapshot.files,
        )
    }

    /// Returns the snapshot whose files an earlier server has written. Blocking.
    fn read_index(&self, root: &Path) -> Option<Snapshot> {
        let name = std::fs::read_to_string(self.git.directory().join(index_ref(root))).ok()?;
        let name = name.trim().to_owned();
        let (tree, files) = index::read(&self.index(root), &name)?;
        Some(Snapshot { name, tree, files })
    }

    fn index(&self, root: &Path) -> PathBuf {
        self.git.directory().join(format!("index-{}", short(root)))
    }
}

/// Returns the ref to the tree of a workspace's index.
fn index_ref(root: &Path) -> String {
    format!("refs/indexes/{}", short(root))
}

/// The objects that a snapshot writes.
enum Objects<'a> {
    /// Each in a file.
    Loose(&'a Path),
    Pack(Pack),
}

impl<'a> Objects<'a> {
    fn start(repository: &'a Path, is_many: bool) -> io::Result<Self> {
        Ok(if is_many {
            Self::Pack(Pack::start(repository)?)
        } else {
            Self::Loose(repository)
        })
    }

    fn write(&self, kind: ObjectKind, content: &[u8]) -> io::Result<Digest> {
        match self {
            Self::Loose(repository) => write_object(repository, kind, content),
            Self::Pack(pack) => pack.write(kind, content),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Loose(_) => Ok(()),
            Self::Pack(pack) => pack.finish(),
        }
    }

    /// Stores files and returns their entries, in their order; `None` for one that is not there, or cannot be read.
    ///
    /// # Errors
    /// An object cannot be written, or it does not go on ([`io::ErrorKind::TimedOut`]).
    fn store_files(
        &self,
        root: &Path,
        files: &[PathBuf],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> io::Result<Vec<Option<StoredFile>>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut stored, mut opener) = (Vec::new(), Opener::default());
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                let Some(files) = files.chunks(PART).nth(part) else {
                    return Ok(stored);
                };
                for (path, at) in files.iter().zip(part * PART..) {
                    if !goes_on() {
                        return Err(io::Error::from(io::ErrorKind::TimedOut));
                    }
                    stored.push((at, self.store_file(&mut opener, &root.join(path))?));
                }
            }
        };
        let threads = threads(MAX_THREADS).min(files.len().div_ceil(PART));
        let parts: io::Result<Vec<_>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            others.into_iter().map(joined).chain([own]).collect()
        });
        let mut all = vec![None; files.len()];
        for (at, file) in parts?.into_iter().flatten() {
            all[at] = file;
        }
        Ok(all)
    }

    fn store_file(&self, opener: &mut Opener, path: &Path) -> io::Result<Option<StoredFile>> {
        let (mode, content) = match opener.find(path, MAX_FILE_BYTES) {
            FileState::File(mode, content) => (mode_of(mode), content),
            FileState::Link(target) => (FileMode::Link, target),
            FileState::Nothing | FileState::Unread(_) | FileState::Other => return Ok(None),
        };
        let blob = self.write(ObjectKind::Blob, &content)?;
        Ok(Some(StoredFile { mode, blob }))
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
        let blob = Digest::of(ObjectKind::Blob, content.as_bytes());
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
}
