//! The shadow repository: looks over a workspace, steps, contents.
//!
//! A step is a commit under `refs/steps/THREAD/TURN/NUMBER` with `step.json`, and the contents before and after in `b/` and
//! `a/`; an open look is a file beside them ([`super::open_looks`]). Each workspace root has an index of its own and a
//! ref to the last tree seen there, so that looking again costs what has changed, and no run of git where nothing has.
//! One look at a time; the bounds are those of [`super::survey`], of [`TIME`] a run of git, and of [`LOOK_TIME`] for a
//! look.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::RandomState;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Children, Environment};
use bobbin_model::{ThreadId, TurnId};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::alive::Alive;
use super::git::{Git, GitError, Job};
use super::known_git::KnownGit;
use super::ledger::{Entry, FileMode, Kept, Kind, State, Step};
use super::open_looks::OpenLooks;
use super::prepare::{notes, prepare, version};
use super::survey::{Skipped, Stamp, Survey, survey};
use super::windows::Windows;
use crate::tools::Leftovers;

/// Longest run of git that looks at no files of a workspace.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// Longest run over the files of a workspace: the first copies them.
pub(super) const LOOK_TIME: Duration = Duration::from_secs(8);
/// Most bytes of names of one workspace or step.
pub(super) const MAX_NAMES: usize = 32 << 20;
/// Most bytes of contents in memory at once.
pub(super) const CHUNK_BYTES: u64 = 64 << 20;
/// Git without `fast-import --force`'s company is older than anybody's.
const OLDEST_GIT: (u32, u32) = (2, 20);

/// Why there are no checkpoints.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The program git was not found, or does not run.
    #[error("the program git cannot be run: {0}")]
    NoGit(String),
    /// It is too old.
    #[error("git {0} is too old; 2.20 or later is needed")]
    OldGit(String),
    /// The directory cannot be used.
    #[error("{path} cannot be used for checkpoints")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What files were before Turns changed them. One per server.
#[derive(Debug)]
pub struct Checkpoints {
    pub(super) git: Git,
    pub(super) open_looks: OpenLooks,
    /// What each root's ref refers to, and the stamp of the files in it; as many as Threads name.
    pub(super) known: Mutex<HashMap<PathBuf, (Option<Stamp>, String)>>,
    /// Of the stamps.
    keys: RandomState,
    /// Looks and undoings: one at a time.
    pub(super) one: Semaphore,
    /// Steps being closed: one at a time.
    pub(super) closing: Semaphore,
    pub(super) windows: Windows,
    /// Steps that are not left to themselves.
    pub(super) alive: Alive,
    pub(super) leftovers: Leftovers,
    /// Roots that are not looked at any more, and why; as many as Threads name.
    pub(super) refused: Mutex<HashMap<PathBuf, String>>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// Why a look gave nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    /// There is too much to keep: half a sentence for people.
    #[error("{0}")]
    TooMuch(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What a look saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Name of the tree.
    pub(super) tree: String,
    pub(super) stamp: Option<Stamp>,
    pub(super) empty: Vec<PathBuf>,
    /// What was there and is not in it, relative; `None` where that was not asked, or is too much.
    pub(super) skipped: Option<Vec<PathBuf>>,
}

/// A content on its way into the repository.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Bytes(FileMode, Arc<[u8]>),
    Known(Entry),
}

/// A file that two looks saw differently; the path is relative.
pub(super) type Difference = (PathBuf, Option<Entry>, Option<Entry>);

impl Checkpoints {
    /// Opens the repository in a directory of the server's own, making it when it is missing, and begins to forget what
    /// is old. `workspace` is noted for people; of `variables` only `PATH` is used.
    ///
    /// # Errors
    /// Any [`CheckpointError`].
    pub async fn open(
        directory: &Path,
        workspace: &Path,
        children: Children,
        variables: &Environment,
    ) -> Result<Arc<Self>, CheckpointError> {
        let at = |source| CheckpointError::Directory {
            path: directory.to_owned(),
            source,
        };
        let (place, description) = (directory.to_owned(), workspace.as_os_str().as_bytes().to_vec());
        tokio::task::spawn_blocking(move || prepare(&place, &description))
            .await
            .unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))
            .map_err(at)?;
        let git = Git::new(children, variables, directory);
        let said = version_of(&git, directory, variables).await?;
        if version(&said).is_none_or(|version| version < OLDEST_GIT) {
            return Err(CheckpointError::OldGit(said));
        }
        let checkpoints = Arc::new(Self {
            git,
            open_looks: OpenLooks::of(directory),
            known: Mutex::default(),
            keys: RandomState::new(),
            one: Semaphore::new(1),
            closing: Semaphore::new(1),
            windows: Windows::default(),
            alive: Alive::default(),
            leftovers: Leftovers::default(),
            refused: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        checkpoints.leftovers.keep_in(&checkpoints.notes());
        checkpoints.tasks.spawn(checkpoints.clone().tidy_until_stopped());
        Ok(checkpoints)
    }

    /// Returns the directory in which names of files on their way are noted.
    pub(crate) fn notes(&self) -> PathBuf {
        notes(self.git.directory())
    }

    /// Returns a short sum of a path that stays the same from version to version: a name for its checkpoints.
    pub fn sum(path: &Path) -> String {
        short(path)
    }

    /// Ends what goes on beside Turns.
    pub async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Looks over the files below `root` and keeps those that are new.
    ///
    /// # Errors
    /// Any [`LookError`].
    pub(super) async fn look(&self, root: &Path, skipped: Skipped) -> Result<Seen, LookError> {
        let (place, own) = (root.to_owned(), self.git.directory().to_owned());
        let keys = self.keys.clone();
        let found = tokio::task::spawn_blocking(move || survey(&place, &own, skipped, &keys)).await;
        let Survey {
            files,
            empty,
            skipped,
            stamp,
        } = found
            .map_err(|_| GitError::Pipe(std::io::ErrorKind::Other.into()))?
            .map_err(LookError::TooMuch)?;
        let known = self.known.lock().get(root).cloned();
        if let Some((known, tree)) = known
            && known.is_some()
            && known == stamp
        {
            return Ok(Seen {
                tree,
                stamp,
                empty,
                skipped,
            });
        }
        let index = self.index(root);
        let tree = match self.tree_of(root, &index, &files).await {
            Err(GitError::Failed { command, complaint }) => {
                // A file came between, the index speaks of contents that are gone, or whoever wrote it was killed: it is
                // made anew. Nobody else looks now.
                tracing::debug!(command, complaint, "looking once more");
                drop(std::fs::remove_file(index.with_extension("lock")));
                drop(std::fs::remove_file(&index));
                self.tree_of(root, &index, &files).await?
            }
            tree => tree?,
        };
        Ok(Seen {
            tree,
            stamp,
            empty,
            skipped,
        })
    }

    async fn tree_of(&self, root: &Path, index: &Path, files: &[PathBuf]) -> Result<String, GitError> {
        let job = |args: &[&str]| Job::new(args, LOOK_TIME).on(root, index);
        let known = self.git.run(job(&["ls-files", "-z"]).up_to(MAX_NAMES)).await?;
        let there: std::collections::HashSet<&[u8]> =
            files.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let mut gone = Vec::new();
        for path in records(&known).filter(|path| !there.contains(path)) {
            gone.extend_from_slice(b"0 0000000000000000000000000000000000000000\t");
            gone.extend_from_slice(path);
            gone.push(0);
        }
        if !gone.is_empty() {
            let job = job(&["update-index", "-z", "--index-info"]);
            self.git.run(job.input(gone)).await?;
        }
        let mut names = Vec::new();
        for path in files {
            names.extend_from_slice(path.as_os_str().as_bytes());
            names.push(0);
        }
        let add = job(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
        self.git.run(add.input(names)).await?;
        let tree = self.git.run(job(&["write-tree"])).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Returns what two looks saw differently.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(super) async fn differences(&self, before: &str, after: &str) -> Result<Vec<Difference>, GitError> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            before,
            after,
        ];
        let said = self.git.run(Job::new(args, TIME).up_to(MAX_NAMES)).await?;
        let mut said = records(&said);
        let mut found = Vec::new();
        while let (Some(about), Some(path)) = (said.next(), said.next()) {
            let about = String::from_utf8_lossy(about);
            let mut words = about.trim_start_matches(':').split(' ');
            let (old, new) = (words.next(), words.next());
            let entry = |mode: Option<&str>, blob: Option<&str>| {
                Some(Entry {
                    mode: FileMode::from_word(mode?)?,
                    blob: blob?.to_owned(),
                })
            };
            let (before, after) = (entry(old, words.next()), entry(new, words.next()));
            found.push((bytes_path(path), before, after));
        }
        Ok(found)
    }

    /// Writes a step, new or in place of what it was, in one go, with the last tree of a root where one was `seen`.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(super) async fn write(
        &self,
        name: &str,
        step: &Step,
        contents: &[(Option<Content>, Option<Content>)],
        seen: Option<(&Path, &Seen)>,
    ) -> Result<(), GitError> {
        let json = serde_json::to_vec(step).map_err(std::io::Error::from)?;
        let mut stream = Vec::new();
        let file = |stream: &mut Vec<u8>, mode: &str, path: &str, bytes: &[u8]| {
            let head = format!("M {mode} inline {path}\ndata {}\n", bytes.len());
            stream.extend_from_slice(head.as_bytes());
            stream.extend_from_slice(bytes);
            stream.push(b'\n');
        };
        commit(&mut stream, name);
        file(&mut stream, "100644", "step.json", &json);
        for (number, (before, after)) in contents.iter().enumerate() {
            for (side, content) in [("b", before), ("a", after)] {
                let path = format!("{side}/{number}");
                match content {
                    None => {}
                    Some(Content::Bytes(mode, bytes)) => file(&mut stream, mode.as_str(), &path, bytes),
                    Some(Content::Known(Entry { mode, blob })) => {
                        let line = format!("M {} {blob} {path}\n", mode.as_str());
                        stream.extend_from_slice(line.as_bytes());
                    }
                }
            }
        }
        self.import(stream, seen).await
    }

    /// Notes the last tree of a root, so that it is kept.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(super) async fn keep(&self, root: &Path, seen: &Seen) -> Result<(), GitError> {
        let known = match self.known.lock().get_mut(root) {
            Some((stamp, tree)) if *tree == seen.tree => {
                *stamp = seen.stamp;
                true
            }
            _ => false,
        };
        if known {
            return Ok(());
        }
        self.import(Vec::new(), Some((root, seen))).await
    }

    /// Writes commits, and the last tree of a root.
    async fn import(&self, commits: Vec<u8>, seen: Option<(&Path, &Seen)>) -> Result<(), GitError> {
        let mut stream = b"feature done\n".to_vec();
        stream.extend(commits);
        let one = match seen {
            // What is known is what was written last. Never closed.
            Some(_) => self.one.acquire().await.ok(),
            None => None,
        };
        if let Some((root, seen)) = seen {
            commit(&mut stream, &last_tree(root));
            stream.extend_from_slice(format!("M 040000 {} seen\n", seen.tree).as_bytes());
            // Until it is written nobody knows which one is kept.
            self.known.lock().remove(root);
        }
        stream.extend_from_slice(b"done\n");
        let job = || Job::new(["fast-import", "--quiet", "--force", "--done"], LOOK_TIME);
        let again = seen.map(|(root, _)| (root, stream.clone()));
        match (self.git.run(job().input(stream)).await, again) {
            (Err(GitError::Failed { command, complaint }), Some((root, stream))) => {
                // Whoever wrote the ref before may have been killed; nobody else of ours writes it now.
                tracing::debug!(command, complaint, "writing once more");
                let name = self.git.directory().join(last_tree(root));
                drop(std::fs::remove_file(name.with_extension("lock")));
                self.git.run(job().input(stream)).await?;
            }
            (written, _) => drop(written?),
        }
        if let Some((root, Seen { stamp, tree, .. })) = seen {
            self.known.lock().insert(root.to_owned(), (*stamp, tree.clone()));
        }
        drop(one);
        Ok(())
    }

    /// Returns the names of a Turn's steps, in their order, those of open looks among them.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(super) async fn steps(&self, thread: &ThreadId, turn: TurnId) -> Result<Vec<String>, GitError> {
        let place = place(thread, turn);
        let args = ["for-each-ref", "--sort=refname", "--format=%(refname)", &place];
        let said = self.git.run(Job::new(args, TIME).up_to(MAX_NAMES)).await?;
        let mut names: Vec<String> = String::from_utf8_lossy(&said)
            .lines()
            .map(str::to_owned)
            .collect();
        let open = self.of_open_looks(move |looks| looks.names(&place)).await?;
        names.extend(open.into_iter().map(|(_, name)| name));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Does something with the files of the open looks.
    ///
    /// # Errors
    /// What it returns.
    pub(super) async fn of_open_looks<T: Send + 'static>(
        &self,
        doing: impl FnOnce(&OpenLooks) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let looks = self.open_looks.clone();
        tokio::task::spawn_blocking(move || doing(&looks))
            .await
            .unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))
    }

    /// Reads a step that is in the repository: any but an open look.
    ///
    /// # Errors
    /// Any [`GitError`]; also where what lies there was not written by us.
    pub(super) async fn read(&self, name: &str) -> Result<Kept, GitError> {
        let json = self
            .git
            .run(Job::new(["cat-file", "blob", &format!("{name}:step.json")], TIME).up_to(MAX_NAMES))
            .await?;
        let mut step: Step = serde_json::from_slice(&json).map_err(std::io::Error::from)?;
        if step.state == State::Open && step.kind == Kind::Look {
            step.kind = Kind::Nothing {
                why: "an earlier version of the server ended while it ran".to_owned(),
            };
            step.state = State::Closed;
        }
        let args = ["ls-tree", "-z", name, "b/", "a/"];
        let listed = self.git.run(Job::new(args, TIME).up_to(MAX_NAMES)).await?;
        let mut entries = vec![(None, None); step.changes.len()];
        for line in records(&listed) {
            let line = String::from_utf8_lossy(line);
            let Some((about, path)) = line.split_once('\t') else {
                continue;
            };
            let mut words = about.split(' ');
            let (mode, _, blob) = (words.next(), words.next(), words.next().unwrap_or_default());
            let Some((side, number)) = path.split_once('/') else {
                continue;
            };
            let entry = mode.and_then(FileMode::from_word).map(|mode| Entry {
                mode,
                blob: blob.to_owned(),
            });
            let place = number
                .parse::<usize>()
                .ok()
                .and_then(|number| entries.get_mut(number));
            match (place, side) {
                (Some(place), "b") => place.0 = entry,
                (Some(place), "a") => place.1 = entry,
                _ => {}
            }
        }
        let whole = step
            .changes
            .iter()
            .zip(&entries)
            .all(|(change, (before, after))| {
                change.before.is_some() == before.is_some()
                    && (step.state == State::Open || change.after.is_some() == after.is_some())
            });
        if !whole {
            return Err(GitError::Pipe(std::io::ErrorKind::InvalidData.into()));
        }
        Ok(Kept { step, entries })
    }

    fn index(&self, root: &Path) -> PathBuf {
        self.git.directory().join(format!("index-{}", short(root)))
    }
}

/// Begins a commit without a parent, for git's `fast-import`.
fn commit(stream: &mut Vec<u8>, name: &str) {
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let head =
        format!("commit {name}\ncommitter bobbin <bobbin@localhost> {now} +0000\ndata 0\n\ndeleteall\n");
    stream.extend_from_slice(head.as_bytes());
}

/// Returns the ref to the last tree seen in a root.
fn last_tree(root: &Path) -> String {
    format!("refs/roots/{}", short(root))
}

/// Returns where a Turn's steps are.
pub(super) fn place(thread: &ThreadId, turn: TurnId) -> String {
    format!("refs/steps/{}/{:08}/", part(thread.as_str()), turn.0)
}

/// Returns the mark of a Turn whose steps were forgotten.
pub(super) fn forgotten(thread: &ThreadId, turn: TurnId) -> String {
    format!("refs/forgotten/{}/{:08}", part(thread.as_str()), turn.0)
}

/// Returns an id as a part of a ref's name.
fn part(id: &str) -> String {
    let mut text = String::from("t-");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            text.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "-{byte:02x}");
        }
    }
    text
}

/// Returns what git says its version is, now or when it was asked before.
async fn version_of(git: &Git, directory: &Path, variables: &Environment) -> Result<String, CheckpointError> {
    let (place, path) = (directory.to_owned(), variables.get("PATH").map(ToOwned::to_owned));
    let looking = tokio::task::spawn_blocking(move || {
        let known = KnownGit::find(&place, path.as_deref())?;
        let said = known.said();
        Some((known, said))
    });
    let known = match looking.await.ok().flatten() {
        Some((_, Some(said))) => return Ok(said),
        Some((known, None)) => Some(known),
        None => None,
    };
    let said = git.run(Job::new(["--version"], TIME)).await;
    let said = said.map_err(|error| CheckpointError::NoGit(chain(&error)))?;
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if let Some(known) = known {
        let said = said.clone();
        drop(tokio::task::spawn_blocking(move || known.note(&said)).await);
    }
    Ok(said)
}

/// Returns a short name for a path that stays the same from version to version (FNV-1a).
pub(super) fn short(path: &Path) -> String {
    let hash = path
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// Returns the parts that end with a zero byte.
fn records(said: &[u8]) -> impl Iterator<Item = &[u8]> {
    said.split(|&byte| byte == 0).filter(|part| !part.is_empty())
}

fn bytes_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()))
}

/// Returns an error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
#[path = "shadow_tests.rs"]
mod tests;
