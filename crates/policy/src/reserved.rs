//! The places of git and of the server, under whatever name: `.git` and `.craft` at any depth, their targets if they
//! are links, and git's directory of a workspace whose `.git` is a file.
//!
//! Reads the disk when created: a few `stat`s, and two files of at most [`MAX_FILE_BYTES`].

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::trace::{Trace, TraceStatus, real_path, trace};

/// Most bytes read of a file that names git's directory.
const MAX_FILE_BYTES: u64 = 4096;

/// The reserved places of a workspace.
#[derive(Debug)]
pub struct Reserved {
    root: PathBuf,
    /// The places whose names are not reserved.
    places: Vec<PathBuf>,
}

impl Reserved {
    /// Finds the places for a root that is free of symbolic links.
    pub fn of(root: &Path) -> Self {
        let mut places = Vec::new();
        for name in [".git", ".craft"] {
            let place = real_path(&root.join(name), None).map(|trace| trace.path).ok();
            let Some(place) = place else { continue };
            if let Some(directory) = named_in(&place, "gitdir:") {
                // Work trees share most of a repository.
                places.extend(named_in(&directory.join("commondir"), ""));
                places.push(directory);
            }
            places.push(place);
        }
        // A link to the workspace itself, or to a parent of it, would reserve everything.
        places.retain(|place| place.starts_with(root) && place != root);
        Self {
            root: root.to_owned(),
            places,
        }
    }

    /// Returns the part of the machine in which a resolved path lies.
    pub fn status(&self, trace: &Trace) -> TraceStatus {
        if !trace.path.starts_with(&self.root) {
            return TraceStatus::Outside;
        }
        if self.covers(&trace.path) || trace.through_reserved {
            TraceStatus::Reserved
        } else {
            TraceStatus::Inside
        }
    }

    /// Returns whether a resolved path of the workspace is in a reserved place.
    pub fn covers(&self, path: &Path) -> bool {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.iter().any(is_reserved) || self.places.iter().any(|place| path.starts_with(place))
    }
}

/// Resolves a path of a workspace whose root is free of links. `None` where it leads out of the workspace, or to a place
/// of git or of the server.
pub fn ordinary(root: &Path, path: &Path) -> Option<Trace> {
    let trace = trace(root, path.to_str()?, None).ok()?;
    (Reserved::of(root).status(&trace) == TraceStatus::Inside).then_some(trace)
}

/// Returns whether a name belongs to git or to the server. Ignores case, as some file systems do.
pub(crate) fn is_reserved(name: &std::ffi::OsStr) -> bool {
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".craft")
}

/// Returns the directory that one of git's files names after a word, resolved.
fn named_in(file: &Path, word: &str) -> Option<PathBuf> {
    let mut text = String::new();
    let file_read = bobbin_files::open_regular(file).ok()?;
    file_read.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    let named = text.lines().next()?.strip_prefix(word)?.trim();
    let place = file.parent()?.join(named);
    real_path(&place, None).map(|trace| trace.path).ok()
}
