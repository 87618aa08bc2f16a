//! Takes snapshots: the files of a workspace as one git tree.
//!
//! Each workspace has its own index and a ref to its last tree. So a snapshot costs only the changes since the last
//! one, and runs git only if there are any. Snapshots of one workspace are taken one after the other. Each is a task of
//! its own that continues when its call stops waiting. Bounded by [`scan`](crate::scan), by [`FIRST_TIME`] for a run of
//! git in the first snapshot, and by [`NEXT_TIME`] in later ones.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::contents::{MAX_NAMES, paths};
use crate::git::{GitError, Job};
use crate::objects::put;
use crate::repository::{Repository, VersionError, chain};
use crate::scan::{Files, Place, Scan, scan};

/// Longest first snapshot, which copies every file.
const FIRST_TIME: Duration = Duration::from_mins(2);
/// Longest later snapshot: a call waits for it.
const NEXT_TIME: Duration = Duration::from_secs(8);
/// Most workspaces whose files are in memory; others have only their index on disk.
pub(crate) const MAX_WORKSPACES: usize = 16;
/// Number of new contents from which git writes one pack, which takes half the time and a third of the disk.
const MANY: usize = 500;
/// Most files that one run of git copies.
const PART: usize = 4_000;
/// The first git that writes one pack for many contents.
const PACKS_AT_ONCE: (u32, u32) = (2, 37);

/// The state of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Its last tree and the files in it.
    last: Option<(String, Files)>,
    /// Why no more snapshots of it are taken.
    refused: Option<String>,
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
        let version = self.version().await.map_err(|error| match error {
            VersionError::Old(_) => SnapshotError::Refused(error.to_string()),
            VersionError::Git(error) => error.into(),
        })?;
        let index = self.index(root);
        // Taken out, so that a cancelled snapshot leaves no state.
        let (tree, known, time) = match workspace.last.take() {
            Some((tree, known)) => (Some(tree), known, NEXT_TIME),
            None => (None, self.indexed(root, &index).await?, FIRST_TIME),
        };
        let place = Place {
            root: root.to_owned(),
            own: self.git.directory().to_owned(),
            keys: self.keys.clone(),
        };
        let now = self.clock.now().0;
        let scanned = self.blocking(move |_| Ok(scan(&place, &known, now, time)));
        let Scan { files, changed, gone } = scanned
            .await
            .map_err(GitError::from)?
            .map_err(SnapshotError::Refused)?;
        let tree = match tree {
            Some(tree) if changed.is_empty() && gone.is_empty() => tree,
            before => {
                let in_one = changed.len() > MANY && version >= PACKS_AT_ONCE;
                let tree = self
                    .write_tree(root, &index, (&changed, &gone), in_one, time)
                    .await?;
                if before.as_ref() != Some(&tree) {
                    self.keep_tree(root, &tree).await.map_err(GitError::from)?;
                }
                tree
            }
        };
        workspace.last = Some((tree.clone(), files));
        Ok(tree)
    }

    /// Returns the files in an index, none of them with a fingerprint.
    async fn indexed(&self, root: &Path, index: &Path) -> Result<Files, GitError> {
        if !tokio::fs::try_exists(index).await? {
            return Ok(Files::new());
        }
        let job = Job::new(["ls-files", "-z"], NEXT_TIME).on(root, index);
        let names = self.git.run(job.up_to(MAX_NAMES)).await?;
        Ok(paths(&names).map(|path| (path, None)).collect())
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

    /// Writes a ref to the last tree of a workspace, so that git does not collect the index's objects, and records the
    /// workspace of this name.
    async fn keep_tree(self: &Arc<Self>, root: &Path, tree: &str) -> std::io::Result<()> {
        let (root, tree) = (root.to_owned(), tree.to_owned());
        self.blocking(move |repository| {
            let directory = repository.git.directory();
            let note = directory.join("roots").join(short(&root));
            put(directory, &note, root.as_os_str().as_bytes())?;
            repository.write_ref(&format!("refs/roots/{}", short(&root)), &tree)
        })
        .await
    }

    fn index(&self, root: &Path) -> PathBuf {
        self.git.directory().join(format!("index-{}", short(root)))
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
