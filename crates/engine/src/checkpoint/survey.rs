//! Which files of a workspace are kept before a call of which nobody knows what it changes.
//!
//! Those a person would say are theirs: not what git ignores (by the workspace's own files), nothing in `.git` and
//! `.craft`, no file over [`MAX_FILE_BYTES`]. Repositories inside the workspace count like any directory. Bounded by
//! [`MAX_FILES`], [`MAX_BYTES`] and [`MAX_TIME`]: beyond them nothing is kept rather than a part. Blocking.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

/// Most files of a workspace (guess: beyond, a look takes longer than a tenth of a second).
pub(super) const MAX_FILES: usize = 30_000;
/// Most bytes in them: what the first look copies.
pub(super) const MAX_BYTES: u64 = 512 << 20;
/// Largest file that is kept, as for the file tools.
pub(super) const MAX_FILE_BYTES: u64 = 16 << 20;
/// Longest look.
const MAX_TIME: Duration = Duration::from_secs(3);
/// Most empty directories remembered, so that they are still there when all is undone.
const MAX_EMPTY: usize = 1_000;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Files and links, relative to the workspace.
    pub(super) files: Vec<PathBuf>,
    /// Directories, absolute, in which no file is.
    pub(super) empty: Vec<PathBuf>,
}

/// Looks over the files of a workspace. `also` are places within it that are not its files.
///
/// # Errors
/// There are too many, as a sentence for people.
pub(super) fn survey(root: &Path, also: &Path) -> Result<Survey, String> {
    let until = Instant::now() + MAX_TIME;
    let also = also.to_owned();
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let name = entry.file_name();
            let server = entry.depth() == 1 && name.eq_ignore_ascii_case(".craft");
            entry.depth() == 0 || !(server || name.eq_ignore_ascii_case(".git") || entry.path() == also)
        })
        .build();
    let mut found = Survey::default();
    let mut bytes = 0;
    // Directories from the root to where the walk is, and whether a file is known to be in each.
    let mut open: Vec<(PathBuf, bool)> = Vec::new();
    for (count, entry) in walk.enumerate() {
        // Somebody is changing things, or may not be read by us: then not by a command either.
        let Ok(entry) = entry else { continue };
        if count % 256 == 0 && Instant::now() >= until {
            return Err(format!(
                "looking over the files takes longer than {} s",
                MAX_TIME.as_secs()
            ));
        }
        close(&mut open, entry.path(), &mut found.empty);
        let Some(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            open.push((entry.path().to_owned(), false));
            continue;
        }
        let Ok(about) = entry.metadata() else { continue };
        let kept = kind.is_symlink()
            || (kind.is_file() && about.len() <= MAX_FILE_BYTES && is_readable(entry.path(), &about));
        for (_, has_files) in &mut open {
            *has_files = true;
        }
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if !kept || path.as_os_str().as_bytes().is_empty() {
            continue;
        }
        bytes += about.len();
        found.files.push(path.to_owned());
        if found.files.len() > MAX_FILES {
            return Err(format!(
                "the workspace has more than {MAX_FILES} files that git does not ignore"
            ));
        }
        if bytes > MAX_BYTES {
            return Err(format!(
                "the workspace's files that git does not ignore have more than {} MiB",
                MAX_BYTES >> 20
            ));
        }
    }
    close(&mut open, Path::new(""), &mut found.empty);
    Ok(found)
}

/// Whether we can read a file. That everybody may is seen without opening it.
fn is_readable(path: &Path, about: &std::fs::Metadata) -> bool {
    about.permissions().mode() & 0o444 == 0o444 || std::fs::File::open(path).is_ok()
}

/// Closes the directories that the walk has left.
fn close(open: &mut Vec<(PathBuf, bool)>, now: &Path, empty: &mut Vec<PathBuf>) {
    while let Some((directory, _)) = open.last()
        && !now.starts_with(directory)
    {
        if let Some((directory, false)) = open.pop()
            && empty.len() < MAX_EMPTY
        {
            empty.push(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Workspace;

    #[test]
    fn what_is_somebodys_work_is_kept_and_nothing_else() {
        let workspace = Workspace::new();
        for path in [
            "src/lib.rs",
            ".env",
            "target/out",
            ".git/config",
            ".craft/config.json",
            "vendor/tea/.git/HEAD",
            "vendor/tea/leaf",
            "shadow/objects/x",
        ] {
            workspace.write(path, "x");
        }
        workspace.write(".gitignore", "target/\n");
        std::os::unix::fs::symlink("nowhere", workspace.root().join("link")).unwrap();
        std::fs::create_dir_all(workspace.root().join("empty/deeper")).unwrap();
        let mut found = survey(workspace.root(), &workspace.root().join("shadow")).unwrap();
        found.files.sort();
        let files: Vec<_> = found.files.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(
            files,
            [".env", ".gitignore", "link", "src/lib.rs", "vendor/tea/leaf"]
        );
        let empty = ["empty/deeper", "empty"].map(|path| workspace.root().join(path));
        assert_eq!(found.empty, empty);
    }

    #[test]
    fn a_large_file_is_left_out_and_too_many_are_refused() {
        let workspace = Workspace::new();
        workspace.write("small", "x");
        let large = std::fs::File::create(workspace.root().join("large")).unwrap();
        large.set_len(MAX_FILE_BYTES + 1).unwrap();
        let found = survey(workspace.root(), Path::new("/none")).unwrap();
        assert_eq!(found.files, [PathBuf::from("small")]);
        for n in 0..40 {
            let file = std::fs::File::create(workspace.root().join(format!("big{n}"))).unwrap();
            file.set_len(MAX_FILE_BYTES).unwrap();
        }
        assert!(
            survey(workspace.root(), Path::new("/none"))
                .unwrap_err()
                .contains("512 MiB")
        );
    }
}
