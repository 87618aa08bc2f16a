//! Resolves paths: every symbolic link is followed before a path is judged, so a link out of the workspace counts as outside.
//!
//! Missing parts are taken literally; a dangling link counts as the place it points to. Blocking, but only a `stat` per path
//! part. Bounded by [`MAX_PATH_BYTES`] and [`MAX_LINKS`].

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use bobbin_agent_api::tool::ToolRefusal;

use crate::reserved::is_reserved;

/// Longest path text, bytes (Linux' `PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;

/// Most links followed in one path (as in Linux).
pub(crate) const MAX_LINKS: usize = 40;

/// The part of the machine in which a resolved path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceStatus {
    /// In the workspace.
    Inside,
    /// In a `.git` or `.craft` of the workspace: hooks run programs, and the server stores its state and keys there.
    Reserved,
    /// Elsewhere.
    Outside,
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
    /// The names that lead to it through links, the first as given.
    pub names: Vec<PathBuf>,
    /// Whether a link named `.git` or `.craft` was followed.
    pub through_reserved: bool,
    /// Whether the way passed through `/proc` or `/dev/fd`, which differ for each process.
    pub through_processes: bool,
}

pub(crate) fn real_path(path: &Path, stands: Option<&Path>) -> io::Result<Trace> {
    let parts = |path: &Path| -> Vec<OsString> { path.iter().map(ToOwned::to_owned).collect() };
    let mut rest: VecDeque<OsString> = parts(path).into();
    let mut real = PathBuf::from("/");
    let mut names = Vec::new();
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
                        if names.len() == MAX_LINKS {
                            return Err(io::Error::other("too many symbolic links"));
                        }
                        names.push(named(&next, &rest));
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
        names,
        through_reserved,
        through_processes,
    })
}

/// Returns the name of what `rest` leads to from a link, without a look at the disk.
fn named(link: &Path, rest: &VecDeque<OsString>) -> PathBuf {
    let mut name = link.to_owned();
    for part in rest {
        match part.to_str() {
            Some(".") => {}
            Some("..") => drop(name.pop()),
            _ => name.push(part),
        }
    }
    name
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
