//! What the agent's loop calls around a call: keep what may change, then say what did.
//!
//! A call is never kept from running: where nothing can be kept, that is written down and told, once a run of a Turn.
//! A call that is dropped in the middle is closed by a task of the repository's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bobbin_core::engine::TurnContext;
use bobbin_core::tool::{ChangedFile, Touches};
use bobbin_model::turn::FileChangeStatus;
use bobbin_model::{ThreadId, TurnId};
use tokio::time::timeout;

use super::git::GitError;
use super::ledger::{Change, Kept, Kind, State, Step, Text, VERSION};
use super::revert::{Found, find};
use super::shadow::{CHUNK_BYTES, Checkpoints, Content, LookError, Seen, chain, place};
use super::windows::{Whose, digest};

/// Longest wait for a step to be written before a call runs all the same.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Most files of one command whose change is shown line by line; more are named.
const MAX_SHOWN: usize = 2_000;

/// Name of the tree without a file.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// What is kept around the calls of one run of a Turn.
#[derive(Debug)]
pub(crate) struct TurnKeeper {
    checkpoints: Option<Arc<Checkpoints>>,
    thread: ThreadId,
    turn: TurnId,
    root: PathBuf,
    /// Number of the next step.
    next: AtomicU32,
    /// People were told that something cannot be undone.
    told: AtomicBool,
}

/// A call that may run now.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    open: Option<Open>,
    /// Something to tell people: that it cannot be undone.
    pub(crate) notice: Option<String>,
}

/// What a call has changed, beside what it said itself.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Files with what they were before.
    pub(crate) changed: Vec<ChangedFile>,
    /// Files whose earlier content is too much to be shown.
    pub(crate) untold: Vec<(PathBuf, FileChangeStatus)>,
}

/// An open step.
#[derive(Debug)]
struct Open {
    checkpoints: Arc<Checkpoints>,
    name: String,
    whose: Whose,
    /// Of a look.
    window: Option<u64>,
    ended: bool,
}

impl TurnKeeper {
    pub(crate) fn new(checkpoints: Option<Arc<Checkpoints>>, turn: &TurnContext) -> Self {
        Self {
            checkpoints,
            thread: turn.thread().clone(),
            turn: turn.turn(),
            root: turn.environment().root.clone(),
            next: AtomicU32::new(1),
            told: AtomicBool::new(false),
        }
    }

    /// Closes the steps that an earlier run of this Turn has left open, and goes on numbering after them. Returns what
    /// their calls have changed.
    pub(crate) async fn take_up(&self) -> Ended {
        let Some(checkpoints) = self.checkpoints.clone() else {
            return Ended::default();
        };
        let whose = (self.thread.clone(), self.turn);
        let closing = async {
            let mut all = Ended::default();
            let names = checkpoints.steps(&self.thread, self.turn).await?;
            let last = names
                .last()
                .and_then(|name| name.rsplit('/').next()?.parse::<u32>().ok());
            self.next.store(last.unwrap_or(0) + 1, Ordering::Relaxed);
            for name in names {
                let ended = checkpoints.close(&name, &whose, None).await?;
                all.changed.extend(ended.changed);
                all.untold.extend(ended.untold);
            }
            Ok::<_, LookError>(all)
        };
        closing.await.unwrap_or_else(|error| {
            tracing::warn!(thread = %whose.0, error = chain(&error), "cannot see what an interrupted call has changed");
            Ended::default()
        })
    }

    /// Keeps what a call may change.
    pub(crate) async fn begin(&self, call: &str, touches: Touches) -> Begun {
        let Some(checkpoints) = self.checkpoints.clone().filter(|_| touches != Touches::Nothing) else {
            return Begun::default();
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{number:06}", place(&self.thread, self.turn));
        let mut open = Open {
            name,
            whose: (self.thread.clone(), self.turn),
            window: None,
            ended: false,
            checkpoints: checkpoints.clone(),
        };
        let writing = async {
            match touches {
                Touches::Nothing => Ok(()),
                Touches::Files(files) => checkpoints.begin_files(&open.name, call, &self.root, files).await,
                Touches::Anything => {
                    let window = checkpoints.windows.lock().open(open.whose.clone(), &self.root);
                    open.window = Some(window);
                    checkpoints.begin_look(&open.name, call, &self.root).await
                }
            }
        };
        let written = timeout(MAX_WAIT, writing).await;
        let why = match written {
            Ok(Ok(())) => {
                return Begun {
                    open: Some(open),
                    notice: None,
                };
            }
            Ok(Err(LookError::TooMuch(why))) => why,
            Ok(Err(error)) => {
                tracing::warn!(thread = %self.thread, error = chain(&error), "no checkpoint");
                "the checkpoint could not be written".to_owned()
            }
            Err(_) => "writing the checkpoint took too long".to_owned(),
        };
        open.give_up();
        checkpoints
            .begin_nothing(&open.name, call, &self.root, &why)
            .await;
        let notice = format!("What {call} changes in files cannot be undone: {why}.");
        let notice = (!self.told.swap(true, Ordering::Relaxed)).then_some(notice);
        Begun { open: None, notice }
    }
}

impl Begun {
    /// Keeps what the call has changed.
    pub(crate) async fn end(self) -> Ended {
        let Some(mut open) = self.open else {
            return Ended::default();
        };
        let window = open.window.take();
        open.ended = true;
        let closed = timeout(MAX_WAIT, open.checkpoints.close(&open.name, &open.whose, window)).await;
        match closed {
            Ok(Ok(ended)) => ended,
            // The step stays open, and is closed when it is needed.
            Ok(Err(error)) => {
                tracing::warn!(
                    step = open.name,
                    error = chain(&error),
                    "cannot see what a call has changed"
                );
                Ended::default()
            }
            Err(_) => {
                tracing::warn!(step = open.name, "seeing what a call has changed took too long");
                Ended::default()
            }
        }
    }
}

impl Open {
    fn give_up(&mut self) {
        self.ended = true;
        if let Some(window) = self.window.take() {
            self.checkpoints.windows.lock().close(window);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (checkpoints, name, whose) = (self.checkpoints.clone(), self.name.clone(), self.whose.clone());
        let window = self.window.take();
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.checkpoints.tasks.spawn(async move {
            let stop = checkpoints.stop.clone();
            let closing = timeout(MAX_WAIT, checkpoints.close(&name, &whose, window));
            tokio::select! {
                () = stop.cancelled() => {}
                closed = closing => if let Ok(Err(error)) = closed {
                    tracing::warn!(step = name, error = chain(&error), "cannot see what a dropped call has changed");
                }
            }
        });
    }
}

impl Checkpoints {
    async fn begin_files(
        &self,
        name: &str,
        call: &str,
        root: &Path,
        files: Vec<PathBuf>,
    ) -> Result<(), LookError> {
        let found = tokio::task::spawn_blocking(move || {
            files
                .into_iter()
                .map(|path| {
                    let (found, stay) = (find(&path), nearest(&path));
                    (path, found, stay)
                })
                .collect::<Vec<_>>()
        });
        let found = found
            .await
            .map_err(|_| GitError::Pipe(std::io::ErrorKind::Other.into()))?;
        let mut step = step(call, root, Kind::Files);
        let mut contents = Vec::new();
        for (path, found, stay) in found {
            let before = match found {
                Found::Nothing => None,
                Found::File(mode, content) => Some(Content::Bytes(mode, content.into())),
                // The tool will say so itself.
                Found::Other => continue,
            };
            step.changes.push(Change {
                path: Text::of(&path),
                before: before.as_ref().map(mode_of),
                after: None,
                shared: false,
            });
            step.stay.push(Text::of(&stay));
            contents.push((before, None));
        }
        Ok(self.write(name, &step, &contents, None, None).await?)
    }

    async fn begin_look(&self, name: &str, call: &str, root: &Path) -> Result<(), LookError> {
        let known = self.refused.lock().get(root).cloned();
        if let Some(why) = known {
            return Err(LookError::TooMuch(why));
        }
        // Never closed.
        let one = self.one.acquire().await.ok();
        let seen = self.look(root).await;
        drop(one);
        let Seen { tree, empty } = seen.inspect_err(|error| {
            let why = match error {
                LookError::TooMuch(why) => why.clone(),
                LookError::Git(GitError::TooLong(..)) => {
                    "looking over the workspace takes too long".to_owned()
                }
                LookError::Git(_) => return,
            };
            self.refused.lock().insert(root.to_owned(), why);
        })?;
        let mut step = step(call, root, Kind::Look);
        step.stay = empty.iter().map(|path| Text::of(path)).collect();
        Ok(self
            .write(name, &step, &[], Some(&tree), Some((root, &tree)))
            .await?)
    }

    /// Writes down that nothing is kept of a call, so that an undoing says so.
    async fn begin_nothing(&self, name: &str, call: &str, root: &Path, why: &str) {
        let step = Step {
            state: State::Closed,
            ..step(call, root, Kind::Nothing { why: why.to_owned() })
        };
        if let Err(error) = self.write(name, &step, &[], None, None).await {
            tracing::warn!(
                step = name,
                error = chain(&error),
                "not even that no checkpoint is there can be written"
            );
        }
    }

    /// Closes a step, if it is open, with what its files are now.
    ///
    /// # Errors
    /// Any [`LookError`]; the step stays open.
    pub(super) async fn close(
        &self,
        name: &str,
        whose: &Whose,
        window: Option<u64>,
    ) -> Result<Ended, LookError> {
        // Whoever comes second finds it closed. Never closed itself.
        let closing = self.closing.acquire().await.ok();
        let closed = self.close_now(name, whose, window).await;
        drop(closing);
        closed
    }

    async fn close_now(&self, name: &str, whose: &Whose, window: Option<u64>) -> Result<Ended, LookError> {
        let (kept, tree) = self.read(name).await?;
        if kept.step.state == State::Closed {
            return Ok(Ended::default());
        }
        match kept.step.kind {
            Kind::Look => {
                // Git keeps no empty directory, not even the one that a look saw.
                let tree = tree.unwrap_or_else(|| EMPTY_TREE.to_owned());
                self.close_look(name, kept.step, &tree, window).await
            }
            Kind::Files | Kind::Nothing { .. } => self.close_files(name, kept, whose).await,
        }
    }

    async fn close_files(&self, name: &str, kept: Kept, whose: &Whose) -> Result<Ended, LookError> {
        let Kept { mut step, entries } = kept;
        let paths: Vec<PathBuf> = step.changes.iter().map(|change| change.path.path()).collect();
        let found =
            tokio::task::spawn_blocking(move || paths.iter().map(|path| find(path)).collect::<Vec<_>>());
        let found = found
            .await
            .map_err(|_| GitError::Pipe(std::io::ErrorKind::Other.into()))?;
        let (mut changes, mut contents) = (Vec::new(), Vec::new());
        for ((mut change, (before, _)), found) in step.changes.drain(..).zip(entries).zip(found) {
            let path = change.path.path();
            let after = match found {
                Found::Nothing => None,
                Found::File(mode, content) => Some((mode, content)),
                // Nobody would know it again.
                Found::Other => continue,
            };
            let now = after.as_ref().map(|(_, content)| digest(content));
            self.windows.lock().wrote(Some(whose), &path, now);
            change.after = after.as_ref().map(|(mode, _)| *mode);
            changes.push(change);
            let after = after.map(|(mode, content)| Content::Bytes(mode, content.into()));
            contents.push((before.map(Content::Known), after));
        }
        step.changes = changes;
        step.state = State::Closed;
        self.write(name, &step, &contents, None, None).await?;
        Ok(Ended::default())
    }

    async fn close_look(
        &self,
        name: &str,
        mut step: Step,
        tree: &str,
        window: Option<u64>,
    ) -> Result<Ended, LookError> {
        let root = step.root.path();
        let one = self.one.acquire().await.ok();
        let seen = self.look(&root).await;
        drop(one);
        let beside = window
            .map(|window| self.windows.lock().close(window))
            .unwrap_or_default();
        let seen = seen?;
        step.state = State::Closed;
        if seen.tree == tree {
            self.forget(name).await?;
            return Ok(Ended::default());
        }
        let mut found = self.differences(tree, &seen.tree).await?;
        let place = root.clone();
        let (found, now) = tokio::task::spawn_blocking(move || {
            // What somebody else wrote meanwhile, and is still so, is not this call's doing.
            found.retain(|(path, ..)| {
                let path = place.join(path);
                let theirs = beside.others.get(&path);
                theirs.is_none_or(|theirs| match find(&path) {
                    Found::Nothing => theirs.is_some(),
                    Found::File(_, content) => *theirs != Some(digest(&content)),
                    Found::Other => true,
                })
            });
            (found, beside)
        })
        .await
        .map_err(|_| GitError::Pipe(std::io::ErrorKind::Other.into()))?;
        let mut contents = Vec::with_capacity(found.len());
        for (path, before, after) in &found {
            let path = root.join(path);
            step.changes.push(Change {
                shared: now.shared || now.others.contains_key(&path),
                path: Text::of(&path),
                before: before.as_ref().map(|entry| entry.mode),
                after: after.as_ref().map(|entry| entry.mode),
            });
            contents.push((
                before.clone().map(Content::Known),
                after.clone().map(Content::Known),
            ));
        }
        self.write(name, &step, &contents, None, Some((&root, &seen.tree)))
            .await?;
        Ok(self.shown(&root, found).await?)
    }

    /// Returns changes as the Turn's diff wants them.
    async fn shown(&self, root: &Path, found: Vec<super::shadow::Difference>) -> Result<Ended, GitError> {
        let blobs: Vec<&str> = found
            .iter()
            .filter_map(|(_, before, _)| Some(before.as_ref()?.blob.as_str()))
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
        let mut ended = Ended::default();
        for (at, (path, before, after)) in found.iter().enumerate() {
            let path = root.join(path);
            let was_there = before.is_some();
            let before = match before {
                None => Some(None),
                Some(_) => contents.next().map(Some),
            };
            if let Some(before) = before.filter(|_| at < MAX_SHOWN) {
                ended.changed.push(ChangedFile { path, before });
                continue;
            }
            let status = match (was_there, after) {
                (_, None) => FileChangeStatus::Deleted,
                (false, _) => FileChangeStatus::Added,
                (true, _) => FileChangeStatus::Modified,
            };
            ended.untold.push((path, status));
        }
        Ok(ended)
    }
}

fn step(call: &str, root: &Path, kind: Kind) -> Step {
    Step {
        version: VERSION,
        call: call.to_owned(),
        root: Text::of(root),
        state: State::Open,
        kind,
        changes: Vec::new(),
        stay: Vec::new(),
    }
}

fn mode_of(content: &Content) -> super::ledger::FileMode {
    match content {
        Content::Bytes(mode, _) => *mode,
        Content::Known(entry) => entry.mode,
    }
}

/// Returns the nearest directory above a path that is there.
fn nearest(path: &Path) -> PathBuf {
    let mut above = path.ancestors().skip(1);
    above
        .find(|above| above.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}
