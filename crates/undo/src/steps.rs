//! The refs of calls: they name the objects with the files before a call and after it.
//!
//! A step is one call, `refs/undo/THREAD/TURN/SLOT/`, where the slot is its start time. It has these refs:
//!
//! * `files` (a list of files, see [`crate::objects::list`]) or `workspace-NAME` (a tree of the workspace of that
//!   name): the state before;
//! * `after-MILLIS`: the state after the call, and its time; missing while the call runs, and after a crash;
//! * `skipped`: a text that says why one of the two is missing.
//!
//! [`Repository::write_ref`] writes the refs as files: recording a call needs no run of git by itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_model::{ThreadId, TurnId};

use crate::contents::MAX_NAMES;
use crate::git::{GitError, Job};
use crate::objects::{ObjectKind, listed, write_object};
use crate::plan::{After, Change, Step};
use crate::repository::{Repository, TIME};

/// The refs of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepRefs {
    /// Name of the Turn's refs, with a `/` at the end.
    pub(crate) turn: String,
    /// Name of its own, with a `/` at the end.
    pub(crate) name: String,
    /// When it started, in milliseconds since 1970.
    pub(crate) start: i64,
    pub(crate) before: Option<Before>,
    /// The time after the call, and the state then.
    pub(crate) after: Option<(i64, String)>,
    /// The object with the text on what is missing.
    pub(crate) skipped: Option<String>,
}

/// The state before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// Name of a list of files.
    Files(String),
    /// Name of a workspace, and of a tree of it.
    Workspace(String, String),
}

impl StepRefs {
    /// Returns whether the end of the call is unknown.
    pub(crate) fn is_open(&self) -> bool {
        self.before.is_some() && self.after.is_none() && self.skipped.is_none()
    }

    /// Returns the names of its refs.
    pub(crate) fn names(&self) -> Vec<String> {
        let before = self.before.as_ref().map(|before| match before {
            Before::Files(_) => "files".to_owned(),
            Before::Workspace(workspace, _) => format!("workspace-{workspace}"),
        });
        let after = self.after.as_ref().map(|(at, _)| format!("after-{at:013}"));
        let skipped = self.skipped.as_ref().map(|_| "skipped".to_owned());
        let leaves = [before, after, skipped].into_iter().flatten();
        leaves.map(|leaf| format!("{}{leaf}", self.name)).collect()
    }

    /// Returns whether the two steps may have been concurrent.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let end = |step: &Self| step.after.as_ref().map_or(i64::MAX, |(at, _)| *at);
        self.start <= end(other) && other.start <= end(self)
    }
}

impl Repository {
    /// Returns all steps, in the order in which they started.
    ///
    /// # Errors
    /// Any [`GitError`].
    pub(crate) async fn steps(&self) -> Result<Vec<StepRefs>, GitError> {
        let args = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/undo/"];
        let said = self.git.run(Job::new(args, TIME).up_to(MAX_NAMES)).await?;
        let said = String::from_utf8_lossy(&said);
        let mut steps: BTreeMap<&str, StepRefs> = BTreeMap::new();
        for line in said.lines() {
            let Some((object, name)) = line.split_once(' ') else {
                continue;
            };
            let Some((step, leaf)) = name.rsplit_once('/') else {
                continue;
            };
            let Some((turn, slot)) = step.rsplit_once('/') else {
                continue;
            };
            let Ok(slot) = slot.parse::<i64>() else { continue };
            let step = steps.entry(step).or_insert_with(|| StepRefs {
                turn: format!("{turn}/"),
                name: format!("{step}/"),
                start: slot / 1_000,
                before: None,
                after: None,
                skipped: None,
            });
            let object = object.to_owned();
            if let Some(at) = leaf.strip_prefix("after-").and_then(|at| at.parse().ok()) {
                step.after = Some((at, object));
            } else if let Some(workspace) = leaf.strip_prefix("workspace-") {
                step.before = Some(Before::Workspace(workspace.to_owned(), object));
            } else if leaf == "files" {
                step.before = Some(Before::Files(object));
            } else if leaf == "skipped" {
                step.skipped = Some(object);
            }
        }
        let mut steps: Vec<StepRefs> = steps.into_values().collect();
        steps.sort_by(|one, other| (one.start, &one.name).cmp(&(other.start, &other.name)));
        Ok(steps)
    }

    /// Reads the changes of calls.
    ///
    /// # Errors
    /// Any [`GitError`]; also if an object was not written by this crate.
    pub(crate) async fn read(self: &Arc<Self>, steps: &[StepRefs]) -> Result<Vec<Step>, GitError> {
        let mut objects = Vec::new();
        let mut pairs = Vec::new();
        for step in steps {
            objects.extend(step.skipped.clone());
            match (&step.before, &step.after) {
                (Some(Before::Files(before)), after) => {
                    objects.push(before.clone());
                    objects.extend(after.as_ref().map(|(_, after)| after.clone()));
                }
                (Some(Before::Workspace(_, before)), Some((_, after))) => {
                    pairs.push((before.clone(), after.clone()));
                }
                _ => {}
            }
        }
        let mut objects = self.contents(&objects).await?.into_iter();
        let mut differences = self.differences(&pairs).await?.into_iter();
        let broken = || GitError::Pipe(std::io::ErrorKind::InvalidData.into());
        let mut next = || objects.next().ok_or_else(broken);
        let mut read = Vec::with_capacity(steps.len());
        for step in steps {
            let skipped = match &step.skipped {
                Some(_) => Some(String::from_utf8_lossy(&next()?).into_owned()),
                None if step.is_open() => Some("the server ended while it ran".to_owned()),
                None => None,
            };
            let changes: Vec<Change> = match (&step.before, &step.after) {
                (Some(Before::Files(_)), after) => {
                    let before = listed(&next()?).ok_or_else(broken)?;
                    let after = match after {
                        Some(_) => Some(listed(&next()?).ok_or_else(broken)?),
                        None => None,
                    };
                    let mut after: BTreeMap<_, _> = after.into_iter().flatten().collect();
                    let change = |(path, before)| Change {
                        after: match step.after {
                            Some(_) => After::Known(after.remove(&path).flatten()),
                            None => After::Unknown,
                        },
                        path,
                        before,
                    };
                    before.into_iter().map(change).collect()
                }
                (Some(Before::Workspace(name, _)), Some(_)) => {
                    let root = self.root_of(name).await?;
                    let change = |(path, before, after)| Change {
                        path: root.join(path),
                        before,
                        after: After::Known(after),
                    };
                    differences
                        .next()
                        .ok_or_else(broken)?
                        .into_iter()
                        .map(change)
                        .collect()
                }
                _ => Vec::new(),
            };
            read.push(Step {
                refs: step.clone(),
                changes,
                // If a tool named its files, their changes are known.
                skipped: skipped.filter(|_| !matches!(step.before, Some(Before::Files(_)))),
            });
        }
        Ok(read)
    }

    /// Returns the root of a workspace by its name.
    pub(crate) async fn root_of(&self, name: &str) -> std::io::Result<PathBuf> {
        let path = self.git.directory().join("roots").join(name);
        Ok(PathBuf::from(OsString::from_vec(tokio::fs::read(path).await?)))
    }

    /// Writes a text and a ref to it. Blocking.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write_skipped(&self, step: &str, why: &str) -> std::io::Result<()> {
        let text = write_object(self.git.directory(), ObjectKind::Blob, why.as_bytes())?;
        self.write_ref(&format!("{step}skipped"), &text.to_string())
    }
}

/// Returns the prefix of a Turn's refs.
pub(crate) fn turn_refs(thread: &ThreadId, turn: TurnId) -> String {
    let mut text = String::from("refs/undo/t-");
    for byte in thread.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            text.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "-{byte:02x}");
        }
    }
    // Writing to a String cannot fail.
    let _ = write!(text, "/{:08}/", turn.0);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_refs_that_git_takes() {
        let refs = turn_refs(&ThreadId::new("thread_1/..é"), TurnId(7));
        assert_eq!(refs, "refs/undo/t-thread_1-2f-2e-2e-c3-a9/00000007/");
    }
}
