//! Steps being opened and closed: what calls may change and what they changed, into the repository.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bobbin_core::tool::ChangedFile;
use bobbin_model::turn::FileChangeStatus;

use super::found::{Found, find};
use super::git::GitError;
use super::ledger::{Change, FileMode, Kept, Kind, Left, Now, State, Step, Text, VERSION};
use super::open_looks::OpenLook;
use super::shadow::{CHUNK_BYTES, Checkpoints, Content, Difference, LookError, Seen, chain};
use super::survey::Skipped;
use super::unseen::Unseen;
use super::windows::{Beside, Going};

/// Most files of one command whose change is shown line by line; more are named.
const MAX_SHOWN: usize = 2_000;

/// What a call has changed, beside what it said itself.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Files with what they were before.
    pub(crate) changed: Vec<ChangedFile>,
    /// Files whose earlier content is too much to be shown.
    pub(crate) untold: Vec<(PathBuf, FileChangeStatus)>,
}

/// An open step as it was written.
#[derive(Debug)]
pub(super) enum Held {
    /// With what the files were.
    Files(Step, Vec<Option<Content>>),
    /// With the tree that was seen.
    Look(Step, String),
}

impl Checkpoints {
    /// Writes down what files are that a call is going to write, once it is `recorded` that the call begins.
    pub(super) async fn begin_files(
        &self,
        name: &str,
        call: &str,
        root: &Path,
        files: Vec<PathBuf>,
        recorded: impl Future<Output = ()>,
    ) -> Result<Held, LookError> {
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
                Found::Unread(_) | Found::Other => continue,
            };
            step.changes.push(Change {
                path: Text::of(&path),
                before: before.as_ref().map(mode_of),
                after: None,
                shared: false,
                left: None,
            });
            step.stay.push(Text::of(&stay));
            contents.push((before, None));
        }
        recorded.await;
        self.write(name, &step, &contents, None).await?;
        let contents = contents.into_iter().map(|(before, _)| before).collect();
        Ok(Held::Files(step, contents))
    }

    /// Looks over the files, and writes down what was seen once it is `recorded` that the call begins.
    pub(super) async fn begin_look(
        &self,
        name: &str,
        call: &str,
        root: &Path,
        recorded: impl Future<Output = ()>,
    ) -> Result<Held, LookError> {
        let known = self.refused.lock().get(root).cloned();
        if let Some(why) = known {
            return Err(LookError::TooMuch(why));
        }
        // Never closed.
        let one = self.one.acquire().await.ok();
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let seen = self.look(root, Skipped::Named).await;
        drop(one);
        recorded.await;
        let seen = match seen {
            Ok(seen) => self
                .keep(root, &seen)
                .await
                .map(|()| seen)
                .map_err(LookError::from),
            seen => seen,
        };
        let Seen {
            tree, empty, skipped, ..
        } = seen.inspect_err(|error| {
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
        step.skipped = skipped.map(|skipped| skipped.iter().map(|path| Text::of(path)).collect());
        step.since = u64::try_from(since).unwrap_or_default();
        let (name, held) = (name.to_owned(), (step.clone(), tree.clone()));
        self.of_open_looks(move |looks| looks.begin(&name, &held.1, &held.0))
            .await
            .map_err(GitError::from)?;
        Ok(Held::Look(step, tree))
    }

    /// Writes down that nothing is kept of a call, so that an undoing says so.
    pub(super) async fn begin_nothing(&self, name: &str, call: &str, root: &Path, why: &str) {
        let step = Step {
            state: State::Closed,
            ..step(call, root, Kind::Nothing { why: why.to_owned() })
        };
        if let Err(error) = self.write(name, &step, &[], None).await {
            tracing::warn!(
                step = name,
                error = chain(&error),
                "not even that no checkpoint is there can be written"
            );
        }
    }

    /// Writes down, in place of an open look, that nobody knows what its call has changed. Of a call that said which
    /// files it writes it is known what they were: that stays open for good, and a person has a word in it.
    pub(super) async fn give_up(&self, name: &str, why: &str) {
        let place = name.to_owned();
        let given_up = match self.of_open_looks(move |looks| looks.read(&place)).await {
            Ok(None) => return,
            Ok(Some(OpenLook { step, .. })) => {
                // Its end may have been written and nothing else.
                let read = self.read(name).await;
                if matches!(read, Err(error) if is_missing(&error)) {
                    self.begin_nothing(name, &step.call, &step.root.path(), why).await;
                }
                self.end_look(name).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = given_up {
            tracing::warn!(step = name, error = chain(&error), "a step cannot be given up");
        }
    }

    /// Forgets that a look is open.
    async fn end_look(&self, name: &str) -> std::io::Result<()> {
        let name = name.to_owned();
        self.of_open_looks(move |looks| looks.end(&name)).await
    }

    /// Closes a step, if it is open, with what its files are now; `held` is that step, where it is known, and `going`
    /// what goes on as long as it is open.
    ///
    /// # Errors
    /// Any [`LookError`]; the step stays open.
    pub(super) async fn close(
        &self,
        name: &str,
        going: Option<Going>,
        held: Option<Held>,
    ) -> Result<Ended, LookError> {
        // Whoever comes second finds it closed. Never closed itself.
        let closing = self.closing.acquire().await.ok();
        let held = match held {
            Some(held) => Some(held),
            None => self.open_step(name).await?,
        };
        let closed = match held {
            None => Ok(Ended::default()),
            Some(Held::Files(step, before)) => self.close_files(name, step, before).await,
            Some(Held::Look(step, tree)) => self.close_look(name, step, &tree, going).await,
        };
        drop(closing);
        closed
    }

    /// Reads a step that is open.
    async fn open_step(&self, name: &str) -> Result<Option<Held>, GitError> {
        match self.read(name).await {
            Ok(Kept { step, entries }) if step.state == State::Open => {
                let before = entries.into_iter().map(|(before, _)| before.map(Content::Known));
                Ok(Some(Held::Files(step, before.collect())))
            }
            Ok(_) => {
                // That it is open may still be noted.
                self.end_look(name).await?;
                Ok(None)
            }
            Err(error) if is_missing(&error) => {
                let name = name.to_owned();
                let look = self.of_open_looks(move |looks| looks.read(&name)).await?;
                // A call that was dropped before what it may change was kept has not begun.
                Ok(look.map(|OpenLook { tree, step }| Held::Look(step, tree)))
            }
            Err(error) => Err(error),
        }
    }

    async fn close_files(
        &self,
        name: &str,
        mut step: Step,
        before: Vec<Option<Content>>,
    ) -> Result<Ended, LookError> {
        let paths: Vec<PathBuf> = step.changes.iter().map(|change| change.path.path()).collect();
        let found =
            tokio::task::spawn_blocking(move || paths.iter().map(|path| find(path)).collect::<Vec<_>>());
        let found = found
            .await
            .map_err(|_| GitError::Pipe(std::io::ErrorKind::Other.into()))?;
        let (mut changes, mut contents) = (Vec::new(), Vec::new());
        for ((mut change, before), found) in step.changes.drain(..).zip(before).zip(found) {
            let after = match found {
                Found::Nothing => None,
                Found::File(mode, content) => Some((mode, content)),
                // Nobody would know it again.
                Found::Unread(_) | Found::Other => continue,
            };
            change.after = after.as_ref().map(|(mode, _)| *mode);
            changes.push(change);
            let after = after.map(|(mode, content)| Content::Bytes(mode, content.into()));
            contents.push((before, after));
        }
        step.changes = changes;
        step.state = State::Closed;
        self.write(name, &step, &contents, None).await?;
        Ok(Ended::default())
    }

    async fn close_look(
        &self,
        name: &str,
        mut step: Step,
        tree: &str,
        going: Option<Going>,
    ) -> Result<Ended, LookError> {
        let root = step.root.path();
        let one = self.one.acquire().await.ok();
        let seen = self.look(&root, Skipped::Unnamed).await;
        drop(one);
        let beside = going.map(Going::end).unwrap_or_default();
        if beside.lost {
            return Err(LookError::TooMuch(
                "others wrote too many files at the same time".to_owned(),
            ));
        }
        let seen = seen?;
        step.state = State::Closed;
        if seen.tree == tree {
            self.keep(&root, &seen).await?;
            self.end_look(name).await.map_err(GitError::from)?;
            return Ok(Ended::default());
        }
        let found = self.differences(tree, &seen.tree).await?;
        let unseen = Unseen::of(&root, step.skipped.take(), std::mem::take(&mut step.since));
        let place = root.clone();
        let (found, beside) =
            tokio::task::spawn_blocking(move || (sorted(&place, found, &beside, &unseen), beside))
                .await
                .map_err(|_| GitError::Pipe(std::io::ErrorKind::Other.into()))?;
        let mut contents = Vec::with_capacity(found.len());
        let mut to_show = Vec::with_capacity(found.len());
        for Sorted {
            difference: (path, before, after),
            now,
            left,
        } in found
        {
            let after_now = now.or_else(|| after.clone().map(Content::Known));
            step.changes.push(Change {
                shared: beside.shared,
                left,
                path: Text::of(&root.join(&path)),
                before: before.as_ref().map(|entry| entry.mode),
                after: after_now.as_ref().map(mode_of),
            });
            contents.push((before.clone().map(Content::Known), after_now));
            if left != Some(Left::Theirs) {
                to_show.push((path, before, after));
            }
        }
        if contents.is_empty() {
            self.end_look(name).await.map_err(GitError::from)?;
            return Ok(Ended::default());
        }
        self.write(name, &step, &contents, Some((&root, &seen))).await?;
        self.end_look(name).await.map_err(GitError::from)?;
        Ok(self.shown(&root, to_show).await?)
    }

    /// Returns changes as the Turn's diff wants them.
    async fn shown(&self, root: &Path, found: Vec<Difference>) -> Result<Ended, GitError> {
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

/// A difference, and what is to be thought of it.
struct Sorted {
    difference: Difference,
    /// What it is after all, where the second look left it out.
    now: Option<Content>,
    left: Option<Left>,
}

/// Says of each difference whose it is, and leaves out what is none. Blocking.
fn sorted(root: &Path, found: Vec<Difference>, beside: &Beside, unseen: &Unseen) -> Vec<Sorted> {
    let gone = found.iter().filter(|(.., after)| after.is_none());
    let gone: HashSet<String> = gone
        .filter_map(|(_, before, _)| Some(before.as_ref()?.blob.clone()))
        .collect();
    let mut room = CHUNK_BYTES;
    let mut sorted = Vec::with_capacity(found.len());
    for difference in found {
        let (path, before, after) = &difference;
        let whole = root.join(path);
        let (mut now, mut left) = (None, None);
        if beside.others.contains_key(&whole) {
            left = Some(Left::Theirs);
        } else if before.is_none() {
            // A file of another name whose content is kept is not lost with this one.
            let moved = after.as_ref().is_some_and(|after| gone.contains(&after.blob));
            left = unseen.may_have_been(path, moved).then_some(Left::Unseen);
        } else if after.is_none() {
            // Left out by the second look, because git ignores it now or it has become too large, it is still there.
            let there = find(&whole);
            if before.clone().map(Now::File) == Some(there.now()) {
                continue;
            }
            if let Found::File(mode, content) = there {
                match room.checked_sub(content.len() as u64) {
                    Some(less) => {
                        room = less;
                        now = Some(Content::Bytes(mode, content.into()));
                    }
                    None => left = Some(Left::Unseen),
                }
            }
        }
        sorted.push(Sorted {
            difference,
            now,
            left,
        });
    }
    sorted
}

/// Whether there is no such step in the repository.
fn is_missing(error: &GitError) -> bool {
    matches!(error, GitError::Failed { complaint, .. } if complaint.contains("invalid object name"))
}

pub(super) fn step(call: &str, root: &Path, kind: Kind) -> Step {
    Step {
        version: VERSION,
        call: call.to_owned(),
        root: Text::of(root),
        state: State::Open,
        kind,
        changes: Vec::new(),
        stay: Vec::new(),
        skipped: None,
        since: 0,
    }
}

fn mode_of(content: &Content) -> FileMode {
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
