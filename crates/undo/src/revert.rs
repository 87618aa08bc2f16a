//! An undo: compares each path with the state that the Turn left, and restores all files together.
//!
//! One undo at a time. [`MAX_TIME`] applies until the first file is touched; after that, the undo always completes. A
//! file is restored only if it is still as it was when compared. Links on the way to a file, which may be new, are not
//! followed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bobbin_agent_api::tool::Touches;
use bobbin_agent_api::undo::{
    ChangedSince, FileChanges, NotRecorded, OpenCall, RecordedTurn, RevertRequest, Undo, UndoError, Undone,
};
use bobbin_files::{Batch, FileState, Kind, MAX_FILE_BYTES, Want, find, remove_directory, shown};
use bobbin_model::{RevertAction, RevertedFile};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::calls::mode_of;
use crate::contents::CHUNK_BYTES;
use crate::objects::{Digest, FileMode, ObjectKind, StoredFile};
use crate::plan::{NetChange, NetChanges, Now, Step, Verdict, net_changes, turn_around, verdict};
use crate::repository::{FileUndo, chain};
use crate::steps::turn_refs;

/// Longest undo before the first file is touched.
const MAX_TIME: Duration = Duration::from_mins(1);
/// Most bytes restored at once: they are in memory together.
const MAX_BYTES: u64 = 4 * CHUNK_BYTES;
/// Most files named in a sentence.
const MAX_NAMED: usize = 20;
/// How much later than the clock the time of a new file may be (guess: two ticks of the slowest kernel's clock).
const TICK: Duration = Duration::from_millis(20);

/// A file to be restored, with the present state of its path.
type Back = (PathBuf, NetChange, Now);

/// The steps of an undo.
struct Plan {
    batch: Batch,
    /// Files to be removed, and when the call that made each started.
    removed: Vec<(PathBuf, i64)>,
    /// All files.
    paths: Vec<PathBuf>,
    root: PathBuf,
    undone: Undone,
}

impl Undo for FileUndo {
    fn prepare(&self, root: &Path) {
        self.start_first_snapshot(root);
    }

    fn begin(
        &self,
        turn: RecordedTurn,
        touches: Touches,
    ) -> BoxFuture<'_, Result<Box<dyn OpenCall>, NotRecorded>> {
        self.start_call(turn, touches).boxed()
    }

    fn resume(&self, turn: RecordedTurn) -> BoxFuture<'_, FileChanges> {
        self.resume_turn(turn).boxed()
    }

    fn revert(
        &self,
        request: RevertRequest,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Undone, UndoError>> {
        async move {
            let until = Instant::now() + MAX_TIME;
            let planning = async {
                // A call that was dropped a moment ago is recorded first.
                self.0.closing.wait().await;
                // The semaphore is never closed.
                let one = self.0.undoing.acquire().await.ok();
                let plan = self.plan(&request, until).await?;
                let recorded = self.0.start_undo(plan.paths.clone()).await.map_err(not_done)?;
                Ok((one, recorded, plan))
            };
            let planned = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(UndoError::Stopped),
                planned = tokio::time::timeout(MAX_TIME, planning) => planned,
            };
            let (one, recorded, plan) = planned.unwrap_or_else(|_| Err(too_long()))?;
            let Plan {
                batch,
                removed,
                root,
                undone,
                ..
            } = plan;
            // A started undo completes, and its result is reported.
            let (leftovers, stopped) = (self.0.leftovers.clone(), stop.clone());
            let done = tokio::task::spawn_blocking(move || {
                batch.apply_unless(&leftovers, || stopped.is_cancelled() || Instant::now() >= until)?;
                remove_empty(&removed, &root);
                Ok::<(), String>(())
            });
            let done = done.await;
            drop((one, recorded));
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

/// Returns the error for a failing repository.
fn broken(error: &dyn std::error::Error) -> UndoError {
    tracing::error!(error = chain(error), "a turn cannot be undone");
    not_done("The snapshots cannot be read; nothing was undone. See the server's log.")
}

impl FileUndo {
    /// Plans the undo without changing anything.
    async fn plan(&self, request: &RevertRequest, until: Instant) -> Result<Plan, UndoError> {
        let (steps, others) = self.steps_of(request).await?;
        let mut notes: Vec<String> = steps
            .iter()
            .filter_map(|step| step.skipped.as_ref())
            .map(|why| format!("A call may have changed files that are still so: {why}."))
            .collect();
        notes.dedup();
        if steps.is_empty() {
            notes.push(
                "No change of a file is recorded of this turn; changes are kept for 14 days.".to_owned(),
            );
        }
        let NetChanges { mut files, theirs } = net_changes(&steps, &others);
        if request.redo {
            let unknown = turn_around(&mut files);
            if !unknown.is_empty() {
                notes.push(format!(
                    "The server ended while these files were changed, so that their state after the turn is not known: {}.",
                    named(&unknown, &request.root)
                ));
            }
        }
        let found = tokio::task::spawn_blocking(move || now(files, until));
        let found = found.await.map_err(|error| broken(&error))?;
        let found = found.ok_or_else(too_long)?;
        let (mut back, mut changed, mut in_the_way, mut older) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (path, fate, now, is_older) in found {
            match verdict(&fate, &now) {
                Verdict::Right => {}
                _ if is_older => older.push(path),
                Verdict::InTheWay => in_the_way.push(path),
                Verdict::Changed if request.changed_since == ChangedSince::Refuse => {
                    changed.push(shown(&request.root, &path));
                }
                Verdict::PutBack | Verdict::Changed => back.push((path, fate, now)),
            }
        }
        if !in_the_way.is_empty() {
            return Err(not_done(format!(
                "Something that is no ordinary file lies in the way, or a link leads elsewhere: {}. Nothing was undone.",
                named(&in_the_way, &request.root)
            )));
        }
        if !changed.is_empty() {
            return Err(UndoError::Changed(changed));
        }
        if !older.is_empty() {
            notes.push(format!(
                "Files that are older than the command that seems to have made them stay: {}.",
                named(&older, &request.root)
            ));
        }
        if !theirs.is_empty() {
            notes.push(format!(
                "Files that another turn wrote while a command ran stay as they are: {}.",
                named(&theirs, &request.root)
            ));
        }
        let files = back.iter().map(|(path, fate, _)| RevertedFile {
            path: shown(&request.root, path),
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
        Ok(Plan {
            removed: removed
                .map(|(path, fate, _)| (path.clone(), fate.since))
                .collect(),
            paths: back.iter().map(|(path, ..)| path.clone()).collect(),
            batch: self.batch(back).await?,
            root: request.root.clone(),
            undone,
        })
    }

    /// Reads all steps of a Turn, and possibly concurrent ones of others.
    async fn steps_of(&self, request: &RevertRequest) -> Result<(Vec<Step>, Vec<Step>), UndoError> {
        let refs = turn_refs(&request.thread, request.turn);
        let all = self.0.steps().await.map_err(|error| broken(&error))?;
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|step| step.turn == refs);
        let beside = others
            .into_iter()
            .filter(|other| other.after.is_some() && own.iter().any(|step| step.overlaps(other)));
        let beside: Vec<_> = beside.collect();
        let own = self.0.read(&own).await.map_err(|error| broken(&error))?;
        let beside = self.0.read(&beside).await.map_err(|error| broken(&error))?;
        Ok((own, beside))
    }

    /// Reads the contents to be restored.
    async fn batch(&self, back: Vec<Back>) -> Result<Batch, UndoError> {
        let entries = || back.iter().filter_map(|(_, fate, _)| fate.before.as_ref());
        let blobs: Vec<String> = entries().map(|entry| entry.blob.to_string()).collect();
        let sizes = self.0.sizes(&blobs).await.map_err(|error| broken(&error))?;
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
                let chunk = self.0.contents(&blobs[from..at]).await;
                contents.extend(chunk.map_err(|error| broken(&error))?);
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
                Some((FileMode::Program, content)) => Want::File(Kind::Program, content.into()),
                Some((FileMode::Plain, content)) => Want::File(Kind::Plain, content.into()),
            };
            batch.add(path, want, Box::new(move |found| is_now(found) == now));
        }
        Ok(batch)
    }
}

/// Adds the present state of each path, and whether it is older than the call that seems to have made it. `None` after
/// a timeout. Blocking.
fn now(
    files: impl IntoIterator<Item = (PathBuf, NetChange)>,
    until: Instant,
) -> Option<Vec<(PathBuf, NetChange, Now, bool)>> {
    let look = |(path, fate): (PathBuf, NetChange)| {
        let now = (Instant::now() < until).then(|| is_now(&find(&path, MAX_FILE_BYTES)))?;
        let is_older = fate.may_be_older
            && now != Now::Nothing
            && made_at(&path).is_none_or(|at| at < since(fate.since));
        Some((path, fate, now, is_older))
    };
    files.into_iter().map(look).collect()
}

/// Returns a state in terms of the name that its content has, or would have, in the repository.
fn is_now(found: &FileState) -> Now {
    let file = |mode, content: &[u8]| {
        Now::File(StoredFile {
            mode,
            blob: Digest::of(ObjectKind::Blob, content),
        })
    };
    match found {
        FileState::Nothing => Now::Nothing,
        FileState::File(mode, content) => file(mode_of(*mode), content),
        FileState::Link(target) => file(FileMode::Link, target),
        FileState::Unread(stamp) => Now::Unread(*stamp),
        FileState::Other => Now::Other,
    }
}

/// Returns a file's creation time; if the file system has none, its last change.
fn made_at(path: &Path) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt as _;
    let about = std::fs::symlink_metadata(path).ok()?;
    let changed = || {
        let (seconds, nanos) = (
            u64::try_from(about.ctime()).ok()?,
            u32::try_from(about.ctime_nsec()).ok()?,
        );
        Some(UNIX_EPOCH + Duration::new(seconds, nanos))
    };
    about.created().ok().or_else(changed)
}

/// Returns the earliest time that a file made after a step's start can have.
fn since(start: i64) -> SystemTime {
    (UNIX_EPOCH + Duration::from_millis(u64::try_from(start).unwrap_or_default())) - TICK
}

/// Removes directories that calls made and that are now empty. Blocking.
fn remove_empty(removed: &[(PathBuf, i64)], root: &Path) {
    for (file, start) in removed {
        for parent in file.ancestors().skip(1) {
            let made = std::fs::symlink_metadata(parent).and_then(|about| about.created());
            let is_new = parent != root && made.is_ok_and(|made| made >= since(*start));
            if !is_new || remove_directory(parent).is_err() {
                break;
            }
        }
    }
}

/// Returns the names of the first files.
fn named(paths: &[PathBuf], root: &Path) -> String {
    let names: Vec<String> = paths
        .iter()
        .take(MAX_NAMED)
        .map(|path| shown(root, path))
        .collect();
    let mut text = names.join(", ");
    let more = paths.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        // Writing to a String cannot fail.
        let _ = write!(text, " and {more} more");
    }
    text
}

#[cfg(test)]
#[path = "revert_tests.rs"]
mod tests;
