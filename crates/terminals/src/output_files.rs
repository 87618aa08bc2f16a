//! The output files: `<thread>/<id>.log` with output, `<id>.json` with the record of a terminal. Beside them are the
//! Thread's pictures, `<thread>/picture_<hash>.<kind>`.
//!
//! The directory is opened once. All files are reached from there without following links, and names are checked before
//! use. Only their owner may read the files. Calls block; those that reach the disk are made off the async threads.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bobbin_agent_api::picture::MAX_PICTURE_BYTES;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// Largest record that is read: a command line and little else.
const MAX_RECORD_BYTES: u64 = 512 << 10;
/// Longest name of a Thread's directory.
const MAX_NAME: usize = 128;
/// The start of a picture's id.
pub(crate) const PICTURE: &str = "picture_";
/// The endings of the files of an id: output, record, picture.
const ENDINGS: [&str; 6] = ["log", "json", "png", "jpeg", "gif", "webp"];
/// A file that is touched to read the file system's clock.
const CLOCK: &str = "clock";

/// The directory.
#[derive(Debug)]
pub(crate) struct OutputFiles {
    path: PathBuf,
    directory: OwnedFd,
    /// Bytes in all files.
    used: AtomicU64,
    capacity: u64,
}

/// The files of one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) thread: String,
    pub(crate) id: String,
    pub(crate) bytes: u64,
    pub(crate) modified: SystemTime,
}

impl Item {
    pub(crate) fn is_picture(&self) -> bool {
        self.id.starts_with(PICTURE)
    }
}

impl OutputFiles {
    /// Opens the directory, and creates it if it is missing.
    pub(crate) fn open(path: &Path, capacity: u64) -> io::Result<Self> {
        let path = path.to_owned();
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&path)?;
        let directory = File::options()
            .read(true)
            .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits())
            .open(&path)?;
        let output_files = Self {
            path,
            directory: directory.into(),
            used: AtomicU64::new(0),
            capacity,
        };
        let used = output_files.items().iter().map(|item| item.bytes).sum();
        output_files.used.store(used, Ordering::Relaxed);
        Ok(output_files)
    }

    /// Returns the path of the output of `id`, which need not exist.
    pub(crate) fn log_path(&self, thread: &str, id: &str) -> PathBuf {
        self.path.join(thread).join(format!("{id}.log"))
    }

    /// Creates the file for the output of `id`.
    pub(crate) fn create_log(&self, thread: &str, id: &str) -> io::Result<File> {
        check(thread, id)?;
        let flags = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT | OFlag::O_EXCL;
        open(&self.folder(thread)?, &format!("{id}.log"), flags)
    }

    /// Returns the last `limit` bytes of the output of `id`.
    pub(crate) fn read_log(&self, thread: &str, id: &str, limit: u64) -> io::Result<Vec<u8>> {
        check(thread, id)?;
        let mut file = open(&self.folder(thread)?, &format!("{id}.log"), OFlag::O_RDONLY)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a record completely or not at all; it is on disk when this returns.
    pub(crate) fn write_record(&self, thread: &str, id: &str, record: &[u8]) -> io::Result<()> {
        check(thread, id)?;
        let name = format!("{id}.json");
        let folder = self.folder(thread)?;
        let before = open(&folder, &name, OFlag::O_RDONLY).and_then(|file| file.metadata());
        self.give_back(before.map_or(0, |found| found.len()));
        self.add(record.len() as u64);
        Self::put(&folder, &name, record)
    }

    /// Reads a record.
    pub(crate) fn read_record(&self, thread: &str, id: &str) -> io::Result<Vec<u8>> {
        check(thread, id)?;
        let file = open(&self.folder(thread)?, &format!("{id}.json"), OFlag::O_RDONLY)?;
        let mut bytes = Vec::new();
        file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Stores a picture under `id` and its ending, completely or not at all, unless it is there. Returns its path, or
    /// `None` if there is no room.
    pub(crate) fn put_picture(
        &self,
        thread: &str,
        id: &str,
        ending: &str,
        bytes: &[u8],
    ) -> io::Result<Option<PathBuf>> {
        check(thread, id)?;
        let name = format!("{id}.{ending}");
        let folder = self.folder(thread)?;
        let path = self.path.join(thread).join(&name);
        let size = bytes.len() as u64;
        let found = open(&folder, &name, OFlag::O_RDONLY).and_then(|file| file.metadata());
        if found.is_ok_and(|found| found.len() == size) {
            return Ok(Some(path));
        }
        if !self.take(size) {
            return Ok(None);
        }
        if let Err(error) = Self::put(&folder, &name, bytes) {
            self.give_back(size);
            return Err(error);
        }
        Ok(Some(path))
    }

    /// Reads the picture of a Thread that [`OutputFiles::put_picture`] stored at `path`.
    pub(crate) fn read_picture(&self, thread: &str, path: &Path) -> io::Result<Vec<u8>> {
        let inside = path.strip_prefix(self.path.join(thread)).ok();
        let name = inside.and_then(Path::to_str).unwrap_or_default();
        let (id, ending) = name.split_once('.').unwrap_or_default();
        check(thread, id)?;
        if !id.starts_with(PICTURE) || !ENDINGS.contains(&ending) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = open(&self.existing_folder(thread)?, name, OFlag::O_RDONLY)?;
        let mut bytes = Vec::new();
        file.take(MAX_PICTURE_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes the files of `id`, and the Thread's directory with the last of them.
    pub(crate) fn remove(&self, item: &Item) {
        if check(&item.thread, &item.id).is_err() {
            return;
        }
        let Ok(folder) = self.folder(&item.thread) else {
            return;
        };
        for ending in ENDINGS {
            // A missing file need not be removed.
            let name = format!("{}.{ending}", item.id);
            let _ = unlinkat(&folder, name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
        self.give_back(item.bytes);
        // Fails until the directory is empty.
        let thread = item.thread.as_str();
        let _ = unlinkat(&self.directory, thread, UnlinkatFlags::RemoveDir);
    }

    /// Returns all files, oldest first.
    pub(crate) fn items(&self) -> Vec<Item> {
        let threads = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut items: Vec<Item> = Vec::new();
        for thread in threads.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let Ok(name) = thread.file_name().into_string() else {
                continue;
            };
            for file in fs::read_dir(thread.path()).into_iter().flatten().flatten() {
                let Ok(file_name) = file.file_name().into_string() else {
                    continue;
                };
                let Some((id, _)) = file_name.split_once('.') else {
                    continue;
                };
                let Ok(found) = file.metadata().map(|found| (found.size(), found.modified())) else {
                    continue;
                };
                if check(&name, id).is_err() {
                    continue;
                }
                let modified = found.1.unwrap_or(SystemTime::UNIX_EPOCH);
                match items.iter_mut().find(|item| item.thread == name && item.id == id) {
                    Some(item) => {
                        item.bytes += found.0;
                        item.modified = item.modified.max(modified);
                    }
                    None => items.push(Item {
                        thread: name.clone(),
                        id: id.to_owned(),
                        bytes: found.0,
                        modified,
                    }),
                }
            }
        }
        items.sort_by_key(|item| item.modified);
        items
    }

    /// Returns the time of the file system's clock, which dates the changes.
    pub(crate) fn now(&self) -> io::Result<SystemTime> {
        Self::put(&self.directory, CLOCK, b"")?;
        let flags = OFlag::O_RDONLY;
        open(&self.directory, CLOCK, flags)?.metadata()?.modified()
    }

    /// Reserves `bytes`, if there is room.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let used = used.saturating_add(bytes);
                (used <= self.capacity).then_some(used)
            });
        taken.is_ok()
    }

    /// Adds `bytes`, even beyond the limit.
    pub(crate) fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns how many bytes to remove so that a quarter of the room is free.
    pub(crate) fn excess(&self) -> u64 {
        let used = self.used.load(Ordering::Relaxed);
        used.saturating_sub(self.capacity / 4 * 3)
    }

    fn give_back(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        // The closure never refuses a change.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    fn folder(&self, thread: &str) -> io::Result<OwnedFd> {
        match mkdirat(&self.directory, thread, Mode::S_IRWXU) {
            Ok(()) | Err(nix::errno::Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.existing_folder(thread)
    }

    fn existing_folder(&self, thread: &str) -> io::Result<OwnedFd> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(openat(&self.directory, thread, flags, Mode::empty())?)
    }

    /// Writes a small file in one step.
    fn put(folder: &OwnedFd, name: &str, content: &[u8]) -> io::Result<()> {
        let next = format!("{name}.new");
        let _ = unlinkat(folder, next.as_str(), UnlinkatFlags::NoRemoveDir);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let mut file = open(folder, &next, flags)?;
        file.write_all(content)?;
        file.sync_data()?;
        renameat(folder, next.as_str(), folder, name)?;
        Ok(())
    }
}

/// Opens a file for its owner only, and never through a link.
fn open(folder: &OwnedFd, name: &str, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Refuses names that the server does not generate.
fn check(thread: &str, id: &str) -> io::Result<()> {
    let plain = |name: &str| {
        (1..=MAX_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    if plain(thread) && plain(id) {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn files_are_the_owners_and_go_with_their_directory() {
        let place = tempfile::tempdir().unwrap();
        let output_files = OutputFiles::open(&place.path().join("files"), 1000).unwrap();
        output_files
            .create_log("thread_1", "term_1")
            .unwrap()
            .write_all(b"abcdef")
            .unwrap();
        output_files.write_record("thread_1", "term_1", b"{}").unwrap();
        assert!(
            output_files.create_log("thread_1", "term_1").is_err(),
            "it is there"
        );
        let mode = fs::metadata(output_files.log_path("thread_1", "term_1"))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        assert_eq!(output_files.read_log("thread_1", "term_1", 4).unwrap(), b"cdef");
        assert_eq!(output_files.read_record("thread_1", "term_1").unwrap(), b"{}");
        let items = output_files.items();
        assert_eq!((items.len(), items[0].bytes), (1, 8));
        output_files.remove(&items[0]);
        assert_eq!(output_files.items(), []);
        assert!(!place.path().join("files/thread_1").exists());
    }

    #[test]
    fn nothing_is_reached_through_links_or_names_of_others() {
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("term_1.log"), "key").unwrap();
        let output_files = OutputFiles::open(&place.path().join("files"), 1000).unwrap();
        symlink(&secret, place.path().join("files/thread_1")).unwrap();
        assert!(output_files.create_log("thread_1", "term_2").is_err());
        assert!(output_files.read_log("thread_1", "term_1", 10).is_err());
        assert_eq!(output_files.items(), []);
        fs::create_dir(place.path().join("files/thread_2")).unwrap();
        let link = place.path().join("files/thread_2/term_1.log");
        symlink(secret.join("term_1.log"), link).unwrap();
        assert!(output_files.read_log("thread_2", "term_1", 10).is_err());
        for (thread, id) in [("..", "term_1"), ("thread_1", "../x"), ("", "a"), ("a/b", "c")] {
            assert!(output_files.create_log(thread, id).is_err(), "{thread} {id}");
        }
        assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
    }

    #[test]
    fn room_is_taken_and_given_back() {
        let place = tempfile::tempdir().unwrap();
        let output_files = OutputFiles::open(place.path(), 100).unwrap();
        assert!(output_files.take(90) && !output_files.take(11) && output_files.take(10));
        assert_eq!(output_files.excess(), 25);
        output_files.give_back(100);
        assert_eq!(output_files.excess(), 0);
    }
}
