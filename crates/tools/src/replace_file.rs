//! Replaces the content of a file completely or not at all.
//!
//! A [`Batch`] of one file: the content goes to a temporary file in the same directory, is flushed to disk, and
//! replaces the file in one step; readers see the old or the new content. Permissions stay. A file with several hard
//! links loses the one written here, as with any editor that saves this way.

use std::io::{self, Read as _};
use std::path::Path;

use bobbin_files::{Batch, Kind, MAX_FILE_BYTES, Want, as_read};
use bobbin_files::{Leftovers, fingerprint, open_file};
use bobbin_model::SeenFile;

/// Reads the whole content of a file that is to be changed; `None` if there is no file.
///
/// # Errors
/// The file is not an ordinary file, is read-only, is larger than [`MAX_FILE_BYTES`], or cannot be read.
pub(super) fn read_whole(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let file = match open_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| error.to_string())?,
    };
    let found = file.metadata().map_err(|error| error.to_string())?;
    if found.permissions().readonly() {
        return Err("it is read-only".to_owned());
    }
    let mut content = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(|error| error.to_string())?;
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20));
    }
    Ok(Some(content))
}

/// Returns the record of a file that the model knows now; `None` if its metadata cannot be read.
pub(super) fn seen(path: &Path) -> Option<SeenFile> {
    let found = std::fs::metadata(path).ok()?;
    Some(seen_as(path, &found))
}

/// Returns the record of a file with this metadata.
pub(super) fn seen_as(path: &Path, found: &std::fs::Metadata) -> SeenFile {
    SeenFile {
        path: path.to_string_lossy().into_owned(),
        fingerprint: fingerprint(found),
    }
}

/// Returns whether all lines of a text end with `\r\n`.
pub(super) fn has_crlf_lines(text: &str) -> bool {
    let all = text.matches('\n').count();
    all > 0 && text.matches("\r\n").count() == all
}

/// Returns a text with `\r\n` at the end of each line.
pub(super) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Writes a file, new or in place of the content read before, and creates its directories.
///
/// # Errors
/// The file could not be written, or has changed since it was read; the old file is unchanged.
pub(super) fn replace(
    path: &Path,
    before: Option<&[u8]>,
    content: &[u8],
    leftovers: &Leftovers,
) -> Result<(), String> {
    let mut batch = Batch::default();
    let want = Want::File(Kind::AsItWas, content.into());
    batch.add(path.to_owned(), want, as_read(before.map(Into::into)));
    batch.apply(leftovers)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::testing::Workspace;

    #[test]
    fn permissions_stay_and_nothing_else_is_left_behind() {
        let workspace = Workspace::new();
        let path = workspace.root().join("run.sh");
        let leftovers = Leftovers::default();
        replace(&path, None, b"one", &leftovers).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        assert!(replace(&path, Some(b"zero"), b"two", &leftovers).is_err());
        replace(&path, Some(b"one"), b"two", &leftovers).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
        assert_eq!(fs::read_dir(workspace.root()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_ordinary_writable_file_is_not_replaced() {
        let workspace = Workspace::new();
        let path = workspace.root().join("locked");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert!(read_whole(&path).is_err());
        assert!(read_whole(workspace.root()).is_err());
        assert_eq!(read_whole(&workspace.root().join("new")), Ok(None));
    }
}
