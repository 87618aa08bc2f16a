//! Paths serialized as bytes: they need not be UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

/// One path.
pub mod path {
    use super::*;

    #[expect(
        missing_docs,
        clippy::missing_errors_doc,
        reason = "serde's derived code calls it"
    )]
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        bytes(path).serialize(to)
    }

    #[expect(
        missing_docs,
        clippy::missing_errors_doc,
        reason = "serde's derived code calls it"
    )]
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<PathBuf, D::Error> {
        Vec::deserialize(from).map(path_of)
    }
}

/// A path or `None`.
pub mod optional_path {
    use super::*;

    #[expect(
        missing_docs,
        clippy::missing_errors_doc,
        reason = "serde's derived code calls it"
    )]
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(bytes).serialize(to)
    }

    #[expect(
        missing_docs,
        clippy::missing_errors_doc,
        reason = "serde's derived code calls it"
    )]
    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Option::deserialize(from).map(|bytes| bytes.map(path_of))
    }
}

pub(crate) mod paths {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| bytes(path)))
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        Vec::deserialize(from).map(|paths: Vec<Vec<u8>>| paths.into_iter().map(path_of).collect())
    }
}
