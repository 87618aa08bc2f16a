//! What the core calls when a Turn is to be undone.
//!
//! Reads the Turn's ledger, compares what lies at each path with what the Turn left there, and puts everything back as
//! one, each file only if it is still what was seen when it was compared. One undoing at a time. [`MAX_TIME`] until the
//! first file is touched; from there on it goes to its end. Links on the way to a file, which may have come since, are
//! not followed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_core::undo::{ChangedSince, RevertWish, Undo, UndoError, Undone};
use bobbin_model::{RevertAction, RevertedFile};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::found::{Found, find};
use super::git::{GitError, Job};
use super::ledger::{Fate, FileMode, Kept, Kind, Left, Now, Verdict, fates, verdict};
use super::shadow::{CHUNK_BYTES, Checkpoints, TIME, chain, forgotten, place};
use super::step::step;
use super::windows::Going;
use crate::tools::{self, Batch, Patience, Want, remove_directory, shown};

/// Longest undoing before the first file is touched.
const MAX_TIME: Duration = Duration::from_mins(1);
/// Most bytes put back at once: they are in memory together.
const MAX_BYTES: u64 = 4 * CHUNK_BYTES;

/// Most files named in a sentence.
const MAX_NAMED: usize = 20;

/// A file that is to be put back, with what lies there now.
type Back = (PathBuf, Fate, Now);

/// All that is to be done.
struct Plan {
    batch: Batch,
    /// Files that go.
    removed: Vec<PathBuf>,
    /// Directories that stay, empty or not.
    stay: BTreeSet<PathBuf>,
    undone: Undone,
    /// Tells those who look meanwhile whose doing it is.
    writing: Going,
}

impl Undo for Checkpoints {
    fn revert(&self, wish: RevertWish, stop: CancellationToken) -> BoxFuture<'_, Result<Undone, UndoError>> {
        async move {
            let patience = Patience::new(MAX_TIME, stop.clone());
            let planning = async {
                // What a dropped call has changed is looked at first, by whoever it is left to.
                let steps = self.ledger(&wish).await?;
                // Never closed.
                let one = self.one.acquire().await.ok();
                Ok((one, self.plan(&wish, &steps, &patience).await?))
            };
            let planned = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(UndoError::Stopped),
                planned = tokio::time::timeout(MAX_TIME, planning) => planned,
            };
            let (one, plan) = planned.unwrap_or_else(|_| Err(too_long()))?;
            let Plan {
                batch,
                removed,
                stay,
                undone,
                writing,
            } = plan;
            // What has begun goes to its end, and what was done is told.
            let leftovers = self.leftovers.clone();
            let done = tokio::task::spawn_blocking(move || {
                batch.apply_patiently(&leftovers, &patience)?;
                remove_empty(&removed, &stay);
                drop(writing);
                Ok::<(), String>(())
            });
            let done = done.await;
            drop(one);
            match done.map_err(|error| broken(&error))? {
                Ok(()) => Ok(undone),
                Err(_) if stop.is_cancelled() => Err(UndoError::Stopped),
                Err(error) => Err(not_done(format!(
                    "A file could not be put back, so none was: {error}."
                ))),
            }
        }
        .boxed()
    }
}

fn too_long() -> UndoError {
    not_done("It took too long; nothing was undone.")
}

fn not_done(text: impl Into<String>) -> UndoError {
    UndoError::NotDone(text.into())
}

/// Returns the error of a repository that does not do what it should.
fn broken(error: &dyn std::error::Error) -> UndoError {
    tracing::error!(error = chain(error), "a turn cannot be undone");
    not_done("The checkpoints cannot be read; nothing was undone. See the server's log.")
}

impl Checkpoints {
    /// Finds out what is to be done, without doing it.
    async fn plan(&self, wish: &RevertWish, steps: &[Kept], patience: &Patience) -> Result<Plan, UndoError> {
        let mut notes: Vec<String> = steps.iter().filter_map(|kept| note(&kept.step.kind)).collect();
        notes.dedup();
        if steps.is_empty() {
            let mark = forgotten(&wish.thread, wish.turn);
            let kept = self
                .git
                .run(Job::new(["rev-parse", "--verify", "--quiet", &mark], TIME))
                .await;
            if kept.is_ok() {
                return Err(not_done(
                    "What that turn changed is no longer kept: checkpoints are forgotten after 14 days, or earlier when \
                     they are many.",
                ));
            }
            notes.push("No change of a file is kept of this turn.".to_owned());
        }
        let fates: Vec<(PathBuf, Fate)> = fates(steps).into_iter().collect();
        let (left, fates): (Vec<_>, Vec<_>) = fates.into_iter().partition(|(_, fate)| fate.left.is_some());
        notes.extend(left_alone(&left, &wish.root));
        let fates = now(fates, patience.clone()).await?;
        let (mut back, mut changed, mut in_the_way) = (Vec::new(), Vec::new(), Vec::new());
        for (path, fate, now) in fates {
            match verdict(&fate, &now) {
                Verdict::Right => {}
                Verdict::Changed if wish.changed_since == ChangedSince::Refuse => {
                    changed.push(shown(&wish.root, &path));
                }
                Verdict::PutBack | Verdict::Changed => back.push((path, fate, now)),
                Verdict::InTheWay => in_the_way.push(shown(&wish.root, &path)),
            }
        }
        if !in_the_way.is_empty() {
            return Err(not_done(format!(
                "Something that is no ordinary file lies in the way, or a link leads elsewhere: {}. Nothing was undone.",
                in_the_way.iter().take(20).cloned().collect::<Vec<_>>().join(", ")
            )));
        }
        if !changed.is_empty() {
            return Err(UndoError::Changed(changed));
        }
        let files = back.iter().map(|(path, fate, _)| RevertedFile {
            path: shown(&wish.root, path),
            action: if fate.before.is_some() {
                RevertAction::Restored
            } else {
                RevertAction::Removed
            },
        });
        let undone = Undone {
            files: files.collect(),
            notes,
        };
        let removed = back.iter().filter(|(_, fate, _)| fate.before.is_none());
        let removed = removed.map(|(path, ..)| path.clone()).collect();
        let stay = steps
            .iter()
            .flat_map(|kept| kept.step.stay.iter().chain([&kept.step.root]))
            .map(super::ledger::Text::path)
            .collect();
        let paths = back.iter().map(|(path, ..)| path.clone()).collect();
        Ok(Plan {
            writing: self.windows.writing(None, paths),
            batch: self.batch(back).await?,
            removed,
            stay,
            undone,
        })
    }

    /// Reads all steps of a Turn. One that a crash has left open is not closed now: nobody could tell what has been
    /// changed since from what its call did.
    async fn ledger(&self, wish: &RevertWish) -> Result<Vec<Kept>, UndoError> {
        // Of a call that was dropped a moment ago.
        self.alive
            .until_nobody_works_at(&place(&wish.thread, wish.turn))
            .await;
        let names = self
            .steps(&wish.thread, wish.turn)
            .await
            .map_err(|error| broken(&error))?;
        let mut steps = Vec::with_capacity(names.len());
        for name in names {
            self.give_up(&name, "the server ended while it ran").await;
            match self.read(&name).await {
                Ok(kept) => steps.push(kept),
                // Forgotten meanwhile, or it cannot be given up.
                Err(GitError::Failed { .. }) => steps.extend(self.unreadable(&name, &wish.root).await),
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(steps)
    }

    /// Returns a step whose look is open and cannot be read: nobody knows what its call has changed.
    async fn unreadable(&self, name: &str, root: &Path) -> Option<Kept> {
        let name = name.to_owned();
        let read = self.of_open_looks(move |looks| looks.read(&name)).await;
        let forgotten = matches!(read, Ok(None));
        let why = "what is kept of it cannot be read".to_owned();
        (!forgotten).then(|| Kept {
            step: step("", root, Kind::Nothing { why }),
            entries: Vec::new(),
        })
    }

    /// Reads what is to be put back.
    async fn batch(&self, back: Vec<Back>) -> Result<Batch, UndoError> {
        let entries = || back.iter().filter_map(|(_, fate, _)| fate.before.as_ref());
        let blobs: Vec<&str> = entries().map(|entry| entry.blob.as_str()).collect();
        let sizes = self.sizes(&blobs).await.map_err(|error| broken(&error))?;
        let total = sizes.iter().map(|size| size.unwrap_or_default()).sum::<u64>();
        if total > MAX_BYTES {
            return Err(not_done(format!(
                "There are {} MiB to be put back, which is more than is done at once; nothing was undone.",
                total >> 20
            )));
        }
        let mut contents = Vec::with_capacity(blobs.len());
        let (mut from, mut bytes) = (0, 0);
        for at in 0..=blobs.len() {
            let size = sizes.get(at).copied().flatten().unwrap_or_default();
            if at == blobs.len() || bytes + size > CHUNK_BYTES {
                let chunk = self
                    .contents(&blobs[from..at])
                    .await
                    .map_err(|error| broken(&error))?;
                contents.extend(chunk);
                (from, bytes) = (at, 0);
            }
            bytes += size;
        }
        let mut contents = contents.into_iter();
        let mut batch = Batch::default();
        for (path, fate, now) in back {
            let content = fate
                .before
                .as_ref()
                .and_then(|entry| Some((entry.mode, contents.next()?)));
            let want = match content {
                None => Want::Gone,
                Some((FileMode::Link, target)) => Want::Link(target.into()),
                Some((FileMode::Program, content)) => Want::File(tools::Kind::Program, content.into()),
                Some((FileMode::Plain, content)) => Want::File(tools::Kind::Plain, content.into()),
            };
            batch.add(
                path,
                want,
                Box::new(move |found| Found::from(found.clone()).now() == now),
            );
        }
        Ok(batch)
    }
}

/// Adds what lies at each path now.
async fn now(fates: Vec<(PathBuf, Fate)>, patience: Patience) -> Result<Vec<Back>, UndoError> {
    let looking = tokio::task::spawn_blocking(move || {
        let look = |(path, fate): (PathBuf, Fate)| {
            let now = (!patience.is_over()).then(|| find(&path).now())?;
            Some((path, fate, now))
        };
        fates.into_iter().map(look).collect::<Option<Vec<_>>>()
    });
    let looked = looking.await.map_err(|error| broken(&error))?;
    looked.ok_or_else(too_long)
}

/// Returns sentences about files that are not touched.
fn left_alone(left: &[(PathBuf, Fate)], root: &Path) -> Vec<String> {
    let named = |why: Left| {
        let of_this = left.iter().filter(|(_, fate)| fate.left == Some(why));
        let mut names: Vec<String> = of_this.map(|(path, _)| shown(root, path)).collect();
        let more = names.len().saturating_sub(MAX_NAMED);
        names.truncate(MAX_NAMED);
        let mut text = names.join(", ");
        if more > 0 {
            // Writing to a String cannot fail.
            let _ = write!(text, " and {more} more");
        }
        text
    };
    let sentences = [
        (
            Left::Unseen,
            "Files that a command has changed or made, of which no earlier content is kept (git ignored them, or they \
             were too large or not readable), stay as they are",
        ),
        (
            Left::Theirs,
            "Files that another turn wrote while a command ran stay as they are",
        ),
    ];
    let sentences = sentences.into_iter().filter_map(|(why, text)| {
        let names = named(why);
        (!names.is_empty()).then(|| format!("{text}: {names}."))
    });
    sentences.collect()
}

/// Removes directories that are empty now that these files are gone, but for those that stay. Blocking.
fn remove_empty(removed: &[PathBuf], stay: &BTreeSet<PathBuf>) {
    for file in removed {
        for above in file.ancestors().skip(1) {
            if stay.contains(above) || remove_directory(above).is_err() {
                break;
            }
        }
    }
}

/// Returns what is to be told of a call of which nothing is kept.
fn note(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Nothing { why } => Some(format!("A call may have changed files that are still so: {why}.")),
        Kind::Files | Kind::Look => None,
    }
}

#[cfg(test)]
#[path = "revert_tests.rs"]
mod tests;
