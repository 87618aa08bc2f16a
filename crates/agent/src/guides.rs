//! Reads the files in which a project and its user instruct agents: `AGENTS.md` and its like.
//!
//! Files are read from the root of the workspace, or of the git repository around it, down to the folder of the Thread;
//! of each folder the first of [`NAMES`]. The user's own file for all projects comes first. A file can import others
//! with `@path` (`imports`). Links are resolved before a path is checked. These files are not read: files outside that
//! root, files that a rule denies, and files of git or of the server.
//!
//! Blocking. Bounded by [`MAX_FILES`], [`MAX_FILE_BYTES`] and [`MAX_BYTES`]: the nearest files have precedence, and the
//! text says what is left out.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};

use bobbin_files::open_file;
use bobbin_policy::{ordinary, ruling};

/// Names of an instruction file; the first that a folder has is read. The override is for a user's own changes, which
/// are not committed.
const NAMES: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];
/// The user's own file, in the home.
const OWN: &str = ".craft/AGENTS.md";
/// How deep imports of imports are followed.
const MAX_IMPORTS: usize = 3;
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
    /// Its path, free of links.
    pub(super) path: PathBuf,
    /// Its path, relative to the folder.
    pub(super) name: String,
    /// Its text.
    pub(super) text: String,
    /// Whether `text` is only the beginning.
    pub(super) cut: bool,
}

/// Reads the files for a Thread in `folder`, on a server of `workspace`; the outermost first, and an imported file before
/// the file that imports it. Both paths are absolute and free of links. The files of a folder that is not trusted do not
/// count; those of the user's home do.
pub(super) fn read(workspace: &Path, folder: &Path, policy: &dyn Policy, is_trusted: bool) -> Vec<Guide> {
    let mut reader = Reader {
        policy,
        seen: Vec::new(),
        guides: Vec::new(),
        room: MAX_BYTES,
    };
    if is_trusted {
        let top = top(workspace, folder);
        for (up, place) in folder.ancestors().take(MAX_DEPTH).enumerate() {
            if let Some(name) = name_in(place) {
                let name = "../".repeat(up) + name;
                reader.read(&folder.join(&name), name, Some(top), MAX_IMPORTS);
            }
            if place == top {
                break;
            }
        }
    }
    if let Some(home) = policy.home() {
        reader.read(&home.join(OWN), format!("~/{OWN}"), None, MAX_IMPORTS);
    }
    reader.guides.reverse();
    reader.guides
}

/// Returns the paths of the instruction files that the agent reads for a Thread in `folder`, outermost first. Blocking.
pub fn instruction_files(
    workspace: &Path,
    folder: &Path,
    policy: &dyn Policy,
    is_trusted: bool,
) -> Vec<PathBuf> {
    let guides = read(workspace, folder, policy, is_trusted);
    guides.into_iter().map(|guide| guide.path).collect()
}

/// Reads files, the nearest first.
struct Reader<'a> {
    policy: &'a dyn Policy,
    seen: Vec<PathBuf>,
    guides: Vec<Guide>,
    room: usize,
}

impl Reader<'_> {
    /// Reads a file and what it imports. Files of a project are inside of `top`; a user's own are inside of their folder.
    fn read(&mut self, path: &Path, name: String, top: Option<&Path>, depth: usize) {
        if self.guides.len() == MAX_FILES {
            return;
        }
        let found = match top {
            Some(top) => candidate(path, top, self.policy),
            None => path.canonicalize().ok(),
        };
        let Some(path) = found.filter(|path| !self.seen.contains(path)) else {
            return;
        };
        self.seen.push(path.clone());
        let (text, cut) = match beginning(&path, self.room.min(MAX_FILE_BYTES)) {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "instructions are not read");
                return;
            }
        };
        if text.trim().is_empty() && !cut {
            return;
        }
        self.room -= text.len();
        let imports = imports(&text);
        let beside = Path::new(&name).parent().unwrap_or(Path::new("")).to_owned();
        self.guides.push(Guide {
            path: path.clone(),
            name,
            text,
            cut,
        });
        let Some(folder) = path.parent().filter(|_| depth > 0) else {
            return;
        };
        // The first import is read last: the list is reversed in the end.
        for import in imports.into_iter().rev() {
            let name = beside.join(&import).to_string_lossy().into_owned();
            let path = folder.join(&import);
            let is_own = || path.canonicalize().is_ok_and(|path| path.starts_with(folder));
            if top.is_some() || is_own() {
                self.read(&path, name, top, depth - 1);
            }
        }
    }
}

/// Returns the paths that a text imports: words such as `@docs/style.md`, except in code.
fn imports(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // Every second piece between backquotes is code.
        let pieces = line.split('`').step_by(2);
        for word in pieces.flat_map(str::split_whitespace) {
            let path = word.strip_prefix('@').unwrap_or_default();
            let path = path.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
            let is_path = path.contains(['/', '.']) && !path.starts_with(['/', '~']);
            if is_path && !found.iter().any(|known| known == path) {
                found.push(path.to_owned());
            }
        }
    }
    found
}

/// Returns the name of the instruction file of a folder, if there is one.
fn name_in(folder: &Path) -> Option<&'static str> {
    let is_there = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    NAMES.into_iter().find(is_there)
}

/// Returns the names of the files that would be read for the root of a workspace, the outermost first, without what they
/// import. A rule or a link may still exclude some of them.
pub fn project_instructions(workspace: &Path) -> Vec<String> {
    let top = top(workspace, workspace);
    let mut names = Vec::new();
    for (up, place) in workspace.ancestors().take(MAX_DEPTH).enumerate() {
        if let Some(name) = name_in(place).filter(|_| names.len() < MAX_FILES) {
            names.push("../".repeat(up) + name);
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
    let tops = folder.ancestors().filter(|place| {
        let is_workspace = in_workspace && *place == workspace;
        is_workspace || Some(*place) == repository
    });
    tops.last().unwrap_or(folder)
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
    let found = ordinary(top, path).filter(|trace| {
        let ruling = ruling(policy, PathAccess::Read, trace, top);
        ruling.is_none_or(|ruling| ruling.judgement == Judgement::Allow)
    });
    if found.is_none() {
        tracing::warn!(path = %path.display(), "not read as instructions: it lies elsewhere, or a rule speaks of it");
    }
    found.map(|trace| trace.path)
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
