//! Reaches directories without following a symbolic link, and handles the files in them.
//!
//! A path is walked from the root, one part at a time, each from the directory before it. If a program swaps a
//! directory for a link meanwhile, the walk fails instead of leading elsewhere. Operations on names then use the
//! reached directory, wherever its path leads by now. Knows nothing of workspaces and permissions of calls. Blocking;
//! one open file for each value.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, symlinkat, unlinkat};

/// How a directory is opened: to walk through, not to be read.
#[cfg(target_os = "linux")]
const THROUGH: OFlag = OFlag::O_PATH;
/// How a directory is opened.
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlag = OFlag::O_RDONLY;

/// The state of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Nothing.
    Nothing,
    /// An ordinary file with these permissions.
    File(u32, Vec<u8>),
    /// A symbolic link with this target.
    Link(Vec<u8>),
    /// An ordinary file that is too large or may not be read.
    Unread(Fingerprint),
    /// A directory, a device, or anything that cannot be reached directly.
    Other,
}

/// The identity of a file and its last change, without its name and permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    device: u64,
    inode: u64,
    size: i64,
    written: (i64, i64),
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory(OwnedFd);

/// Reads the state of an absolute path, of a file up to `max_bytes`. Blocking.
pub fn find(path: &Path, max_bytes: u64) -> FileState {
    state(Directory::parent_of(path), max_bytes)
}

/// Opens the ordinary file at an absolute path without links for reading.
///
/// # Errors
/// The file is missing or not ordinary, or a link is on the way by now.
pub fn open_file(path: &Path) -> io::Result<File> {
    let opened = Directory::parent_of(path).and_then(|(directory, name)| directory.open_file(name));
    opened.map_err(as_moved)
}

/// Opens or reads many files, one after the other, as [`open_file`] and [`find`] do.
///
/// The directory of the last file stays open, so the files of one directory cost one walk from the root.
#[derive(Debug, Default)]
pub struct Opener(Option<(PathBuf, Directory)>);

impl Opener {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`open_file`].
    pub fn open(&mut self, path: &Path) -> io::Result<File> {
        let opened = self.parent_of(path);
        opened
            .and_then(|(directory, name)| directory.open_file(name))
            .map_err(as_moved)
    }

    /// Reads the state of an absolute path, of a file up to `max_bytes`.
    pub fn find(&mut self, path: &Path, max_bytes: u64) -> FileState {
        state(self.parent_of(path), max_bytes)
    }

    fn parent_of<'a>(&mut self, path: &'a Path) -> io::Result<(&Directory, &'a OsStr)> {
        let (parent, name) = parts(path)?;
        let directory = match self.0.take().filter(|(last, _)| last == parent) {
            Some(last) => last,
            None => (parent.to_owned(), Directory::open(parent)?),
        };
        let (_, directory) = self.0.insert(directory);
        Ok((directory, name))
    }
}

fn state(parent: io::Result<(impl Borrow<Directory>, &OsStr)>, max_bytes: u64) -> FileState {
    match parent {
        Ok((directory, name)) => directory.borrow().find(name, max_bytes),
        Err(error) if is_missing(&error) => FileState::Nothing,
        Err(_) => FileState::Other,
    }
}

/// Says of an error that a link is on the way, in words for users.
fn as_moved(error: io::Error) -> io::Error {
    match Errno::try_from(error) {
        Ok(Errno::ELOOP) => io::Error::other("it leads elsewhere since it was checked"),
        Ok(errno) => errno.into(),
        Err(error) => error,
    }
}

/// Returns whether an error says that nothing is there: no such name, or a file in the place of a directory. A link is
/// another error.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

impl Directory {
    /// Opens the directory at an absolute path.
    ///
    /// # Errors
    /// The directory is missing or is no directory, or a link is on the way (`ELOOP`).
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::walk(path, |directory, name, _| directory.child(name))
    }

    /// Opens the directory at an absolute path, and creates its missing parts; the new ones are added to `made`.
    ///
    /// # Errors
    /// As [`Directory::open`], or a directory could not be created.
    pub(crate) fn make(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<Self> {
        Self::walk(path, |directory, name, reached| {
            match directory.child(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                child => return child,
            }
            match mkdirat(&directory.0, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) => made.push(reached.to_owned()),
                // Another program was faster.
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(error.into()),
            }
            directory.child(name)
        })
    }

    /// Opens the parent directory of a path, and returns the name there.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub(crate) fn parent_of(path: &Path) -> io::Result<(Self, &OsStr)> {
        let (parent, name) = parts(path)?;
        Ok((Self::open(parent)?, name))
    }

    /// Returns the nearest existing parent directory of a path.
    ///
    /// # Errors
    /// A link is on the way, or a directory may not be entered.
    pub(crate) fn nearest(path: &Path) -> io::Result<&Path> {
        for parent in path.ancestors().skip(1) {
            match Self::open(parent) {
                Ok(_) => return Ok(parent),
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::ENOENT.into())
    }

    fn walk(path: &Path, mut step: impl FnMut(&Self, &OsStr, &Path) -> io::Result<Self>) -> io::Result<Self> {
        let flags = THROUGH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut directory = Self(open("/", flags, Mode::empty())?);
        let mut reached = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => {
                    reached.push(name);
                    directory = step(&directory, name, &reached)?;
                }
                // No caller passes such a path.
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        Ok(directory)
    }

    fn child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = THROUGH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(child) => Ok(Self(child)),
            // Links give this error too.
            Err(Errno::ENOTDIR) if self.about(name)?.is_some_and(|about| is(&about, SFlag::S_IFLNK)) => {
                Err(Errno::ELOOP.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn about(&self, name: &OsStr) -> io::Result<Option<FileStat>> {
        match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(about) => Ok(Some(about)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether the name exists.
    ///
    /// # Errors
    /// The answer is unknown.
    pub(crate) fn has(&self, name: &OsStr) -> io::Result<bool> {
        Ok(self.about(name)?.is_some())
    }

    /// Returns the permissions of the ordinary file of this name, if there is one.
    pub(crate) fn mode(&self, name: &OsStr) -> Option<u32> {
        let about = self.about(name).ok().flatten()?;
        is(&about, SFlag::S_IFREG).then_some(mode(&about))
    }

    /// Returns the identity of the file of this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn fingerprint(&self, name: &OsStr) -> io::Result<Fingerprint> {
        Ok(fingerprint(&self.about(name)?.ok_or(Errno::ENOENT)?))
    }

    /// Reads the state of this name, of a file up to `max_bytes`.
    pub(crate) fn find(&self, name: &OsStr, max_bytes: u64) -> FileState {
        match self.about(name) {
            Ok(None) => FileState::Nothing,
            Ok(Some(about)) if is(&about, SFlag::S_IFLNK) => match readlinkat(&self.0, name) {
                Ok(target) => FileState::Link(target.as_bytes().to_vec()),
                Err(_) => FileState::Other,
            },
            Ok(Some(about)) if is(&about, SFlag::S_IFREG) => self
                .read(name, max_bytes)
                .unwrap_or(FileState::Unread(fingerprint(&about))),
            _ => FileState::Other,
        }
    }

    /// Opens an ordinary file for reading. Never blocks on a pipe or device.
    ///
    /// # Errors
    /// No file has this name; a link is `ELOOP`.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let about = self.about(name)?.ok_or(Errno::ENOENT)?;
        if is(&about, SFlag::S_IFLNK) {
            return Err(Errno::ELOOP.into());
        }
        if is(&about, SFlag::S_IFDIR) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if !is(&about, SFlag::S_IFREG) {
            return Err(io::Error::other("it is not an ordinary file"));
        }
        // A file that has been swapped meanwhile is neither followed nor waited for.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not an ordinary file"));
        }
        Ok(file)
    }

    fn read(&self, name: &OsStr, max_bytes: u64) -> io::Result<FileState> {
        let file = self.open_file(name)?;
        let about = file.metadata()?;
        if about.len() > max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut content = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
        file.take(max_bytes + 1).read_to_end(&mut content)?;
        if content.len() as u64 > max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(FileState::File(about.permissions().mode() & 0o7777, content))
    }

    /// Opens a file for writing, made or emptied.
    ///
    /// # Errors
    /// The file cannot be opened; a link is `ELOOP`.
    pub(crate) fn overwrite(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::from_bits_truncate(0o666))?;
        Ok(File::from(file))
    }

    /// Creates an empty file under a new name.
    ///
    /// # Errors
    /// The name exists, or the file cannot be created.
    pub(crate) fn create(&self, name: &OsStr, permissions: u32) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::from_bits_truncate(permissions as _))?;
        Ok(File::from(file))
    }

    /// Creates a symbolic link under a new name.
    ///
    /// # Errors
    /// The name exists, or the link cannot be created.
    pub(crate) fn link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Gives a file a second name in the same directory: a hard link, or a copy where there are no hard links.
    ///
    /// # Errors
    /// The name does not exist, or neither can be created.
    pub(crate) fn second(&self, name: &OsStr, second: &OsStr, max_bytes: u64) -> io::Result<()> {
        let error = match linkat(&self.0, name, &self.0, second, AtFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(error @ (Errno::EEXIST | Errno::ENOENT)) => return Err(error.into()),
            Err(error) => error,
        };
        match self.find(name, max_bytes) {
            FileState::File(mode, content) => {
                let mut copy = self.create(second, 0o600)?;
                io::Write::write_all(&mut copy, &content)?;
                copy.set_permissions(Permissions::from_mode(mode))
            }
            FileState::Link(target) => self.link(OsStr::from_bytes(&target), second),
            FileState::Nothing => Err(Errno::ENOENT.into()),
            FileState::Unread(_) | FileState::Other => Err(error.into()),
        }
    }

    /// Moves a file to a name in another directory, in place of any file of that name.
    ///
    /// # Errors
    /// The file cannot be moved; nothing has changed.
    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &to.0, new)?)
    }

    /// Moves a file to a new name in another directory. On file systems without hard links, a file that gets that name
    /// in the same moment is lost.
    ///
    /// # Errors
    /// The name exists, or the file cannot be moved; nothing has changed.
    pub(crate) fn rename_to_new(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        match linkat(&self.0, name, &to.0, new, AtFlags::empty()) {
            Ok(()) => {
                // A second name is harmless; the creator of the first name removes it.
                drop(self.remove(name));
                Ok(())
            }
            Err(error @ (Errno::EEXIST | Errno::ENOENT)) => Err(error.into()),
            Err(_) if to.has(new)? => Err(Errno::EEXIST.into()),
            Err(_) => self.rename(name, to, new),
        }
    }

    /// Removes the name of a file or link.
    ///
    /// # Errors
    /// The name is a directory's, or cannot be removed.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The directory is not empty, or cannot be removed.
    pub(crate) fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::RemoveDir)?)
    }
}

/// Returns the parent directory of a path, and the name there.
///
/// # Errors
/// The path is the root, which has no name.
pub(crate) fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn fingerprint(about: &FileStat) -> Fingerprint {
    Fingerprint {
        device: about.st_dev,
        inode: about.st_ino,
        size: about.st_size,
        written: (about.st_mtime, about.st_mtime_nsec),
    }
}

fn is(about: &FileStat, kind: SFlag) -> bool {
    SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT == kind
}

fn mode(about: &FileStat) -> u32 {
    #[expect(clippy::useless_conversion, reason = "narrower on other systems")]
    u32::from(about.st_mode & 0o7777)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_of_several_directories_are_opened_in_turn() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("a path");
        for part in ["one", "two"] {
            std::fs::create_dir(root.join(part)).expect("a directory");
            std::fs::write(root.join(part).join("name"), part).expect("a file");
        }
        let mut opener = Opener::default();
        for part in ["one", "one", "two", "one"] {
            let mut text = String::new();
            let opened = opener.open(&root.join(part).join("name"));
            opened.expect("a file").read_to_string(&mut text).expect("text");
            assert_eq!(text, part);
        }
        assert!(opener.open(&root.join("three/name")).is_err());
    }

    #[test]
    fn links_are_not_followed_in_any_part_of_a_path() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("real")).expect("a directory");
        std::fs::write(root.join("real/file"), "text").expect("a file");
        symlink("real", root.join("directory")).expect("a link");
        symlink("file", root.join("real/link")).expect("a link");
        let mut opener = Opener::default();
        assert!(opener.open(&root.join("real/file")).is_ok());
        for path in ["real/link", "directory/file"] {
            let error = opener.open(&root.join(path)).expect_err("a link is no file");
            assert_eq!(error.to_string(), "it leads elsewhere since it was checked");
        }
    }
}
