//! The shadow repository: its directory, its shared state, and its refs as files.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bobbin_agent_api::Clock;
use bobbin_children::{Children, Environment};
use bobbin_files::{Leftovers, clear};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::git::{ATTRIBUTES, CONFIG, Git, GitError, Job};
use crate::objects::put;
use crate::snapshot::Workspace;

/// Longest run of git that reads no files of a workspace.
pub(crate) const TIME: Duration = Duration::from_secs(10);

/// Why Turns cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoUnavailable {
    /// The program git was not found.
    #[error("the program git was not found in PATH; install git 2.20 or later")]
    NoGit,
    /// The directory cannot be used.
    #[error("{path} cannot be used for snapshots")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Records files around calls, and undoes Turns. One per server.
#[derive(Debug)]
pub struct FileUndo(pub(crate) Arc<Repository>);

/// The shadow repository of a server.
pub(crate) struct Repository {
    pub(crate) git: Git,
    pub(crate) clock: Arc<dyn Clock>,
    /// The workspaces of which snapshots are taken; see [`crate::snapshot::MAX_WORKSPACES`].
    pub(crate) workspaces: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<Workspace>>>>,
    /// The newest name of a step.
    last: AtomicI64,
    pub(crate) leftovers: Leftovers,
    /// One undo at a time.
    pub(crate) undoing: tokio::sync::Semaphore,
    /// Snapshots and tidying in the background.
    pub(crate) tasks: TaskTracker,
    /// Ended calls whose files are still being recorded. Always closed, so that waiting ends when it is empty.
    pub(crate) closing: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository")
            .field("git", &self.git)
            .finish_non_exhaustive()
    }
}

impl FileUndo {
    /// Opens the repository in a directory of the server's own, creates it if missing, and starts to remove old Turns.
    /// `workspace` is stored as a note for users; only `PATH` of `variables` is used.
    ///
    /// # Errors
    /// Any [`UndoUnavailable`].
    pub async fn open(
        directory: &Path,
        workspace: &Path,
        children: Children,
        variables: &Environment,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, UndoUnavailable> {
        let at = |source| UndoUnavailable::Directory {
            path: directory.to_owned(),
            source,
        };
        let (place, description) = (directory.to_owned(), workspace.as_os_str().as_bytes().to_vec());
        let path = variables.get("PATH").map(ToOwned::to_owned);
        let has_git = tokio::task::spawn_blocking(move || {
            prepare(&place, &description)?;
            let mut places = path.iter().flat_map(std::env::split_paths);
            Ok(places.any(|place| place.join("git").is_file()))
        });
        let has_git = has_git
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
            .map_err(at)?;
        if !has_git {
            return Err(UndoUnavailable::NoGit);
        }
        let repository = Arc::new(Repository {
            git: Git::new(children, variables, directory),
            clock,
            workspaces: Mutex::default(),
            last: AtomicI64::new(0),
            leftovers: Leftovers::default(),
            undoing: tokio::sync::Semaphore::new(1),
            tasks: TaskTracker::new(),
            closing: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        repository.closing.close();
        repository.leftovers.record_in(&notes(directory));
        repository.tasks.spawn(repository.clone().tidy_until_stopped());
        Ok(Arc::new(Self(repository)))
    }

    /// Returns the directory in which the names of temporary files are recorded.
    pub fn notes(&self) -> PathBuf {
        notes(self.0.git.directory())
    }

    /// Ends the background tasks.
    pub async fn end(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.closing.wait().await;
    }
}

impl Repository {
    /// Returns a name for a step: its time in microseconds, later than any before.
    pub(crate) fn next_slot(&self) -> i64 {
        let now = self.clock.now().0.saturating_mul(1_000);
        let next = |last: i64| now.max(last + 1);
        let before = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        next(before.unwrap_or_else(|last| last))
    }

    /// Runs a blocking function.
    ///
    /// # Errors
    /// The errors of the function.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let repository = self.clone();
        tokio::task::spawn_blocking(move || work(&repository))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Writes a ref, new or in place of an old value. The name is the server's own and has plain characters only.
    /// Blocking.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write_ref(&self, name: &str, object: &str) -> io::Result<()> {
        let directory = self.git.directory();
        let path = directory.join(name);
        let line = format!("{object}\n");
        let write = || {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            put(directory, &path, line.as_bytes())
        };
        // Git removes empty directories when it packs refs.
        write().or_else(|_| write())
    }

    /// Removes a ref, packed or not.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(crate) async fn remove_ref(self: &Arc<Self>, name: String) -> Result<(), GitError> {
        let path = self.git.directory().join(&name);
        let removed = tokio::fs::remove_file(&path).await;
        if let Some(step) = path.parent() {
            // The directory is not empty if the step has other refs.
            drop(tokio::fs::remove_dir(step).await);
        }
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.git.run(Job::new(["update-ref", "-d", &name], TIME)).await?;
                Ok(())
            }
            removed => Ok(removed?),
        }
    }
}

/// Prepares the directory before git runs in it. Blocking.
fn prepare(directory: &Path, description: &[u8]) -> io::Result<()> {
    for part in ["objects", "refs", "info", "roots"] {
        std::fs::create_dir_all(directory.join(part))?;
    }
    // The directory has copies of a user's files, for this user only.
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    for (name, content) in [
        ("config", CONFIG.as_bytes()),
        ("HEAD", b"ref: refs/heads/none\n".as_slice()),
        ("description", description),
        ("info/attributes", ATTRIBUTES.as_bytes()),
    ] {
        std::fs::write(directory.join(name), content)?;
    }
    // A workspace has one server, so the owners of these locks are gone.
    remove_locks(directory, 8)?;
    clear(&notes(directory))
}

fn notes(directory: &Path) -> PathBuf {
    directory.join("on-their-way")
}

fn remove_locks(directory: &Path, deeper: u32) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_half = name.as_bytes().starts_with(b"half-");
        if is_half || path.extension().is_some_and(|extension| extension == "lock") {
            std::fs::remove_file(&path)?;
        } else if deeper > 0 && entry.file_type()?.is_dir() && name != "objects" {
            remove_locks(&path, deeper - 1)?;
        }
    }
    Ok(())
}

/// Returns an error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a String cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
