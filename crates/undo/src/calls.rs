//! Records a call: the files before it runs, and after it.
//!
//! A call runs even if it cannot be recorded: the reason is stored, and an undo reports it. A task of the repository
//! records the changes, whether the Turn waits for them or not. If a crash interrupts a call, the call is recorded when
//! its Turn is resumed, and never later.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool::{ChangedFile, Touches};
use bobbin_agent_api::undo::{FileChanges, NotRecorded, OpenCall, RecordedTurn};
use bobbin_files::{FileState, Ignores, MAX_FILE_BYTES, find};
use bobbin_model::turn::FileChangeStatus;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::contents::{CHUNK_BYTES, Difference};
use crate::git::GitError;
use crate::objects::{FileMode, ObjectKind, StoredFile, list, listed, write_object};
use crate::repository::{FileUndo, Repository, chain};
use crate::scan::IGNORE_RULES;
use crate::snapshot::{SnapshotError, short};
use crate::steps::{Before, turn_refs};

/// Longest wait for a snapshot, before a call and after it. Then the call continues without.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Most files of one command with a line-by-line diff; further files are named only.
const MAX_SHOWN: usize = 2_000;

/// A recorded call.
struct Recorded {
    repository: Arc<Repository>,
    step: Option<(String, What)>,
}

/// The record before the call.
enum What {
    Files(Vec<PathBuf>, String),
    /// The root and its tree.
    Workspace(PathBuf, String),
}

impl FileUndo {
    /// Takes the first snapshot of a workspace in the background, unless the last one is in memory.
    pub(crate) fn start_first_snapshot(&self, root: &Path) {
        if self.0.has_snapshot(root) {
            return;
        }
        let (repository, root) = (self.0.clone(), root.to_owned());
        self.0.tasks.spawn(async move {
            if let Err(error) = repository.snapshot(&root).await {
                tracing::debug!(error = chain(&error), "no first snapshot");
            }
        });
    }

    pub(crate) async fn start_call(
        &self,
        turn: RecordedTurn,
        touches: Touches,
    ) -> Result<Box<dyn OpenCall>, NotRecorded> {
        let repository = &self.0;
        let step = format!(
            "{}{:017}/",
            turn_refs(&turn.thread, turn.turn),
            repository.next_slot()
        );
        let open = match touches {
            Touches::Nothing => None,
            Touches::Files(files) => Some(repository.start_files(&step, files).await),
            Touches::Anything => Some(repository.start_workspace(&step, &turn.root).await),
        };
        let step = match open {
            None => None,
            Some(Ok(what)) => Some((step, what)),
            Some(Err(why)) => {
                repository.skip(step, why.clone()).await;
                return Err(NotRecorded(why));
            }
        };
        Ok(Box::new(Recorded {
            repository: repository.clone(),
            step,
        }))
    }

    pub(crate) async fn resume_turn(&self, turn: RecordedTurn) -> FileChanges {
        let refs = turn_refs(&turn.thread, turn.turn);
        let mut all = FileChanges::default();
        let steps = match self.0.steps().await {
            Ok(steps) => steps,
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    "cannot see what an interrupted call has changed"
                );
                return all;
            }
        };
        for step in steps
            .into_iter()
            .filter(|step| step.turn == refs && step.is_open())
        {
            let what = match step.before {
                Some(Before::Workspace(name, tree)) => {
                    let root = self.0.root_of(&name).await;
                    root.map(|root| What::Workspace(root, tree)).ok()
                }
                Some(Before::Files(list)) => {
                    let files = self.0.contents(std::slice::from_ref(&list)).await.ok();
                    let files = files.and_then(|found| listed(found.first()?));
                    files.map(|files| What::Files(files.into_iter().map(|(path, _)| path).collect(), list))
                }
                None => None,
            };
            if let Some(what) = what {
                let changes = self.0.clone().end_or_skip(step.name, what).await;
                all.changed.extend(changes.changed);
                all.unshown.extend(changes.unshown);
            }
        }
        all
    }
}

impl OpenCall for Recorded {
    fn end(mut self: Box<Self>) -> BoxFuture<'static, FileChanges> {
        let ending = self.start_end();
        async move {
            match ending {
                Some(ending) => ending.await.unwrap_or_default(),
                None => FileChanges::default(),
            }
        }
        .boxed()
    }
}

impl Recorded {
    /// Starts a task of the repository that records the files after the call.
    fn start_end(&mut self) -> Option<JoinHandle<FileChanges>> {
        let (step, what) = self.step.take()?;
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let repository = self.repository.clone();
        let ending = async move {
            let stop = repository.stop.clone();
            tokio::select! {
                // The call is recorded when the Turn is resumed.
                () = stop.cancelled() => FileChanges::default(),
                changes = repository.end_or_skip(step, what) => changes,
            }
        };
        Some(self.repository.closing.spawn_on(ending, &runtime))
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        drop(self.start_end());
    }
}

impl Repository {
    async fn start_files(self: &Arc<Self>, step: &str, files: Vec<PathBuf>) -> Result<What, String> {
        let name = format!("{step}files");
        let written = self.blocking(move |repository| {
            let list = repository.store_files(&files)?;
            repository.write_ref(&name, &list)?;
            Ok(What::Files(files, list))
        });
        written.await.map_err(|error| not_written(&error))
    }

    async fn start_workspace(self: &Arc<Self>, step: &str, root: &Path) -> Result<What, String> {
        let tree = match timeout(MAX_WAIT, self.snapshot(root)).await {
            Ok(tree) => tree.map_err(|error| error.for_user())?,
            Err(_) => return Err("the snapshot of the workspace was not done in time".to_owned()),
        };
        let (name, what) = (
            format!("{step}workspace-{}", short(root)),
            What::Workspace(root.to_owned(), tree.clone()),
        );
        let written = self.blocking(move |repository| repository.write_ref(&name, &tree));
        written.await.map_err(|error| not_written(&error))?;
        Ok(what)
    }

    /// Stores the present files and returns the name of their list. Unreadable files, and others than ordinary ones,
    /// are left out: the tool itself reports them. Blocking.
    fn store_files(&self, files: &[PathBuf]) -> io::Result<String> {
        let mut stored = Vec::new();
        for path in files {
            let entry = match find(path, MAX_FILE_BYTES) {
                FileState::Nothing => None,
                FileState::File(mode, content) => Some((mode_of(mode), content)),
                FileState::Link(target) => Some((FileMode::Link, target)),
                FileState::Unread(_) | FileState::Other => continue,
            };
            let entry = match entry {
                None => None,
                Some((mode, content)) => Some(StoredFile {
                    mode,
                    blob: write_object(self.git.directory(), ObjectKind::Blob, &content)?,
                }),
            };
            stored.push((path.clone(), entry));
        }
        // The list names this object for missing files.
        write_object(self.git.directory(), ObjectKind::Blob, b"")?;
        Ok(write_object(self.git.directory(), ObjectKind::Tree, &list(&stored))?.to_string())
    }

    /// Records that a call is not recorded, so that an undo reports it.
    async fn skip(self: &Arc<Self>, step: String, why: String) {
        let written = self
            .blocking(move |repository| repository.write_skipped(&step, &why))
            .await;
        if let Err(error) = written {
            tracing::warn!(%error, "not even that a call is not recorded can be written");
        }
    }

    async fn end_or_skip(self: Arc<Self>, step: String, what: What) -> FileChanges {
        let why = match timeout(MAX_WAIT, self.end(&step, what)).await {
            Ok(Ok(changes)) => return changes,
            Ok(Err(error)) => error.for_user(),
            Err(_) => "the snapshot after it was not done in time".to_owned(),
        };
        self.skip(step, why).await;
        FileChanges::default()
    }

    async fn end(self: &Arc<Self>, step: &str, what: What) -> Result<FileChanges, SnapshotError> {
        let (leaf, root, before, after) = match what {
            What::Files(files, before) => {
                let after = self
                    .blocking(move |repository| repository.store_files(&files))
                    .await;
                ("files".to_owned(), None, before, after.map_err(GitError::from)?)
            }
            What::Workspace(root, before) => {
                let after = self.snapshot(&root).await?;
                (format!("workspace-{}", short(&root)), Some(root), before, after)
            }
        };
        if before == after {
            self.remove_ref(format!("{step}{leaf}")).await?;
            return Ok(FileChanges::default());
        }
        let name = format!("{step}after-{:013}", self.clock.now().0);
        let object = after.clone();
        self.blocking(move |repository| repository.write_ref(&name, &object))
            .await
            .map_err(GitError::from)?;
        // A file tool reports its own changes.
        let Some(root) = root else {
            return Ok(FileChanges::default());
        };
        let found = self.difference(&root, before, after).await?;
        // The call is recorded; only the Turn's diff lacks it.
        Ok(self.shown(&root, found).await.unwrap_or_default())
    }

    /// Returns changes in the form of the Turn's diff. It names ignored files without their content: many have secrets, and
    /// each client reads the diff.
    async fn shown(self: &Arc<Self>, root: &Path, found: Vec<Difference>) -> Result<FileChanges, GitError> {
        let ignoring = root.to_owned();
        let (mut found, ignored): (Vec<Difference>, Vec<Difference>) = self
            .blocking(move |_| {
                let ignores = Ignores::new(&ignoring, IGNORE_RULES);
                Ok(found
                    .into_iter()
                    .partition(|(path, ..)| !is_ignored(&ignores, &ignoring, path)))
            })
            .await?;
        let blobs: Vec<String> = found
            .iter()
            .filter_map(|(_, before, _)| Some(before.as_ref()?.blob.to_string()))
            .take(MAX_SHOWN)
            .collect();
        let sizes = self.sizes(&blobs).await?;
        let mut room = CHUNK_BYTES;
        let fits = sizes.iter().take_while(|size| {
            let size = size.unwrap_or(u64::MAX);
            room.checked_sub(size).inspect(|left| room = *left).is_some()
        });
        let fits = fits.count();
        let mut contents = self.contents(&blobs[..fits]).await?.into_iter();
        let mut changes = FileChanges::default();
        let may_show = found.len().min(MAX_SHOWN);
        found.extend(ignored);
        for (at, (path, before, after)) in found.iter().enumerate() {
            let path = root.join(path);
            let was_there = before.is_some();
            let before = match before {
                None => Some(None),
                Some(_) => contents.next().map(Some),
            };
            if let Some(before) = before.filter(|_| at < may_show) {
                changes.changed.push(ChangedFile { path, before });
                continue;
            }
            let status = match (was_there, after) {
                (_, None) => FileChangeStatus::Deleted,
                (false, _) => FileChangeStatus::Added,
                (true, _) => FileChangeStatus::Modified,
            };
            changes.unshown.push((path, status));
        }
        Ok(changes)
    }

    /// Records files that an undo is going to write, so that no concurrent command gets these changes attributed.
    pub(crate) async fn start_undo(
        self: &Arc<Self>,
        files: Vec<PathBuf>,
    ) -> Result<impl Send + 'static, String> {
        let step = format!("refs/undo/undone/00000000/{:017}/", self.next_slot());
        let what = self.start_files(&step, files).await?;
        Ok(Recorded {
            repository: self.clone(),
            step: Some((step, what)),
        })
    }
}

/// Returns whether git ignores a file of a workspace, given by relative path.
fn is_ignored(ignores: &Ignores, root: &Path, path: &Path) -> bool {
    let around = path.ancestors().skip(1).filter(|around| *around != Path::new(""));
    let around: Vec<PathBuf> = around.map(|around| root.join(around)).collect();
    let mut around = around.iter().rev();
    around.any(|around| ignores.leaves_out(around, true)) || ignores.leaves_out(&root.join(path), false)
}

/// Returns the mode of a file with these permissions.
pub(crate) fn mode_of(permissions: u32) -> FileMode {
    if permissions & 0o100 == 0 {
        FileMode::Plain
    } else {
        FileMode::Program
    }
}

fn not_written(error: &io::Error) -> String {
    tracing::warn!(%error, "a call is not recorded");
    "what its files were could not be written".to_owned()
}
