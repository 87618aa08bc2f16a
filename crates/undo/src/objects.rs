//! Writes objects of the shadow repository without git, and encodes the names of files in them.
//!
//! A file tool's call costs a few loose objects: the contents before and after, and a tree that lists them. Such a tree
//! is flat: its names are absolute paths, encoded without slashes. Blocking.

use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;
use sha1::{Digest as _, Sha1};

/// The kind of a stored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileMode {
    /// An ordinary file.
    Plain,
    /// An executable file.
    Program,
    /// A symbolic link; the content is its target.
    Link,
}

impl FileMode {
    /// Returns git's word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
        }
    }

    /// Returns the mode for git's word; `None` for a missing file and for anything else than a file.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Plain, Self::Program, Self::Link]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// The content of a file.
    Blob,
    /// A directory.
    Tree,
}

impl ObjectKind {
    /// Returns git's word for it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
        }
    }
}

/// A stored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StoredFile {
    pub(crate) mode: FileMode,
    /// Name of the object with its content.
    pub(crate) blob: Digest,
}

/// The name of an object in a repository of git's first format. Shown in hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Digest([u8; 20]);

impl Digest {
    /// Returns the name that git gives to an object.
    pub(crate) fn of(kind: ObjectKind, content: &[u8]) -> Self {
        let mut sum = Sha1::new();
        sum.update(format!("{} {}\0", kind.as_str(), content.len()));
        sum.update(content);
        Self(sum.finalize().into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Reads hexadecimal digits.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let mut digest = [0; 20];
        hex::decode_to_slice(digits, &mut digest).ok()?;
        Some(Self(digest))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// Writes a loose object and returns its name. An existing object gets a new time, since git collects objects by age.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_object(repository: &Path, kind: ObjectKind, content: &[u8]) -> io::Result<Digest> {
    let digest = Digest::of(kind, content);
    let path = loose(repository, &digest.to_string());
    let now = TimeSpec::UTIME_NOW;
    if File::open(&path).is_ok_and(|file| futimens(&file, &now, &now).is_ok()) {
        return Ok(digest);
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(format!("{} {}\0", kind.as_str(), content.len()).as_bytes())?;
    packed.write_all(content)?;
    put(repository, &path, &packed.finish()?)?;
    Ok(digest)
}

/// The content of a loose object.
pub(crate) type LooseContent = BufReader<ZlibDecoder<File>>;

/// Returns the size of a loose object and a reader of its content; `None` if git has packed it, or it is missing.
pub(crate) fn open_object(repository: &Path, name: &str) -> Option<(u64, LooseContent)> {
    let mut unpacked = BufReader::new(ZlibDecoder::new(File::open(loose(repository, name)).ok()?));
    let mut head = Vec::new();
    // The head is a kind, a space, a size and a zero byte.
    unpacked.by_ref().take(64).read_until(0, &mut head).ok()?;
    let head = std::str::from_utf8(head.strip_suffix(&[0])?).ok()?;
    let size = head.split_once(' ')?.1.parse().ok()?;
    Some((size, unpacked))
}

/// Returns the file of a loose object.
fn loose(repository: &Path, name: &str) -> PathBuf {
    let (directory, file) = name.split_at(name.len().min(2));
    repository.join("objects").join(directory).join(file)
}

/// Writes a file of the repository in one step.
///
/// # Errors
/// It cannot be written.
pub(crate) fn put(repository: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let half = half_name(repository, path);
    let written = std::fs::write(&half, content).and_then(|()| std::fs::rename(&half, path));
    if written.is_err() {
        drop(std::fs::remove_file(&half));
    }
    written
}

/// Returns a new name for a file that becomes the one at `path`; a server that starts removes such files.
pub(crate) fn half_name(repository: &Path, path: &Path) -> PathBuf {
    use std::hash::BuildHasher as _;
    let own = std::hash::RandomState::new().hash_one(path);
    repository.join(format!("half-{own:016x}"))
}

/// Returns the content of a tree that lists files, including missing ones.
pub(crate) fn list(files: &[(PathBuf, Option<StoredFile>)]) -> Vec<u8> {
    let missing = StoredFile {
        mode: FileMode::Plain,
        blob: Digest::of(ObjectKind::Blob, b""),
    };
    let mut lines: Vec<(String, &StoredFile)> = files
        .iter()
        .map(|(path, entry)| {
            let there = if entry.is_some() { '+' } else { '-' };
            (
                format!("{there}{}", encoded(path)),
                entry.as_ref().unwrap_or(&missing),
            )
        })
        .collect();
    lines.sort();
    lines.dedup();
    let mut tree = Vec::new();
    for (name, entry) in lines {
        tree.extend_from_slice(format!("{} {name}\0", entry.mode.as_str()).as_bytes());
        tree.extend_from_slice(entry.blob.as_bytes());
    }
    tree
}

/// Reads the content of such a tree; `None` if [`list`] did not write it.
pub(crate) fn listed(mut tree: &[u8]) -> Option<Vec<(PathBuf, Option<StoredFile>)>> {
    let mut files = Vec::new();
    while !tree.is_empty() {
        let end = tree.iter().position(|&byte| byte == 0)?;
        let (mode, name) = std::str::from_utf8(&tree[..end]).ok()?.split_once(' ')?;
        let digest = tree.get(end + 1..end + 21)?;
        tree = &tree[end + 21..];
        let blob = Digest(digest.try_into().ok()?);
        let entry = match name.get(..1)? {
            "+" => Some(StoredFile {
                mode: FileMode::from_word(mode)?,
                blob,
            }),
            "-" => None,
            _ => return None,
        };
        files.push((decoded(&name[1..])?, entry));
    }
    Some(files)
}

/// Returns a path encoded in letters, digits, `.`, `_`, `-` and `%`.
pub(crate) fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
            text.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

fn decoded(text: &str) -> Option<PathBuf> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let pair = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_names_that_git_gives_them() {
        let name = |content: &[u8]| Digest::of(ObjectKind::Blob, content).to_string();
        assert_eq!(name(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(name(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn an_object_is_written_once_and_read() {
        let work = tempfile::tempdir().unwrap();
        let name = write_object(work.path(), ObjectKind::Blob, b"tea\n").unwrap();
        let path = loose(work.path(), &name.to_string());
        let old = std::time::SystemTime::UNIX_EPOCH;
        File::open(&path).unwrap().set_modified(old).unwrap();
        let written = std::fs::read(&path).unwrap();
        assert_eq!(
            write_object(work.path(), ObjectKind::Blob, b"tea\n").unwrap(),
            name
        );
        assert!(std::fs::metadata(&path).unwrap().modified().unwrap() > old);
        assert_eq!(std::fs::read(&path).unwrap(), written);
        let (size, mut content) = open_object(work.path(), &name.to_string()).unwrap();
        let mut text = String::new();
        content.read_to_string(&mut text).unwrap();
        assert_eq!((size, text.as_str()), (4, "tea\n"));
        assert!(open_object(work.path(), &Digest::of(ObjectKind::Blob, b"").to_string()).is_none());
    }

    #[test]
    fn a_list_comes_back_whatever_its_paths_are() {
        let odd = PathBuf::from(OsString::from_vec(b"/w/.git/\xff\n %".to_vec()));
        let entry = StoredFile {
            mode: FileMode::Link,
            blob: Digest::of(ObjectKind::Blob, b"x"),
        };
        let files = vec![(odd, Some(entry)), (PathBuf::from("/w/none"), None)];
        assert_eq!(listed(&list(&files)).unwrap(), files);
        assert!(listed(b"100644 x\0").is_none());
    }
}
