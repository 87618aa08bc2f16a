//! Writes objects of the shadow repository without git, and encodes the names of files in them.
//!
//! A file tool's call costs a few loose objects: the contents before and after, and a tree that lists them. Such a tree
//! is flat: its names are absolute paths, encoded without slashes. Blocking.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
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

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) mode: FileMode,
    /// Name of the object with its content.
    pub(crate) blob: String,
}

/// Returns the name that an object has in a repository of git's first format.
pub(crate) fn name_of(kind: &str, content: &[u8]) -> String {
    hex::encode(sum(kind, content))
}

fn sum(kind: &str, content: &[u8]) -> [u8; 20] {
    let mut sum = Sha1::new();
    sum.update(format!("{kind} {}\0", content.len()));
    sum.update(content);
    sum.finalize().into()
}

/// Writes a loose object and returns its name. An existing object is written again, since git collects objects by age.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_object(repository: &Path, kind: &str, content: &[u8]) -> io::Result<String> {
    let name = name_of(kind, content);
    let directory = repository.join("objects").join(&name[..2]);
    let path = directory.join(&name[2..]);
    std::fs::create_dir_all(&directory)?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(format!("{kind} {}\0", content.len()).as_bytes())?;
    packed.write_all(content)?;
    put(repository, &path, &packed.finish()?)?;
    Ok(name)
}

/// Writes a file of the repository in one step.
///
/// # Errors
/// It cannot be written.
pub(crate) fn put(repository: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    use std::hash::BuildHasher as _;
    let own = std::hash::RandomState::new().hash_one(path);
    let half = repository.join(format!("half-{own:016x}"));
    let written = std::fs::write(&half, content).and_then(|()| std::fs::rename(&half, path));
    if written.is_err() {
        drop(std::fs::remove_file(&half));
    }
    written
}

/// Returns the content of a tree that lists files, including missing ones.
pub(crate) fn list(files: &[(PathBuf, Option<Entry>)]) -> Vec<u8> {
    let missing = Entry {
        mode: FileMode::Plain,
        blob: name_of("blob", b""),
    };
    let mut lines: Vec<(String, &Entry)> = files
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
        let digits = entry.blob.as_bytes();
        let digit = |digit: u8| {
            char::from(digit)
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok())
        };
        let bytes = digits.chunks(2).map(|pair| match pair {
            [high, low] => digit(*high).unwrap_or(0) << 4 | digit(*low).unwrap_or(0),
            _ => 0,
        });
        tree.extend(bytes);
    }
    tree
}

/// Reads the content of such a tree; `None` if [`list`] did not write it.
pub(crate) fn listed(mut tree: &[u8]) -> Option<Vec<(PathBuf, Option<Entry>)>> {
    let mut files = Vec::new();
    while !tree.is_empty() {
        let end = tree.iter().position(|&byte| byte == 0)?;
        let (mode, name) = std::str::from_utf8(&tree[..end]).ok()?.split_once(' ')?;
        let digest = tree.get(end + 1..end + 21)?;
        tree = &tree[end + 21..];
        let blob = hex::encode(digest);
        let entry = match name.get(..1)? {
            "+" => Some(Entry {
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
        assert_eq!(name_of("blob", b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(
            name_of("blob", b"hello\n"),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
    }

    #[test]
    fn a_list_comes_back_whatever_its_paths_are() {
        let odd = PathBuf::from(OsString::from_vec(b"/w/.git/\xff\n %".to_vec()));
        let entry = Entry {
            mode: FileMode::Link,
            blob: name_of("blob", b"x"),
        };
        let files = vec![(odd, Some(entry)), (PathBuf::from("/w/none"), None)];
        assert_eq!(listed(&list(&files)).unwrap(), files);
        assert!(listed(b"100644 x\0").is_none());
    }
}
