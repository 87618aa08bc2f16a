//! Resolves a path that a model wrote, and decides whether a call may use it.
//!
//! A path is resolved against the root with every symbolic link followed *before* the workspace check, so a link out of
//! the workspace counts as outside. Missing parts are taken literally; a dangling link counts as the place it points
//! to.
//!
//! The check and the use are two moments. A call confirms its [`Target`] again right before it acts, and then uses the
//! resolved path, which has no link left to follow. A process that swaps a directory for a link within those
//! microseconds can still win, as it could by acting itself.
//!
//! Blocking, but only a `stat` per path part. Bounded by [`MAX_PATH_BYTES`] and [`MAX_LINKS`].

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::{Judgement, PathAccess};
use bobbin_agent_api::tool::{OutsideWorkspace, Permission, ToolEnvironment, ToolRefusal};
use bobbin_files::shown;
use bobbin_model::{ApprovalKind, Scope};

use super::reserved::{Reserved, is_reserved};

/// Longest path text, bytes (Linux' `PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;

/// Most links followed in one path (as in Linux).
const MAX_LINKS: usize = 40;

/// What a call does with a path; the words of AppServer protocol 04 §1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads a file.
    Read,
    /// It lists a directory.
    List,
    /// It writes a whole file.
    Write,
    /// It changes a part of a file.
    Edit,
}

impl Access {
    fn operation(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::Edit => "edit",
        }
    }

    fn sentence(self, place: &str) -> String {
        match self {
            Self::Read => format!("The agent wants to read {place}."),
            Self::List => format!("The agent wants to list {place}."),
            Self::Write | Self::Edit => format!("The agent wants to change {place}."),
        }
    }

    fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Edit)
    }
}

/// Which part of the machine a resolved path lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In the workspace.
    Inside,
    /// In a `.git` or `.craft` of the workspace: hooks run programs, and the server keeps its state and keys there.
    Reserved,
    /// Elsewhere.
    Outside,
}

/// A resolved path that a call was checked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    root: PathBuf,
    text: String,
    path: PathBuf,
}

impl Target {
    /// Returns the path for display: relative to the workspace if it is inside.
    pub fn shown(&self) -> String {
        shown(&self.root, &self.path)
    }

    /// Returns the resolved path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Resolves the path once more, right before its use.
    ///
    /// # Errors
    /// The path leads elsewhere now; the text is for the model.
    pub fn confirm(&self) -> Result<&Path, String> {
        match resolve(&self.root, &self.text) {
            Ok(path) if path == self.path => Ok(&self.path),
            Ok(_) => Err(format!(
                "{} leads elsewhere since it was checked; nothing was done",
                self.text
            )),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

impl Target {
    /// Resolves the path once more off the async threads; `None` when it leads elsewhere now.
    pub async fn confirmed(&self) -> Option<PathBuf> {
        let target = self.clone();
        let confirm = move || target.confirm().ok().map(Path::to_path_buf);
        tokio::task::spawn_blocking(confirm).await.ok()?
    }
}

/// Resolves a path for a call and returns the permission that the call needs for it.
///
/// # Errors
/// The path cannot be resolved, or no user may give that permission.
pub fn locate(
    environment: &ToolEnvironment,
    text: &str,
    access: Access,
) -> Result<(Target, Permission), ToolRefusal> {
    let root = &environment.root;
    let text = &*expanded(text, environment.policy.home())?;
    let trace = trace(root, text, None)?;
    let standing = Reserved::of(root).standing(&trace);
    let is_output = environment.policy.is_output(&trace.path) && !trace.through_reserved;
    let path = trace.path;
    let ask = |place: &str| Permission::Ask {
        scope: Scope::new(ApprovalKind::File, access.operation(), path.to_string_lossy()),
        reason: access.sentence(place),
    };
    let used = if access.changes() {
        PathAccess::Write
    } else {
        PathAccess::Read
    };
    let ruling = environment.policy.path(used, &path, root);
    let said = ruling.as_ref().map(|ruling| ruling.judgement);
    let rule_asks = ruling
        .as_ref()
        .is_some_and(|ruling| ruling.judgement == Judgement::Ask && ruling.rule.is_some());
    if let Some(ruling) = ruling.filter(|ruling| ruling.judgement == Judgement::Deny) {
        return Err(ToolRefusal::denied(ruling.reason));
    }
    let permission = match standing {
        Standing::Inside if rule_asks => ask("a file that a rule speaks of"),
        Standing::Inside if said == Some(Judgement::Ask) => ask("a file that may have secrets in it"),
        Standing::Inside => Permission::Free,
        Standing::Reserved if access.changes() => {
            return Err(ToolRefusal::denied(format_args!(
                "{text} belongs to git or to the server and cannot be changed by a tool"
            )));
        }
        Standing::Reserved if said == Some(Judgement::Allow) => Permission::Free,
        Standing::Reserved => ask("a file that belongs to git or to the server"),
        Standing::Outside if !access.changes() && said.is_none() && is_output => Permission::Free,
        Standing::Outside => match environment.outside_workspace {
            OutsideWorkspace::Ask if said == Some(Judgement::Allow) => Permission::Free,
            OutsideWorkspace::Ask => ask("a file outside the workspace"),
            OutsideWorkspace::Refuse => {
                return Err(ToolRefusal::denied(format_args!(
                    "{text} is outside the workspace, where this thread may not go"
                )));
            }
        },
    };
    let permission = match permission {
        // No earlier answer removes a question that a rule asks.
        Permission::Ask { scope, reason } if rule_asks => Permission::Ask {
            scope: scope.once(),
            reason,
        },
        permission => permission,
    };
    let target = Target {
        root: root.clone(),
        text: text.to_owned(),
        path,
    };
    Ok((target, permission))
}

/// Returns a path with `~` replaced by the user's home. A file of that name is `./~`.
///
/// # Errors
/// There is no home.
fn expanded<'a>(text: &'a str, home: Option<&Path>) -> Result<Cow<'a, str>, ToolRefusal> {
    let Some(rest) = text
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
    else {
        return Ok(text.into());
    };
    match home.and_then(Path::to_str) {
        Some(home) => Ok(format!("{home}{rest}").into()),
        None => Err(ToolRefusal::Unusable(format!(
            "{text} begins with ~, and there is no home; give the whole path, or ./~ for a file of that name"
        ))),
    }
}

/// Resolves a path against an absolute root that is free of symbolic links.
///
/// # Errors
/// The path is empty, too long, runs through a file, a loop or a directory that may not be read.
pub fn resolve(root: &Path, text: &str) -> Result<PathBuf, ToolRefusal> {
    trace(root, text, None).map(|trace| trace.path)
}

/// Resolves a path as [`resolve`] does, and reports what the way passed. `stands` is the cwd of the process for which
/// the path is resolved; it replaces the process's own directory in `/proc`.
///
/// # Errors
/// As [`resolve`].
pub fn trace(root: &Path, text: &str, stands: Option<&Path>) -> Result<Trace, ToolRefusal> {
    if text.is_empty() || text.len() > MAX_PATH_BYTES || text.contains('\0') {
        return Err(ToolRefusal::Unusable(format!(
            "a path has 1 to {MAX_PATH_BYTES} bytes and no zero byte"
        )));
    }
    real_path(&root.join(text), stands)
        .map_err(|error| ToolRefusal::Unusable(format!("cannot resolve {text}: {error}")))
}

/// A resolved path, and what the way to it passed.
#[derive(Debug)]
pub struct Trace {
    /// Absolute, every link followed.
    pub path: PathBuf,
    /// Whether a link named `.git` or `.craft` was followed.
    pub through_reserved: bool,
    /// Whether the way passed through `/proc` or `/dev/fd`, which differ for each process.
    pub through_processes: bool,
}

pub(super) fn real_path(path: &Path, stands: Option<&Path>) -> io::Result<Trace> {
    let parts = |path: &Path| -> Vec<OsString> { path.iter().map(ToOwned::to_owned).collect() };
    let mut rest: VecDeque<OsString> = parts(path).into();
    let mut real = PathBuf::from("/");
    let mut links = 0;
    let (mut through_reserved, mut through_processes) = (false, false);
    while let Some(part) = rest.pop_front() {
        match part.to_str() {
            Some("/") => real = PathBuf::from("/"),
            Some(".") => {}
            Some("..") => {
                real.pop();
            }
            _ => {
                let next = real.join(&part);
                match std::fs::symlink_metadata(&next) {
                    Ok(found) if found.is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::other("too many symbolic links"));
                        }
                        through_reserved |= is_reserved(&part);
                        let to = match stands {
                            Some(stands) if part == "cwd" && real.starts_with("/proc") => stands.to_owned(),
                            _ => std::fs::read_link(&next)?,
                        };
                        for part in parts(&to).into_iter().rev() {
                            rest.push_front(part);
                        }
                    }
                    Ok(_) => real = next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => real = next,
                    Err(error) => return Err(error),
                }
            }
        }
        through_processes |= real.starts_with("/proc") || real.starts_with("/dev/fd");
    }
    Ok(Trace {
        path: real,
        through_reserved,
        through_processes,
    })
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
