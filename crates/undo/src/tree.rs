//! The tree of a workspace in memory: changing a file costs the tree objects of the directories around it, and no run
//! of git.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path};

use crate::objects::{Digest, StoredFile};

/// A directory of the tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    children: BTreeMap<OsString, Node>,
    /// The name of its tree object; `None` if it has changed since that was written.
    name: Option<Digest>,
}

#[derive(Debug, PartialEq, Eq)]
enum Node {
    File(StoredFile),
    Directory(Tree),
}

impl Tree {
    /// Returns the file at a relative path.
    pub(crate) fn get(&self, path: &Path) -> Option<&StoredFile> {
        let (around, name) = split(path)?;
        let mut directory = self;
        for part in around {
            match directory.children.get(part)? {
                Node::Directory(inner) => directory = inner,
                Node::File(_) => return None,
            }
        }
        match directory.children.get(name)? {
            Node::File(entry) => Some(entry),
            Node::Directory(_) => None,
        }
    }

    /// Stores a file at a relative path, in place of a file or directory there, and of files on the way.
    pub(crate) fn insert(&mut self, path: &Path, entry: StoredFile) {
        let Some((around, name)) = split(path) else { return };
        let mut directory = self;
        for part in around {
            directory.name = None;
            let node = directory
                .children
                .entry(part.to_owned())
                .or_insert_with(|| Node::Directory(Self::default()));
            if matches!(node, Node::File(_)) {
                *node = Node::Directory(Self::default());
            }
            match node {
                Node::Directory(inner) => directory = inner,
                Node::File(_) => return,
            }
        }
        directory.name = None;
        directory.children.insert(name.to_owned(), Node::File(entry));
    }

    /// Removes the file at a relative path, and directories that are empty then.
    pub(crate) fn remove(&mut self, path: &Path) {
        if self.get(path).is_some()
            && let Some((around, name)) = split(path)
        {
            self.remove_in(&around, name);
        }
    }

    fn remove_in(&mut self, around: &[&OsStr], name: &OsStr) {
        self.name = None;
        let Some((part, rest)) = around.split_first() else {
            self.children.remove(name);
            return;
        };
        if let Some(Node::Directory(inner)) = self.children.get_mut(*part) {
            inner.remove_in(rest, name);
            if inner.children.is_empty() {
                self.children.remove(*part);
            }
        }
    }

    /// Calls a function with each file and its relative path. `path` is that of this directory.
    pub(crate) fn each_file(&self, path: &mut OsString, found: &mut impl FnMut(&OsStr, &StoredFile)) {
        let length = path.len();
        for (name, node) in &self.children {
            if length > 0 {
                path.push("/");
            }
            path.push(name);
            match node {
                Node::File(file) => found(path, file),
                Node::Directory(inner) => inner.each_file(path, found),
            }
            let mut bytes = std::mem::take(path).into_vec();
            bytes.truncate(length);
            *path = OsString::from_vec(bytes);
        }
    }

    /// Returns the name of the tree object. `write` gets the content of each object that has changed, children first,
    /// and returns its name.
    ///
    /// # Errors
    /// Those of `write`.
    pub(crate) fn write(
        &mut self,
        write: &mut impl FnMut(&[u8]) -> io::Result<Digest>,
    ) -> io::Result<Digest> {
        if let Some(name) = self.name {
            return Ok(name);
        }
        let mut lines = Vec::with_capacity(self.children.len());
        for (name, node) in &mut self.children {
            lines.push(match node {
                Node::File(entry) => (name.as_bytes().to_vec(), entry.mode.as_str(), entry.blob),
                Node::Directory(inner) => {
                    // Git sorts a directory as if its name ended with a slash.
                    let sorted_as = [name.as_bytes(), b"/"].concat();
                    (sorted_as, "40000", inner.write(write)?)
                }
            });
        }
        lines.sort();
        let mut content = Vec::new();
        for (name, mode, object) in lines {
            content.extend_from_slice(mode.as_bytes());
            content.push(b' ');
            content.extend_from_slice(name.strip_suffix(b"/").unwrap_or(&name));
            content.push(0);
            content.extend_from_slice(object.as_bytes());
        }
        let name = write(&content)?;
        self.name = Some(name);
        Ok(name)
    }
}

/// Returns the names of the directories around a file and its own; `None` unless the path has names only.
fn split(path: &Path) -> Option<(Vec<&OsStr>, &OsStr)> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            _ => return None,
        }
    }
    let name = names.pop()?;
    Some((names, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{FileMode, ObjectKind};

    fn file(mode: FileMode, content: &str) -> StoredFile {
        StoredFile {
            mode,
            blob: Digest::of(ObjectKind::Blob, content.as_bytes()),
        }
    }

    fn named(tree: &mut Tree) -> String {
        tree.write(&mut |content| Ok(Digest::of(ObjectKind::Tree, content)))
            .unwrap()
            .to_string()
    }

    #[test]
    fn a_tree_has_the_name_that_git_gives_it() {
        let mut tree = Tree::default();
        // The order of a directory and of files around it differs from that of their names.
        for path in ["a-b", "a/x", "a/deep/y", "a.c", "a0", "é"] {
            tree.insert(Path::new(path), file(FileMode::Plain, path));
        }
        tree.insert(Path::new("link"), file(FileMode::Link, "a"));
        // `git write-tree` of the same files.
        assert_eq!(named(&mut tree), "44860d655f8abe8c1518d8eb853eef817a0e6fb1");
        assert_eq!(
            named(&mut Tree::default()),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
    }

    #[test]
    fn only_directories_around_a_change_are_written_again() {
        let mut tree = Tree::default();
        for path in ["a/b/c", "a/d", "e/f"] {
            tree.insert(Path::new(path), file(FileMode::Plain, path));
        }
        let mut written = 0;
        let mut write = |tree: &mut Tree| {
            written = 0;
            let name = tree.write(&mut |content| {
                written += 1;
                Ok(Digest::of(ObjectKind::Tree, content))
            });
            (name.unwrap(), written)
        };
        let (first, all) = write(&mut tree);
        assert_eq!((all, write(&mut tree).1), (4, 0));
        tree.insert(Path::new("a/d"), file(FileMode::Program, "new"));
        assert_eq!(write(&mut tree).1, 2);
        tree.insert(Path::new("a/d"), file(FileMode::Plain, "a/d"));
        tree.remove(Path::new("none"));
        assert_eq!(write(&mut tree).0, first);
        tree.remove(Path::new("a/b/c"));
        assert!(tree.get(Path::new("a/b/c")).is_none());
        assert_eq!(write(&mut tree).1, 2, "the empty directory is gone");
    }

    #[test]
    fn a_file_takes_the_place_of_a_directory_and_the_other_way_round() {
        let mut tree = Tree::default();
        let entry = file(FileMode::Plain, "x");
        tree.insert(Path::new("a/b"), entry);
        tree.insert(Path::new("a"), entry);
        assert!(tree.get(Path::new("a/b")).is_none());
        tree.insert(Path::new("a/b/c"), entry);
        assert_eq!(tree.get(Path::new("a/b/c")), Some(&entry));
        assert!(tree.get(Path::new("a")).is_none());
        // A path that leads out is no file of the tree.
        tree.insert(Path::new("../x"), entry);
        assert!(tree.get(Path::new("../x")).is_none());
    }
}
