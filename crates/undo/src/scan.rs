//! Scans a workspace for files that have changed since the last scan.
//!
//! Some files are skipped: most of those that the workspace's own `.gitignore` files exclude ([`crate::ignored`] says
//! which), those in `.git` and `.craft`, files over [`MAX_FILE_BYTES`], and unreadable ones. Nested repositories count like
//! any directory. Beyond [`MAX_FILES`], [`MAX_BYTES`] or the given time, the scan fails as a whole.
//!
//! Threads share the directories that are left: a command waits for the scan, and the kernel answers them side by side.
//! Blocking.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use bobbin_files::{IgnoreRules, Ignores, MAX_FILE_BYTES};
use nix::unistd::{AccessFlags, access};
use parking_lot::{Condvar, Mutex};

use crate::ignored::{ChosenFiles, choose};

/// Most files of a workspace (a scan of that many takes about half a second, the first snapshot some seconds).
pub(crate) const MAX_FILES: usize = 150_000;
/// Most bytes in them: the first snapshot copies them.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// Most ignored files and directories that are remembered for the choice among them.
const MAX_IGNORED: usize = 50_000;
/// Most threads of a scan.
const MAX_THREADS: usize = 8;
/// Number of entries of a directory after which the limits are looked at.
const STRIDE: usize = 256;

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

/// The files of a workspace with their fingerprints, by relative path. `None` if a file changed so recently that another
/// change may leave the same fingerprint.
pub(crate) type Files = HashMap<OsString, Option<Fingerprint>>;

/// The identity of a file and its last change: inode, mode, size and times. The device is no part of it, since its number
/// changes when a machine starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint([u64; 7]);

impl Fingerprint {
    fn of(about: &Metadata) -> Self {
        let times = [
            about.mtime(),
            about.mtime_nsec(),
            about.ctime(),
            about.ctime_nsec(),
        ];
        let [written, written_nsec, changed, changed_nsec] = times.map(i64::cast_unsigned);
        let mode = u64::from(about.mode());
        Self([
            about.ino(),
            mode,
            about.size(),
            written,
            written_nsec,
            changed,
            changed_nsec,
        ])
    }

    pub(crate) fn to_bytes(self) -> [u8; 56] {
        let mut bytes = [0; 56];
        for (part, number) in bytes.chunks_exact_mut(8).zip(self.0) {
            part.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; 56]) -> Self {
        let mut numbers = [0; 7];
        for (number, part) in numbers.iter_mut().zip(bytes.as_chunks().0) {
            *number = u64::from_be_bytes(*part);
        }
        Self(numbers)
    }
}

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

/// The workspace that is scanned.
#[derive(Debug, Clone)]
pub(crate) struct ScanRoot {
    pub(crate) root: PathBuf,
    /// The server's own directory, which may be inside and is not scanned.
    pub(crate) own: PathBuf,
}

/// Scans a workspace and compares the result with `known`. `now` is the time, in milliseconds since 1970.
///
/// # Errors
/// A limit was exceeded, as half a sentence for the user.
pub(crate) fn scan(place: &ScanRoot, known: Files, now: i64, most_time: Duration) -> Result<Scan, String> {
    let until = Instant::now() + most_time;
    let walk = Walk {
        place,
        until,
        left: Mutex::new(Left {
            directories: vec![OsString::new()],
            ..Left::default()
        }),
        more: Condvar::new(),
    };
    let threads = threads(MAX_THREADS);
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| walk.work())).collect();
        let own = walk.work();
        others.into_iter().map(joined).chain([own]).collect()
    });
    match walk.left.into_inner().end {
        None | Some(End::Done) => {}
        Some(End::Late) => {
            let most = most_time.as_secs();
            return Err(format!("scanning the workspace takes longer than {most} s"));
        }
        Some(End::ManyFiles) => {
            return Err(format!(
                "the workspace has more than {MAX_FILES} files that git does not ignore"
            ));
        }
        Some(End::ManyBytes) => {
            let most = MAX_BYTES >> 20;
            return Err(format!(
                "the workspace's files that git does not ignore have more than {most} MiB"
            ));
        }
    }
    let mut scan = Scan::default();
    scan.files.reserve(known.len());
    let (mut known, mut ignored) = (known, Vec::new());
    for part in parts {
        for (path, about) in part.files {
            scan.add(path, &about, &mut known, now);
        }
        ignored.extend(part.ignored);
    }
    ignored.truncate(MAX_IGNORED);
    let ChosenFiles { files, beyond } = choose(place, ignored, until);
    for (path, about) in files {
        if (about.is_symlink() || is_readable(&path, &about))
            && let Ok(path) = path.strip_prefix(&place.root)
        {
            scan.add(path.as_os_str().to_owned(), &about, &mut known, now);
        }
    }
    for (path, print) in known {
        let whole = place.root.join(&path);
        if whole.ancestors().any(|around| beyond.contains(around)) {
            scan.files.insert(path, print);
        } else {
            scan.gone.push(path.into());
        }
    }
    Ok(scan)
}

/// Returns the number of threads that work on something, up to a bound.
pub(crate) fn threads(most: usize) -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(most)
}

/// Waits for a thread, and goes on with its panic.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A walk through a workspace.
struct Walk<'a> {
    place: &'a ScanRoot,
    until: Instant,
    left: Mutex<Left>,
    /// There are more directories, or the walk has ended.
    more: Condvar,
}

/// The part of a walk that is left.
#[derive(Default)]
struct Left {
    /// Directories by relative path; the newest is next, so their number stays small.
    directories: Vec<OsString>,
    /// How many threads read a directory, and may find more.
    busy: usize,
    files: usize,
    bytes: u64,
    end: Option<End>,
}

/// How a walk ends.
#[derive(Clone, Copy)]
enum End {
    Done,
    Late,
    ManyFiles,
    ManyBytes,
}

/// The files that one thread has found.
#[derive(Default)]
struct Part {
    files: Vec<(OsString, Metadata)>,
    /// Ignored files and directories, absolute, each with whether it is a directory.
    ignored: Vec<(PathBuf, bool)>,
}

impl Walk<'_> {
    /// Reads directories until none is left.
    fn work(&self) -> Part {
        let ignores = Ignores::new(&self.place.root, IGNORE_RULES);
        let mut part = Part::default();
        while let Some(directory) = self.next() {
            let found = self.read(&directory, &ignores, &mut part);
            let mut left = self.left.lock();
            left.busy -= 1;
            left.directories.extend(found);
            drop(left);
            self.more.notify_all();
        }
        part
    }

    /// Returns the next directory, and waits for one while another thread may find it.
    fn next(&self) -> Option<OsString> {
        let mut left = self.left.lock();
        loop {
            if left.end.is_some() {
                return None;
            }
            if let Some(directory) = left.directories.pop() {
                left.busy += 1;
                return Some(directory);
            }
            if left.busy == 0 {
                left.end = Some(End::Done);
                self.more.notify_all();
                return None;
            }
            if self.more.wait_until(&mut left, self.until).timed_out() {
                left.end = Some(End::Late);
            }
        }
    }

    /// Adds the files of a directory and returns the directories in it.
    fn read(&self, directory: &OsStr, ignores: &Ignores, part: &mut Part) -> Vec<OsString> {
        let (mut found, mut files, mut bytes) = (Vec::new(), 0, 0);
        let path = self.place.root.join(directory);
        // An unreadable directory is skipped, and one that is gone meanwhile.
        for (count, entry) in std::fs::read_dir(&path)
            .into_iter()
            .flatten()
            .flatten()
            .enumerate()
        {
            if count % STRIDE == 0 && self.is_over(&mut files, &mut bytes) {
                return Vec::new();
            }
            let Ok(kind) = entry.file_type() else { continue };
            let whole = path.join(entry.file_name());
            if self.place.leaves_out(&whole) {
                continue;
            }
            if ignores.leaves_out(&whole, kind.is_dir()) {
                if part.ignored.len() < MAX_IGNORED {
                    part.ignored.push((whole, kind.is_dir()));
                }
            } else if kind.is_dir() {
                found.push(relative(directory, &entry));
            } else if (kind.is_file() || kind.is_symlink())
                && let Ok(about) = entry.metadata()
                && (kind.is_symlink() || (about.len() <= MAX_FILE_BYTES && is_readable(&whole, &about)))
            {
                files += 1;
                bytes += about.len();
                part.files.push((relative(directory, &entry), about));
            }
        }
        self.is_over(&mut files, &mut bytes);
        found
    }

    /// Counts files and bytes, and returns whether the walk has ended or a limit ends it.
    fn is_over(&self, files: &mut usize, bytes: &mut u64) -> bool {
        let mut left = self.left.lock();
        left.files += std::mem::take(files);
        left.bytes += std::mem::take(bytes);
        if left.end.is_none() {
            left.end = if left.files > MAX_FILES {
                Some(End::ManyFiles)
            } else if left.bytes > MAX_BYTES {
                Some(End::ManyBytes)
            } else {
                (Instant::now() >= self.until).then_some(End::Late)
            };
        }
        left.end.is_some()
    }
}

fn relative(directory: &OsStr, entry: &DirEntry) -> OsString {
    let name = entry.file_name();
    if directory.is_empty() {
        return name;
    }
    let mut path = OsString::with_capacity(directory.len() + 1 + name.len());
    path.push(directory);
    path.push("/");
    path.push(name);
    path
}

impl Scan {
    /// Adds a file, which is no longer to be looked for in `known` then.
    fn add(&mut self, path: OsString, about: &Metadata, known: &mut Files, now: i64) {
        let print = fingerprint(about, now);
        let before = known.remove(&path);
        if print.is_none() || before != Some(print) {
            self.changed.push(path.clone().into());
        }
        self.files.insert(path, print);
    }
}

impl ScanRoot {
    /// Returns whether a path is never a file of the workspace.
    pub(crate) fn leaves_out(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        let server = name.eq_ignore_ascii_case(".craft") && path.parent() == Some(&self.root);
        server || name.eq_ignore_ascii_case(".git") || path.as_os_str() == self.own.as_os_str()
    }
}

fn fingerprint(about: &Metadata, now: i64) -> Option<Fingerprint> {
    let tick = if about.ctime_nsec() == 0 {
        COARSE_TICK_MILLIS
    } else {
        TICK_MILLIS
    };
    let changed = about.ctime().saturating_mul(1_000) + about.ctime_nsec() / 1_000_000;
    (changed + tick < now).then(|| Fingerprint::of(about))
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
        let scan = scan(&place(root), Files::new(), LATER, Duration::from_secs(9)).unwrap();
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
        let again = |known: &Files| scan(&place, known.clone(), LATER, Duration::from_secs(9)).unwrap();
        let first = again(&Files::new());
        assert_eq!(names(first.changed), [".env", ".gitignore", "data/one"]);
        for n in 0..600 {
            write(root, &format!("data/{n}"));
        }
        std::fs::remove_file(root.join(".env")).unwrap();
        let second = again(&first.files);
        assert_eq!(names(second.gone), [".env"]);
        assert!(second.changed.is_empty(), "{:?}", second.changed);
        assert!(second.files.contains_key(OsStr::new("data/one")));
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
        let again = |known: &Files, now| scan(&place, known.clone(), now, Duration::from_secs(9)).unwrap();
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
        let refused = scan(&place(work.path()), Files::new(), LATER, Duration::from_secs(9));
        assert!(refused.unwrap_err().contains("1024 MiB"));
        let late = scan(&place(work.path()), Files::new(), LATER, Duration::ZERO);
        assert!(late.unwrap_err().contains("longer"));
    }
}
