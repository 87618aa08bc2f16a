//! The files of a snapshot on disk, so that the first snapshot of the next server reads only what has changed since.
//!
//! An index counts only if its files make exactly the tree that a ref of the repository names: git never removes the
//! contents of such a tree. So a lost, old or damaged index costs time and nothing else. Written in one step, and bounded
//! by [`MAX_BYTES`]. Blocking.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use bobbin_files::read_bytes;

use crate::objects::{Digest, FileMode, ObjectKind, StoredFile, put};
use crate::scan::{Files, Fingerprint};
use crate::tree::Tree;

/// The first bytes of an index; the last is the version.
const HEAD: &[u8; 8] = b"bobbinF\x01";
/// Largest index: 150,000 files with paths of 300 bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Writes the files of a tree with their fingerprints.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(repository: &Path, path: &Path, tree: &Tree, files: &Files) -> io::Result<()> {
    let mut bytes = HEAD.to_vec();
    tree.each_file(&mut OsString::new(), &mut |path, file| {
        // A file without a fingerprint is read again.
        let print = files.get(path).copied().flatten();
        let length = u16::try_from(path.len()).unwrap_or_default();
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(path.as_bytes());
        bytes.push(match file.mode {
            FileMode::Plain => 0,
            FileMode::Program => 1,
            FileMode::Link => 2,
        });
        bytes.extend_from_slice(file.blob.as_bytes());
        bytes.extend_from_slice(&print.unwrap_or_default().to_bytes());
    });
    put(repository, path, &bytes)
}

/// Reads an index; `None` if there is none, or its tree is not the one of this name.
pub(crate) fn read(path: &Path, tree: &str) -> Option<(Tree, Files)> {
    let bytes = read_bytes(path, MAX_BYTES).ok()?;
    let mut rest = bytes.strip_prefix(HEAD)?;
    let (mut found, mut files) = (Tree::default(), Files::new());
    while !rest.is_empty() {
        let (length, more) = rest.split_first_chunk()?;
        let (path, more) = more.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        let (mode, more) = more.split_first()?;
        let (blob, more) = more.split_first_chunk()?;
        let (print, more) = more.split_first_chunk()?;
        rest = more;
        let mode = match mode {
            0 => FileMode::Plain,
            1 => FileMode::Program,
            2 => FileMode::Link,
            _ => return None,
        };
        let path = OsString::from_vec(path.to_vec());
        let blob = Digest::from_bytes(*blob);
        found.insert(Path::new(&path), StoredFile { mode, blob });
        let print = Fingerprint::from_bytes(print);
        files.insert(path, (print != Fingerprint::default()).then_some(print));
    }
    let name = found
        .write(&mut |content| Ok(Digest::of(ObjectKind::Tree, content)))
        .ok()?;
    (name.to_string() == tree).then_some((found, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_comes_back_with_the_tree_that_a_ref_names_and_with_no_other() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("index");
        let mut tree = Tree::default();
        let mut files = Files::new();
        for (number, (name, mode)) in [
            ("a/b", FileMode::Plain),
            ("a.c", FileMode::Program),
            ("odd\n\u{e9}", FileMode::Link),
        ]
        .into_iter()
        .enumerate()
        {
            let blob = Digest::of(ObjectKind::Blob, name.as_bytes());
            tree.insert(Path::new(name), StoredFile { mode, blob });
            let print = Fingerprint::from_bytes(&[u8::try_from(number).unwrap(); 56]);
            files.insert(name.into(), (number > 0).then_some(print));
        }
        let name = tree
            .write(&mut |content| Ok(Digest::of(ObjectKind::Tree, content)))
            .unwrap();
        write(work.path(), &path, &tree, &files).unwrap();
        let name = name.to_string();
        assert_eq!(read(&path, &name).unwrap(), (tree, files));
        assert!(read(&path, "4b825dc642cb6eb9a060e54bf8d69288fbee4904").is_none());
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(read(&path, &name).is_none());
        std::fs::write(&path, b"DIRC").unwrap();
        assert!(read(&path, &name).is_none());
    }
}
