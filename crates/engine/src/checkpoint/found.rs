//! What lies at a path, in the words of the ledger.
//!
//! Links on the way to a file, which may have come since it was noted, are not followed. Blocking.

use std::path::Path;

use sha1::{Digest as _, Sha1};

use super::ledger::{Entry, FileMode, Now};
use super::survey::MAX_FILE_BYTES;
use crate::tools::{self, Stamp};

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    File(FileMode, Vec<u8>),
    /// An ordinary file that is too large or may not be read.
    Unread(Stamp),
    /// Nothing that is kept: a directory, a device.
    Other,
}

/// Reads what lies at a path. Blocking.
pub(super) fn find(path: &Path) -> Found {
    tools::find(path, MAX_FILE_BYTES).into()
}

impl From<tools::Found> for Found {
    fn from(found: tools::Found) -> Self {
        match found {
            tools::Found::Nothing => Self::Nothing,
            tools::Found::File(mode, content) if mode & 0o100 != 0 => Self::File(FileMode::Program, content),
            tools::Found::File(_, content) => Self::File(FileMode::Plain, content),
            tools::Found::Link(target) => Self::File(FileMode::Link, target),
            tools::Found::Unread(stamp) => Self::Unread(stamp),
            tools::Found::Other => Self::Other,
        }
    }
}

impl Found {
    /// Returns it by the name that its content has, or would have, in the repository.
    pub(super) fn now(&self) -> Now {
        match self {
            Self::Nothing => Now::Nothing,
            Self::File(mode, content) => Now::File(Entry {
                mode: *mode,
                blob: name_of(content),
            }),
            Self::Unread(stamp) => Now::Unread(*stamp),
            Self::Other => Now::Other,
        }
    }
}

/// Returns the name that a content has, or would have, in the repository, which is one of git's first format.
fn name_of(content: &[u8]) -> String {
    let mut sum = Sha1::new();
    sum.update(format!("blob {}\0", content.len()));
    sum.update(content);
    let mut name = String::with_capacity(40);
    for byte in sum.finalize() {
        for half in [byte >> 4, byte & 15] {
            name.push(char::from_digit(half.into(), 16).unwrap_or_default());
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_have_the_names_that_git_gives_them() {
        assert_eq!(name_of(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(name_of(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
