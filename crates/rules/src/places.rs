//! Where paths lead: asked of the caller, who may look at the disk.

use std::path::{Path, PathBuf};

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    /// It is read or listed.
    Read,
    /// It is written, created or removed.
    Write,
}

/// Which part of the machine a path lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In the workspace.
    Inside,
    /// In a part of the workspace that belongs to git or to the server.
    Reserved,
    /// Elsewhere.
    Outside,
    /// Nobody can say: the path passes through a place that is another one for each process, such as `/proc/self`.
    Unknown,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Absolute, every symbolic link followed; the best guess where the standing is unknown.
    pub path: PathBuf,
    /// Where that is.
    pub standing: Standing,
}

/// What a program leaves out of a directory by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeavesOut {
    /// Nothing: it reads all that is there.
    #[default]
    Nothing,
    /// As ripgrep does: what is hidden, and what files for git, ripgrep and their like say.
    AsRipgrep,
    /// As `ag` does: what is hidden, and what files for git and its like say that do not lie above.
    AsAg,
}

/// What is seen of what lies below a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// What is not.
    pub leaves_out: LeavesOut,
    /// Whether what symbolic links lead to is, which may be anywhere.
    pub links: bool,
}

/// Finds out where paths lead.
pub trait Places {
    /// Returns the workspace, absolute and free of symbolic links. Commands start in it.
    fn root(&self) -> &Path;

    /// Returns where a path leads when it is used in `directory`; `None` when it can lead nowhere.
    fn find(&self, directory: &Path, text: &str) -> Option<Place>;

    /// Whether there is a directory at a resolved path.
    fn is_directory(&self, path: &Path) -> bool;

    /// Returns the names in a resolved directory, without `.` and `..`; `None` where there are too many.
    fn names(&self, directory: &Path) -> Option<Vec<String>>;

    /// Whether a resolved path in the workspace belongs to git or to the server, or keys are kept there.
    fn is_reserved(&self, path: &Path) -> bool;

    /// Whether the workspace is a repository whose own configuration names no programs for git to run when it reads.
    fn is_plain_repository(&self) -> bool;

    /// Whether something below a directory fits; also where there is too much below to say.
    fn holds(&self, directory: &Path, look: Look, fits: &dyn Fn(&Path) -> bool) -> bool;
}
