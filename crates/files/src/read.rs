//! Opens and reads ordinary files by name, up to a bound.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use crate::directory::Directory;

/// Opens an ordinary file for reading; links are followed. Never blocks: a pipe or a device is refused.
///
/// # Errors
/// The file cannot be opened, or is not ordinary ([`io::ErrorKind::InvalidInput`]).
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(path, OFlag::empty())
}

/// Opens an ordinary file as [`open_regular`] does, but refuses a link (`ELOOP`).
pub(crate) fn open_unlinked(path: &Path) -> io::Result<File> {
    open(path, OFlag::O_NOFOLLOW)
}

fn open(path: &Path, flags: OFlag) -> io::Result<File> {
    // A device may act when opened, so it is not opened, unless it is swapped in after this check.
    if !flags.contains(OFlag::O_NOFOLLOW) {
        check(&path.metadata()?)?;
    }
    let flags = flags | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(found: &std::fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = if found.is_dir() {
        "it is a directory"
    } else {
        "it is not an ordinary file"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Returns a text that changes with a file's content: its size and the time of its last change.
pub fn fingerprint(found: &std::fs::Metadata) -> String {
    format!("{}-{}.{:09}", found.size(), found.mtime(), found.mtime_nsec())
}

/// Reads all of an ordinary file of at most `max_bytes`; links are followed.
///
/// # Errors
/// As [`open_regular`], or the file is larger ([`io::ErrorKind::FileTooLarge`]).
pub fn read_bytes(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    read(open_regular(path)?, max_bytes)
}

/// Reads all of an ordinary file of at most `max_bytes` as text; links are followed.
///
/// # Errors
/// As [`read_bytes`], or the file is not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    as_text(read_bytes(path, max_bytes)?)
}

/// Reads all of an ordinary file of a workspace, of at most `max_bytes`, as text. No part of the path may be a link: a folder
/// that is cloned brings its links along, and they may lead to secrets of the user. Callers resolve the workspace's own path.
///
/// # Errors
/// As [`read_text`]. The error of a link says so.
pub fn read_text_unlinked(path: &Path, max_bytes: u64) -> io::Result<String> {
    let opened = Directory::parent_of(path).and_then(|(directory, name)| directory.open_file(name));
    as_text(read(opened.map_err(as_link)?, max_bytes)?)
}

fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Says of an error that a link is on the way, and what to do.
pub(crate) fn as_link(error: io::Error) -> io::Error {
    match Errno::try_from(error) {
        Ok(Errno::ELOOP) => io::Error::other(
            "it is a link or behind one, and links in a workspace are not followed; put the file itself there",
        ),
        Ok(errno) => errno.into(),
        Err(error) => error,
    }
}

pub(crate) fn read(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let text = format!("it has more than {max_bytes} bytes");
        io::Error::new(io::ErrorKind::FileTooLarge, text)
    };
    let length = file.metadata()?.len();
    if length > max_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn only_ordinary_files_within_the_bound_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("text"), "1234").unwrap();
        symlink(at("text"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        std::fs::write(at("bytes"), b"\xff").unwrap();
        let sparse = File::create(at("sparse")).unwrap();
        sparse.set_len(20 << 30).unwrap();

        assert_eq!(read_text(&at("text"), 4).unwrap(), "1234");
        assert_eq!(read_text(&at("link"), 4).unwrap(), "1234");
        for (name, kind) in [
            ("text", io::ErrorKind::FileTooLarge),
            ("sparse", io::ErrorKind::FileTooLarge),
            ("zero", io::ErrorKind::InvalidInput),
            ("pipe", io::ErrorKind::InvalidInput),
            (".", io::ErrorKind::InvalidInput),
            ("bytes", io::ErrorKind::InvalidData),
            ("missing", io::ErrorKind::NotFound),
        ] {
            assert_eq!(read_text(&at(name), 3).unwrap_err().kind(), kind, "{name}");
        }
        // The kernel's files report a size of zero.
        let error = read_bytes(Path::new("/proc/self/maps"), 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_text_of_a_workspace_is_read_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/text"), "x").unwrap();
        symlink("real", root.join("directory")).unwrap();
        symlink("real/text", root.join("file")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        assert_eq!(read_text_unlinked(&root.join("real/text"), 9).unwrap(), "x");
        for path in ["directory/text", "file", "dangling"] {
            let error = read_text_unlinked(&root.join(path), 9).unwrap_err();
            assert!(error.to_string().contains("it is a link"), "{path}: {error}");
        }
        let error = read_text_unlinked(&root.join("no/file"), 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_can_be_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("text"), "x").unwrap();
        symlink("text", dir.path().join("link")).unwrap();
        assert!(open_unlinked(&dir.path().join("text")).is_ok());
        assert!(open_unlinked(&dir.path().join("link")).is_err());
    }
}
