//! What the core calls when a Turn is to be undone.
//!
//! Reads the Turn's ledger, compares what lies at each path with what the Turn left there, and puts everything back as
//! one. One undoing at a time; [`MAX_TIME`] in all. Links on the way to a file, which may have come since, are not
//! followed.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_core::undo::{ChangedSince, RevertWish, Undo, UndoError, Undone};
use bobbin_model::{RevertAction, RevertedFile};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::git::{GitError, Job};
use super::ledger::{Entry, Fate, FileMode, Kept, Kind, Now, Verdict, fates, verdict};
use super::shadow::{CHUNK_BYTES, Checkpoints, LookError, TIME, chain, forgotten};
use super::survey::MAX_FILE_BYTES;
use super::windows::digest;
use crate::tools::{self, Batch, Want, is_direct, shown};

/// Longest undoing.
const MAX_TIME: Duration = Duration::from_mins(1);
/// Most bytes put back at once: they are in memory together.
const MAX_BYTES: u64 = 4 * CHUNK_BYTES;

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    File(FileMode, Vec<u8>),
    /// Nothing that is kept: a directory, a device, a file that is too large or may not be read.
    Other,
}

/// Reads what lies at a path. Blocking.
pub(super) fn find(path: &Path) -> Found {
    match kind_of(path) {
        Ok(None) => Found::Nothing,
        Ok(Some(FileMode::Link)) => match std::fs::read_link(path) {
            Ok(target) => Found::File(FileMode::Link, target.as_os_str().as_bytes().to_vec()),
            Err(_) => Found::Other,
        },
        Ok(Some(mode)) => match std::fs::read(path) {
            Ok(content) => Found::File(mode, content),
            Err(_) => Found::Other,
        },
        Err(_) => Found::Other,
    }
}

/// Returns what kind of file lies at a path.
fn kind_of(path: &Path) -> io::Result<Option<FileMode>> {
    match std::fs::symlink_metadata(path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
        Ok(about) if about.is_symlink() => Ok(Some(FileMode::Link)),
        Ok(about) if about.is_file() && about.len() <= MAX_FILE_BYTES => {
            let runs = about.permissions().mode() & 0o100 != 0;
            Ok(Some(if runs { FileMode::Program } else { FileMode::Plain }))
        }
        Ok(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

impl Undo for Checkpoints {
    fn revert(&self, wish: RevertWish) -> BoxFuture<'_, Result<Undone, UndoError>> {
        async move {
            tokio::time::timeout(MAX_TIME, self.undo(&wish))
                .await
                .unwrap_or_else(|_| Err(not_done("It took too long; nothing was undone.")))
        }
        .boxed()
    }
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
    async fn undo(&self, wish: &RevertWish) -> Result<Undone, UndoError> {
        let steps = self.ledger(wish).await?;
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
        let fates: Vec<(PathBuf, Fate)> = fates(&steps).into_iter().collect();
        let now = self.now(&fates).await.map_err(|error| broken(&error))?;
        let (mut back, mut changed, mut in_the_way) = (Vec::new(), Vec::new(), Vec::new());
        for ((path, fate), now) in fates.iter().zip(&now) {
            let name = || shown(&wish.root, path);
            match verdict(fate, now) {
                Verdict::Right => {}
                Verdict::PutBack => back.push((path, fate)),
                Verdict::Changed if wish.changed_since == ChangedSince::Overwrite => back.push((path, fate)),
                Verdict::Changed => changed.push(name()),
                Verdict::InTheWay => in_the_way.push(name()),
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
        self.put_back(&back, &steps).await?;
        let files = back.iter().map(|(path, fate)| RevertedFile {
            path: shown(&wish.root, path),
            action: if fate.before.is_some() {
                RevertAction::Restored
            } else {
                RevertAction::Removed
            },
        });
        Ok(Undone {
            files: files.collect(),
            notes,
        })
    }

    /// Reads all steps of a Turn, after closing those that a crash or a dropped call has left open.
    async fn ledger(&self, wish: &RevertWish) -> Result<Vec<Kept>, UndoError> {
        let whose = (wish.thread.clone(), wish.turn);
        let names = self
            .steps(&wish.thread, wish.turn)
            .await
            .map_err(|error| broken(&error))?;
        let mut steps = Vec::with_capacity(names.len());
        for name in names {
            match self.close(&name, &whose, None, None).await {
                Ok(_) => {}
                Err(LookError::TooMuch(why)) => {
                    return Err(not_done(format!(
                        "What its last call has changed is not known, since {why}; nothing was undone."
                    )));
                }
                Err(LookError::Git(error)) => return Err(broken(&error)),
            }
            match self.read(&name).await {
                Ok((kept, _)) => steps.push(kept),
                // Closed without a change.
                Err(GitError::Failed { .. }) => {}
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(steps)
    }

    /// Returns what lies at each path now.
    async fn now(&self, fates: &[(PathBuf, Fate)]) -> Result<Vec<Now>, GitError> {
        let paths: Vec<PathBuf> = fates.iter().map(|(path, _)| path.clone()).collect();
        let kinds = tokio::task::spawn_blocking(move || {
            let kind = |path: PathBuf| {
                let kind = if is_direct(&path) {
                    kind_of(&path).ok()
                } else {
                    None
                };
                let target = matches!(kind, Some(Some(FileMode::Link))).then(|| {
                    std::fs::read_link(&path)
                        .unwrap_or_default()
                        .as_os_str()
                        .as_bytes()
                        .to_vec()
                });
                (path, kind, target)
            };
            paths.into_iter().map(kind).collect::<Vec<_>>()
        });
        let kinds = kinds
            .await
            .map_err(|_| GitError::Pipe(io::ErrorKind::Other.into()))?;
        let is_ordinary =
            |kind: &Option<Option<FileMode>>| matches!(kind, Some(Some(FileMode::Plain | FileMode::Program)));
        // A line break in a name would be two names.
        let ordinary = kinds
            .iter()
            .filter(|(path, kind, _)| is_ordinary(kind) && is_one_line(path));
        let ordinary: Vec<PathBuf> = ordinary.map(|(path, ..)| path.clone()).collect();
        let mut names = self.names_of(&ordinary).await?.into_iter();
        let mut all = Vec::with_capacity(kinds.len());
        for (path, kind, target) in kinds {
            all.push(match (kind, target) {
                (None, _) => Now::Other,
                (Some(None), _) => Now::Nothing,
                (Some(Some(mode)), Some(target)) => {
                    let blob = self.name_of(target).await?;
                    Now::File(Entry { mode, blob })
                }
                (Some(Some(mode)), None) => {
                    let blob = if is_one_line(&path) {
                        names.next().unwrap_or_default()
                    } else {
                        self.name_of(tokio::fs::read(&path).await?).await?
                    };
                    Now::File(Entry { mode, blob })
                }
            });
        }
        Ok(all)
    }

    async fn put_back(&self, back: &[(&PathBuf, &Fate)], steps: &[Kept]) -> Result<(), UndoError> {
        let entries = || back.iter().filter_map(|(_, fate)| fate.before.as_ref());
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
        for (path, fate) in back {
            let content = fate
                .before
                .as_ref()
                .and_then(|entry| Some((entry.mode, contents.next()?)));
            let now = content.as_ref().map(|(_, content)| digest(content));
            self.windows.lock().wrote(None, path, now);
            let want = match content {
                None => Want::Gone,
                Some((FileMode::Link, target)) => Want::Link(target.into()),
                Some((FileMode::Program, content)) => Want::File(tools::Kind::Program, content.into()),
                Some((FileMode::Plain, content)) => Want::File(tools::Kind::Plain, content.into()),
            };
            batch.add((*path).clone(), want);
        }
        let removed = back.iter().filter(|(_, fate)| fate.before.is_none());
        let removed: Vec<PathBuf> = removed.map(|(path, _)| (*path).clone()).collect();
        let stay: BTreeSet<PathBuf> = steps
            .iter()
            .flat_map(|kept| kept.step.stay.iter().chain([&kept.step.root]))
            .map(super::ledger::Text::path)
            .collect();
        tokio::task::spawn_blocking(move || {
            batch.apply()?;
            remove_empty(&removed, &stay);
            Ok::<(), String>(())
        })
        .await
        .map_err(|error| broken(&error))?
        .map_err(|error| not_done(format!("A file could not be put back, so none was: {error}.")))
    }
}

/// Removes directories that are empty now that these files are gone, but for those that stay. Blocking.
fn remove_empty(removed: &[PathBuf], stay: &BTreeSet<PathBuf>) {
    for file in removed {
        for above in file.ancestors().skip(1) {
            if stay.contains(above) || std::fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
}

fn is_one_line(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b'\n')
}

/// Returns what is to be told of a call of which nothing is kept.
fn note(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Nothing { why } => Some(format!("A call may have changed files that are still so: {why}.")),
        Kind::Files | Kind::Look => None,
    }
}
