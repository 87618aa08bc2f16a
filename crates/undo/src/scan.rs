//! Scans a workspace for files that have changed since the last scan.
//!
//! Some files are skipped: most of those that the workspace's own `.gitignore` files exclude ([`crate::ignored`] says
//! which), those in `.git` and `.craft`, files over [`MAX_FILE_BYTES`], and unreadable ones. Nested repositories count like
//! any directory. Beyond [`MAX_FILES`], [`MAX_BYTES`] or the given time, the scan fails as a whole. Blocking.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bobbin_files::{IgnoreRules, Ignores, MAX_FILE_BYTES};
use ignore::WalkBuilder;
use nix::unistd::{AccessFlags, access};
use parking_lot::Mutex;

use crate::ignored::{ChosenFiles, choose};

/// Most files of a workspace (a scan of that many takes about a second, the first snapshot half a minute).
pub(crate) const MAX_FILES: usize = 150_000;
/// Most bytes in them: the first snapshot copies them.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// Most ignored files and directories that are remembered for the choice among them.
const MAX_IGNORED: usize = 50_000;

/// The ignore files that count: the workspace's own, as for git.
pub(crate) const IGNORE_RULES: IgnoreRules = IgnoreRules {
    names: &[".gitignore"],
    parents: false,
    repository: false,
    hidden: false,
};
/// Age from which a change has another time than any later one (guess: several ticks of any kernel's clock).
const TICK_MILLIS: i64 = 50;
/// The same for file systems with times in units of one or two seconds.
const COARSE_TICK_MILLIS: i64 = 3_000;

/// The files of a workspace with their fingerprints: names, kinds, sizes, places and times as one number. `None` if a
/// file changed so recently that another change may leave the same fingerprint.
pub(crate) type Files = HashMap<PathBuf, Option<u64>>;

/// The result of a scan, with paths relative to the workspace.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// All files.
    pub(crate) files: Files,
    /// New files, and files that may have changed.
    pub(crate) changed: Vec<PathBuf>,
    /// Files that are gone.
    pub(crate) gone: Vec<PathBuf>,
}

/// The workspace that is scanned, and the keys of its fingerprints.
#[derive(Debug, Clone)]
pub(crate) struct ScanRoot {
    pub(crate) root: PathBuf,
    /// The server's own directory, which may be inside and is not scanned.
    pub(crate) own: PathBuf,
    /// The keys of fingerprints: only those made with the same keys can be compared.
    pub(crate) keys: RandomState,
}

/// Scans a workspace and compares the result with `known`. `now` is the time, in milliseconds since 1970.
///
/// # Errors
/// A limit was exceeded, as half a sentence for the user.
pub(crate) fn scan(place: &ScanRoot, known: &Files, now: i64, most_time: Duration) -> Result<Scan, String> {
    let until = Instant::now() + most_time;
    let (apart, ignores) = (place.clone(), Ignores::new(&place.root, IGNORE_RULES));
    let ignored: Arc<Mutex<Vec<(PathBuf, bool)>>> = Arc::default();
    let found = ignored.clone();
    let walk = WalkBuilder::new(&place.root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            if entry.depth() == 0 {
                return true;
            }
            if apart.leaves_out(entry.path()) {
                return false;
            }
            let is_ignored = ignores.leaves_out(entry.path(), is_directory);
            if is_ignored {
                let mut found = found.lock();
                if found.len() < MAX_IGNORED {
                    found.push((entry.path().to_owned(), is_directory));
                }
            }
            !is_ignored
        })
        .build();
    let (mut scan, mut bytes) = (Scan::default(), 0);
    for (count, entry) in walk.enumerate() {
        if count % 256 == 0 && Instant::now() >= until {
            return Err(format!(
                "scanning the workspace takes longer than {} s",
                most_time.as_secs()
            ));
        }
        // The file was removed meanwhile, or the directory is unreadable.
        let Ok(entry) = entry else { continue };
        let Some(kind) = entry
            .file_type()
            .filter(|kind| kind.is_file() || kind.is_symlink())
        else {
            continue;
        };
        let Ok(about) = entry.metadata() else { continue };
        if kind.is_file() && (about.len() > MAX_FILE_BYTES || !is_readable(entry.path(), &about)) {
            continue;
        }
        bytes += about.len();
        scan.add(place, entry.path(), &about, known, now);
        if scan.files.len() > MAX_FILES {
            return Err(format!(
                "the workspace has more than {MAX_FILES} files that git does not ignore"
            ));
        }
        if bytes > MAX_BYTES {
            let most = MAX_BYTES >> 20;
            return Err(format!(
                "the workspace's files that git does not ignore have more than {most} MiB"
            ));
        }
    }
    let entries = std::mem::take(&mut *ignored.lock());
    let ChosenFiles { files, beyond } = choose(place, entries, until);
    for (path, about) in files {
        if about.is_symlink() || is_readable(&path, &about) {
            scan.add(place, &path, &about, known, now);
        }
    }
    for (path, print) in known {
        if scan.files.contains_key(path) {
            continue;
        }
        let whole = place.root.join(path);
        if whole.ancestors().any(|around| beyond.contains(around)) {
            scan.files.insert(path.clone(), *print);
        } else {
            scan.gone.push(path.clone());
        }
    }
    Ok(scan)
}

impl Scan {
    /// Adds a file of the workspace, given by absolute path.
    fn add(&mut self, place: &ScanRoot, path: &Path, about: &Metadata, known: &Files, now: i64) {
        let Ok(path) = path.strip_prefix(&place.root) else {
            return;
        };
        if path.as_os_str().as_bytes().is_empty() {
            return;
        }
        let print = fingerprint(&place.keys, about, now);
        if print.is_none() || known.get(path) != Some(&print) {
            self.changed.push(path.to_owned());
        }
        self.files.insert(path.to_owned(), print);
    }
}

impl ScanRoot {
    /// Returns whether a path is never a file of the workspace.
    pub(crate) fn leaves_out(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        let server = name.eq_ignore_ascii_case(".craft") && path.parent() == Some(&self.root);
        server || name.eq_ignore_ascii_case(".git") || path == self.own
    }
}

fn fingerprint(keys: &RandomState, about: &Metadata, now: i64) -> Option<u64> {
    let tick = if about.ctime_nsec() == 0 {
        COARSE_TICK_MILLIS
    } else {
        TICK_MILLIS
    };
    let changed = about.ctime().saturating_mul(1_000) + about.ctime_nsec() / 1_000_000;
    let times = [
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
    ];
    let print = keys.hash_one((about.dev(), about.ino(), about.mode(), about.size(), times));
    (changed + tick < now).then_some(print)
}

fn is_readable(path: &Path, about: &Metadata) -> bool {
    about.mode() & 0o444 == 0o444 || access(path, AccessFlags::R_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: i64 = i64::MAX;

    fn place(root: &Path) -> ScanRoot {
        ScanRoot {
            root: root.to_owned(),
            own: root.join("shadow"),
            keys: RandomState::new(),
        }
    }

    fn names(mut paths: Vec<PathBuf>) -> Vec<String> {
        paths.sort();
        paths
            .iter()
            .map(|path| path.to_str().unwrap().to_owned())
            .collect()
    }

    fn write(root: &Path, path: &str) {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), "x").unwrap();
    }

    #[test]
    fn the_users_own_files_are_scanned_and_nothing_else() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path();
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
            write(root, path);
        }
        std::fs::write(root.join(".gitignore"), "target/\n").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
        let large = std::fs::File::create(root.join("large")).unwrap();
        large.set_len(MAX_FILE_BYTES + 1).unwrap();
        let scan = scan(&place(root), &Files::new(), LATER, Duration::from_secs(9)).unwrap();
        assert_eq!(
            names(scan.changed),
            [".env", ".gitignore", "link", "src/lib.rs", "vendor/tea/leaf"]
        );
        assert_eq!(scan.files.len(), 5);
    }

    #[test]
    fn small_ignored_files_are_scanned_and_those_beyond_a_bound_stay_as_they_were() {
        let work = tempfile::tempdir().unwrap();
        let (root, place) = (work.path(), place(work.path()));
        for path in [".env", "data/one", "target/out"] {
            write(root, path);
        }
        std::fs::write(root.join(".gitignore"), ".env\ndata/\ntarget/\n").unwrap();
        let again = |known: &Files| scan(&place, known, LATER, Duration::from_secs(9)).unwrap();
        let first = again(&Files::new());
        assert_eq!(names(first.changed), [".env", ".gitignore", "data/one"]);
        for n in 0..600 {
            write(root, &format!("data/{n}"));
        }
        std::fs::remove_file(root.join(".env")).unwrap();
        let second = again(&first.files);
        assert_eq!(names(second.gone), [".env"]);
        assert!(second.changed.is_empty(), "{:?}", second.changed);
        assert!(second.files.contains_key(Path::new("data/one")));
        std::fs::remove_dir_all(root.join("data")).unwrap();
        assert_eq!(names(again(&second.files).gone), ["data/one"]);
    }

    #[test]
    fn a_second_scan_names_what_has_changed() {
        let work = tempfile::tempdir().unwrap();
        let (root, place) = (work.path(), place(work.path()));
        for path in ["a", "b", "c"] {
            write(root, path);
        }
        let again = |known: &Files, now| scan(&place, known, now, Duration::from_secs(9)).unwrap();
        let first = again(&Files::new(), LATER);
        let same = again(&first.files, LATER);
        assert!(same.changed.is_empty() && same.gone.is_empty());
        // A file that changed a moment ago may change again unnoticed.
        assert_eq!(again(&first.files, 0).changed.len(), 3);
        std::fs::write(root.join("a"), "other").unwrap();
        std::fs::rename(root.join("b"), root.join("d")).unwrap();
        let next = again(&first.files, LATER);
        assert_eq!(names(next.changed), ["a", "d"]);
        assert_eq!(names(next.gone), ["b"]);
    }

    #[test]
    fn too_much_is_refused() {
        let work = tempfile::tempdir().unwrap();
        for n in 0..65 {
            let file = std::fs::File::create(work.path().join(format!("big{n}"))).unwrap();
            file.set_len(MAX_FILE_BYTES).unwrap();
        }
        let refused = scan(&place(work.path()), &Files::new(), LATER, Duration::from_secs(9));
        assert!(refused.unwrap_err().contains("1024 MiB"));
        let late = scan(&place(work.path()), &Files::new(), LATER, Duration::ZERO);
        assert!(late.unwrap_err().contains("longer"));
    }
}
