//! Which files of a workspace are kept before a call of which nobody knows what it changes.
//!
//! Those a person would say are theirs: not what git ignores (by the workspace's own files), nothing in `.git` and
//! `.craft`, no file over [`MAX_FILE_BYTES`]. Repositories inside the workspace count like any directory. Bounded by
//! [`MAX_FILES`], [`MAX_BYTES`] and [`MAX_TIME`]: beyond them nothing is kept rather than a part. What is left out can be
//! named, so that nobody takes it for new when it is seen later: a directory that is left out stands for all below it.
//! Blocking.

use std::collections::HashSet;
use std::fs::Metadata;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use bobbin_files::{IgnoreRules, Ignores};
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
/// Most names of what is left out.
const MAX_SKIPPED: usize = 30_000;
/// Most bytes of them.
const MAX_SKIPPED_BYTES: usize = 2 << 20;

/// The ignore files that count: the workspace's own, as for git.
const IGNORE_RULES: IgnoreRules = IgnoreRules {
    names: &[".gitignore"],
    parents: false,
    repository: false,
    hidden: false,
};

/// How long a change must be ago to differ from a later one by its time (guess: several ticks of any kernel's clock).
const TICK: Duration = Duration::from_millis(50);
/// The same where times have whole seconds only, or two.
const COARSE_TICK: Duration = Duration::from_secs(3);

/// Tells files from those of another survey: their names, kinds, sizes, places and times, as one number. Those that
/// have the same are the same, as far as the times that the file system gives them can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

/// Makes a [`Stamp`]. What is hashed is somebody's: the key is nobody's.
#[derive(Debug)]
struct Stamping {
    hash: DefaultHasher,
    /// The look must be this much later than the last change.
    since: Duration,
    sure: bool,
}

impl Stamping {
    fn new(keys: &RandomState) -> Self {
        Self {
            hash: keys.build_hasher(),
            since: UNIX_EPOCH.elapsed().unwrap_or_default(),
            sure: true,
        }
    }

    fn add(&mut self, path: &Path, about: &Metadata) {
        path.hash(&mut self.hash);
        let times = [
            about.mtime(),
            about.mtime_nsec(),
            about.ctime(),
            about.ctime_nsec(),
        ];
        (about.dev(), about.ino(), about.mode(), about.size(), times).hash(&mut self.hash);
        let tick = if about.ctime_nsec() == 0 {
            COARSE_TICK
        } else {
            TICK
        };
        let seconds = u64::try_from(about.ctime()).unwrap_or_default();
        let nanos = u32::try_from(about.ctime_nsec()).unwrap_or_default();
        self.sure &= Duration::new(seconds, nanos) + tick < self.since;
    }

    /// `None`: something changed a moment ago, and may have changed again without a sign of it.
    fn stamp(&self) -> Option<Stamp> {
        self.sure.then(|| Stamp(self.hash.finish()))
    }
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Files and links, relative to the workspace.
    pub(super) files: Vec<PathBuf>,
    /// Directories, absolute, in which no file is.
    pub(super) empty: Vec<PathBuf>,
    /// What is there and was left out, relative; `None`: too much to be named, or nobody asked.
    pub(super) skipped: Option<Vec<PathBuf>>,
    /// Of the files.
    pub(super) stamp: Option<Stamp>,
}

/// Whether what is left out is to be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    Named,
    Unnamed,
}

/// Looks over the files of a workspace. `also` are places within it that are not its files; stamps made with the same
/// `keys` can be compared.
///
/// # Errors
/// There are too many, as a sentence for people.
pub(super) fn survey(
    root: &Path,
    also: &Path,
    skipped: Skipped,
    keys: &RandomState,
) -> Result<Survey, String> {
    let mut stamping = Stamping::new(keys);
    let until = Instant::now() + MAX_TIME;
    let also = also.to_owned();
    let apart = Apart {
        root: root.to_owned(),
        also: also.clone(),
    };
    let ignores = Ignores::new(root, IGNORE_RULES);
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !(apart.has(entry.path()) || ignores.leaves_out(entry.path(), is_directory))
        })
        .build();
    let mut found = Survey::default();
    let mut bytes = 0;
    // Directories from the root to where the walk is, and whether a file is known to be in each.
    let mut open: Vec<(PathBuf, bool)> = Vec::new();
    let mut walked = Walked::default();
    for (count, entry) in walk.enumerate() {
        // Somebody is changing things, or it may not be read by us.
        let Ok(entry) = entry else { continue };
        if count % 256 == 0 && Instant::now() >= until {
            return Err(too_long());
        }
        close(&mut open, entry.path(), &mut found.empty);
        let Some(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            open.push((entry.path().to_owned(), false));
            walked.directories.push(entry.path().to_owned());
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
        stamping.add(path, &about);
        walked.files.insert(entry.path().to_owned());
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
    found.stamp = stamping.stamp();
    if skipped == Skipped::Named {
        let apart = Apart {
            root: root.to_owned(),
            also,
        };
        found.skipped = walked.skipped(&apart, until)?;
    }
    Ok(found)
}

fn too_long() -> String {
    format!(
        "looking over the files takes longer than {} s",
        MAX_TIME.as_secs()
    )
}

/// What is no file of a workspace, whoever looks.
struct Apart {
    root: PathBuf,
    also: PathBuf,
}

impl Apart {
    fn has(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        let server = name.eq_ignore_ascii_case(".craft") && path.parent() == Some(&self.root);
        server || name.eq_ignore_ascii_case(".git") || path == self.also
    }
}

/// Where a walk was, absolute.
#[derive(Default)]
struct Walked {
    directories: Vec<PathBuf>,
    files: HashSet<PathBuf>,
}

impl Walked {
    /// Returns the names in those directories that the walk has left out. What has come since is among them: it was not
    /// seen either.
    fn skipped(self, apart: &Apart, until: Instant) -> Result<Option<Vec<PathBuf>>, String> {
        let (mut skipped, mut bytes) = (Vec::new(), 0);
        let directories: HashSet<&PathBuf> = self.directories.iter().collect();
        for directory in &self.directories {
            if Instant::now() >= until {
                return Err(too_long());
            }
            let mut skip = |path: &Path| {
                let path = path.strip_prefix(&apart.root).unwrap_or(path);
                bytes += path.as_os_str().len();
                skipped.push(path.to_owned());
                skipped.len() <= MAX_SKIPPED && bytes <= MAX_SKIPPED_BYTES
            };
            let Ok(entries) = std::fs::read_dir(directory) else {
                if !skip(directory) {
                    return Ok(None);
                }
                continue;
            };
            for entry in entries {
                let path = entry.map_or_else(|_| directory.clone(), |entry| entry.path());
                let known = self.files.contains(&path) || directories.contains(&path) || apart.has(&path);
                if (!known || path == *directory) && !skip(&path) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(skipped))
    }
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
        let mut found = survey(
            workspace.root(),
            &workspace.root().join("shadow"),
            Skipped::Named,
            &RandomState::new(),
        )
        .unwrap();
        found.files.sort();
        let files: Vec<_> = found.files.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(
            files,
            [".env", ".gitignore", "link", "src/lib.rs", "vendor/tea/leaf"]
        );
        let empty = ["empty/deeper", "empty"].map(|path| workspace.root().join(path));
        assert_eq!(found.empty, empty);
        // For all below it.
        assert_eq!(found.skipped, Some(vec![PathBuf::from("target")]));
    }

    #[test]
    fn a_stamp_says_whether_anything_has_changed_unless_it_was_a_moment_ago() {
        let (workspace, keys) = (Workspace::new(), RandomState::new());
        let stamp = || {
            let look = || survey(workspace.root(), Path::new("/none"), Skipped::Unnamed, &keys).unwrap();
            loop {
                match look().stamp {
                    Some(stamp) => return stamp,
                    None => std::thread::sleep(TICK / 5),
                }
            }
        };
        workspace.write("a", "1");
        workspace.write("b", "1");
        let first = survey(workspace.root(), Path::new("/none"), Skipped::Unnamed, &keys).unwrap();
        assert_eq!(first.stamp, None);
        let known = stamp();
        assert_eq!(stamp(), known);
        workspace.write("a", "2");
        let changed = stamp();
        assert_ne!(changed, known);
        std::fs::rename(workspace.root().join("b"), workspace.root().join("c")).unwrap();
        let renamed = stamp();
        assert_ne!(renamed, changed);
        let program = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(workspace.root().join("c"), program).unwrap();
        assert_ne!(stamp(), renamed);
    }

    /// Looks over a whole workspace, with what is left out.
    fn named(workspace: &Workspace) -> Result<Survey, String> {
        let keys = RandomState::new();
        survey(workspace.root(), Path::new("/none"), Skipped::Named, &keys)
    }

    #[test]
    fn a_large_file_is_left_out_and_too_many_are_refused() {
        let workspace = Workspace::new();
        workspace.write("small", "x");
        let large = std::fs::File::create(workspace.root().join("large")).unwrap();
        large.set_len(MAX_FILE_BYTES + 1).unwrap();
        let found = named(&workspace).unwrap();
        assert_eq!(found.files, [PathBuf::from("small")]);
        assert_eq!(found.skipped, Some(vec![PathBuf::from("large")]));
        for n in 0..40 {
            let file = std::fs::File::create(workspace.root().join(format!("big{n}"))).unwrap();
            file.set_len(MAX_FILE_BYTES).unwrap();
        }
        assert!(named(&workspace).unwrap_err().contains("512 MiB"));
    }

    #[test]
    fn what_is_left_out_is_named_or_said_to_be_too_much() {
        let workspace = Workspace::new();
        workspace.write(".gitignore", "*.o\ndeep/out\n");
        for path in ["a.o", "a.c", "deep/b.o", "deep/out/x", "deep/out/y"] {
            workspace.write(path, "x");
        }
        let skipped = || {
            let found = named(&workspace).unwrap();
            found.skipped.map(|mut skipped| {
                skipped.sort();
                skipped
            })
        };
        assert_eq!(
            skipped(),
            Some(["a.o", "deep/b.o", "deep/out"].map(PathBuf::from).to_vec())
        );
        for n in 0..MAX_SKIPPED {
            std::fs::File::create(workspace.root().join(format!("{n}.o"))).unwrap();
        }
        assert_eq!(skipped(), None);
    }
}
