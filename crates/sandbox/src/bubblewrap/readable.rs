//! A read-only directory with private files in it, as a command sees it: a new directory without the private files.
//!
//! Masking each private file would leave files readable that are created while a command runs. So the command gets
//! an empty directory, into which the readable entries of this moment are mounted. The command does not see later
//! entries, private or not, nor entries beyond [`MAX_ENTRIES`].

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Most entries mounted into one directory; each is a mount.
const MAX_ENTRIES: usize = 64;

/// Returns the readable entries of a directory, given by real name, with the places of `private` in it. `None`: no
/// private place can be in it. Entries that cannot be inspected are not readable, nor are links: bubblewrap would make them
/// where a command that runs meanwhile leads it.
pub(super) fn readable(directory: &Path, private: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let private: Vec<&OsStr> = private
        .iter()
        .filter(|place| is_in(directory, place))
        .filter_map(|place| place.file_name())
        .collect();
    // A directory that cannot be inspected has no readable entries.
    if private.is_empty() || directory.metadata().is_ok_and(|found| !found.is_dir()) {
        return None;
    }
    // Files that belong to a private file have its name as prefix: its journal, or its replacement.
    let is_private = |name: &OsStr| {
        private
            .iter()
            .any(|private| name.as_bytes().starts_with(private.as_bytes()))
    };
    let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = found.map(|entry| entry.file_name());
    let places = names
        .filter(|name| !is_private(name))
        .map(|name| directory.join(name));
    Some(
        places
            .filter(|place| !place.is_symlink())
            .take(MAX_ENTRIES)
            .collect(),
    )
}

/// Whether a place is a direct entry of a directory, given by real name.
fn is_in(directory: &Path, place: &Path) -> bool {
    let parent = place.parent();
    parent == Some(directory)
        || parent.and_then(|parent| parent.canonicalize().ok()).as_deref() == Some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_and_what_belongs_to_it_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let craft = top.join("craft");
        std::fs::create_dir_all(craft.join("skills")).unwrap();
        for name in ["config.json", "bobbin.db", "bobbin.db-wal", "bobbin.json.new"] {
            std::fs::write(craft.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("../elsewhere", craft.join("commands")).unwrap();
        std::os::unix::fs::symlink("craft", top.join("way")).unwrap();
        let private = ["way/bobbin.db", "craft/bobbin.json", "other/skills"].map(|name| top.join(name));
        let mut places = readable(&craft, &private).unwrap();
        places.sort();
        assert_eq!(places, ["config.json", "skills"].map(|name| craft.join(name)));
    }

    #[test]
    fn nothing_is_made_anew_without_need_and_no_more_is_put_into_it_than_fits() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        assert_eq!(readable(&top, &[]), None);
        assert_eq!(readable(&top, &["/elsewhere/token".into()]), None);
        let private = [top.join("token")];
        assert_eq!(readable(&top.join("missing"), &private), None);
        assert_eq!(readable(&top, &private), Some(Vec::new()));
        for number in 0..=MAX_ENTRIES {
            std::fs::write(top.join(number.to_string()), "").unwrap();
        }
        std::fs::write(top.join("token"), "").unwrap();
        let places = readable(&top, &private).unwrap();
        assert_eq!(places.len(), MAX_ENTRIES);
        assert!(!places.contains(&private[0]));
        // A file has no entries.
        let private = [top.join("token/key")];
        assert_eq!(readable(&top.join("token"), &private), None);
    }
}
