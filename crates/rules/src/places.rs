//! The targets of paths. The caller finds them and may read the disk.

use std::path::{Path, PathBuf};

/// How a path is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    /// It is read or listed.
    Read,
    /// It is written, created or removed.
    Write,
}

/// The part of the machine that a path is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStatus {
    /// In the workspace.
    Inside,
    /// In a part of the workspace that belongs to git or to the server.
    Reserved,
    /// Elsewhere.
    Outside,
    /// Unknown: the path contains a place that differs between processes, such as `/proc/self`.
    Unknown,
}

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute, with every symbolic link followed; the best guess if the part is unknown.
    pub path: PathBuf,
    /// The part of the machine that it is in.
    pub status: PathStatus,
}

/// The entries of a directory that a program skips by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeavesOut {
    /// None: it reads all entries.
    #[default]
    Nothing,
    /// As ripgrep: hidden entries, and entries in the ignore files of git, ripgrep and similar programs.
    AsRipgrep,
    /// As `ag`: hidden entries, and entries in ignore files, except ignore files in parent directories.
    AsAg,
}

/// The entries under a directory that a program reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// The skipped entries.
    pub leaves_out: LeavesOut,
    /// Whether it follows symbolic links, which may lead anywhere.
    pub links: bool,
}

/// Finds out where paths lead.
pub trait Places {
    /// Returns the workspace, absolute and free of symbolic links. Commands start in it.
    fn root(&self) -> &Path;

    /// Returns where a path leads when it is used in `directory`; `None` when it can lead nowhere.
    fn find(&self, directory: &Path, text: &str) -> Option<ResolvedPath>;

    /// Whether there is a directory at a resolved path.
    fn is_directory(&self, path: &Path) -> bool;

    /// Returns the names in a resolved directory, without `.` and `..`; `None` if there are too many.
    fn names(&self, directory: &Path) -> Option<Vec<String>>;

    /// Whether a resolved path in the workspace belongs to git or to the server, or contains keys.
    fn is_reserved(&self, path: &Path) -> bool;

    /// Whether the workspace is a repository whose configuration names no programs that git would run when it
    /// reads.
    fn is_plain_repository(&self) -> bool;

    /// Whether an entry under a directory fits. Also true if there are too many entries to check.
    fn contains(&self, directory: &Path, look: Look, fits: &dyn Fn(&Path) -> bool) -> bool;
}
