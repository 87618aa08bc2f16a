//! Reads the files in which a project tells agents how to work there: `AGENTS.md`.
//!
//! Files are read from the root of the workspace, or of the git repository around it, down to the folder of the Thread.
//! Links are resolved before a path is checked. These files are not read: files outside that root, files that a rule
//! denies, and files of git or of the server.
//!
//! Blocking. Bounded by [`MAX_FILES`], [`MAX_FILE_BYTES`] and [`MAX_BYTES`]: the nearest files have precedence, and the
//! text says what is left out.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};

use bobbin_files::open_file;
use bobbin_tools::{Reserved, Standing, trace};

/// Name of an instruction file.
const NAME: &str = "AGENTS.md";
/// Most files.
const MAX_FILES: usize = 16;
/// Most bytes of one file (guess: the longest well-maintained ones have half of that).
const MAX_FILE_BYTES: usize = 32 << 10;
/// Most bytes of all of them.
const MAX_BYTES: usize = 64 << 10;
/// Most folders searched on the way up.
const MAX_DEPTH: usize = 64;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guide {
    /// Its path, relative to the folder.
    pub(super) name: String,
    /// Its text.
    pub(super) text: String,
    /// Whether `text` is only the beginning.
    pub(super) cut: bool,
}

/// Reads the files for a Thread in `folder`, on a server of `workspace`; the outermost first. Both paths are absolute
/// and free of links.
pub(super) fn read(workspace: &Path, folder: &Path, policy: &dyn Policy) -> Vec<Guide> {
    let top = top(workspace, folder);
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut guides = Vec::new();
    let mut room = MAX_BYTES;
    for (up, place) in folder.ancestors().take(MAX_DEPTH).enumerate() {
        if guides.len() < MAX_FILES
            && let Some(path) = candidate(&place.join(NAME), top, policy)
            && !seen.contains(&path)
        {
            match beginning(&path, room.min(MAX_FILE_BYTES)) {
                Ok((text, cut)) if cut || !text.trim().is_empty() => {
                    room -= text.len();
                    let name = "../".repeat(up) + NAME;
                    guides.push(Guide { name, text, cut });
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "instructions of a project are not read");
                }
            }
            seen.push(path);
        }
        if place == top {
            break;
        }
    }
    guides.reverse();
    guides
}

/// Returns the names of the files that would be read for the root of a workspace, the outermost first. A rule or a link
/// may still exclude some of them.
pub fn project_instructions(workspace: &Path) -> Vec<String> {
    let top = top(workspace, workspace);
    let mut names = Vec::new();
    for (up, place) in workspace.ancestors().take(MAX_DEPTH).enumerate() {
        if names.len() < MAX_FILES && place.join(NAME).symlink_metadata().is_ok() {
            names.push("../".repeat(up) + NAME);
        }
        if place == top {
            break;
        }
    }
    names.reverse();
    names
}

/// Returns the outermost folder to search.
fn top<'a>(workspace: &Path, folder: &'a Path) -> &'a Path {
    let repository = folder
        .ancestors()
        .take(MAX_DEPTH)
        .find(|place| place.join(".git").symlink_metadata().is_ok())
        // A repository of another user, in a shared directory around the folder, is not trusted.
        .filter(|place| have_one_owner(place, folder));
    let in_workspace = folder.starts_with(workspace);
    let above = folder.ancestors().filter(|place| {
        let is_workspace = in_workspace && *place == workspace;
        is_workspace || Some(*place) == repository
    });
    above.last().unwrap_or(folder)
}

#[cfg(unix)]
fn have_one_owner(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| std::fs::metadata(path).map(|found| found.uid()).ok();
    owner(a).is_some() && owner(a) == owner(b)
}

#[cfg(not(unix))]
fn have_one_owner(_: &Path, _: &Path) -> bool {
    true
}

/// Returns the resolved path of a file that may be read.
fn candidate(path: &Path, top: &Path, policy: &dyn Policy) -> Option<PathBuf> {
    // Most folders have no such file.
    path.symlink_metadata().ok()?;
    let trace = trace(top, path.to_str()?, None).ok()?;
    let inside = Reserved::of(top).standing(&trace) == Standing::Inside;
    let path = trace.path;
    let allowed = policy
        .path(PathAccess::Read, &path, top)
        .is_none_or(|ruling| ruling.judgement == Judgement::Allow);
    let fits = allowed && inside;
    if !fits {
        tracing::warn!(path = %path.display(), "not read as instructions: it lies elsewhere, or a rule speaks of it");
    }
    fits.then_some(path)
}

/// Reads at most `bytes` bytes of a file, and returns whether there are more.
fn beginning(path: &Path, bytes: usize) -> io::Result<(String, bool)> {
    let mut read = Vec::new();
    open_file(path)?.take(bytes as u64 + 1).read_to_end(&mut read)?;
    let cut = read.len() > bytes;
    read.truncate(bytes);
    let mut text = String::from_utf8_lossy(&read).into_owned();
    // The replacement character is longer than the invalid byte.
    text.truncate(text.floor_char_boundary(bytes));
    Ok((text, cut))
}

#[cfg(test)]
#[path = "guides_tests.rs"]
mod tests;
