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

/// The entries to mount into such a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    /// Files and directories, by real name.
    pub(super) places: Vec<PathBuf>,
    /// Links with their targets.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

impl Readable {
    /// Lists the readable entries of a directory, given by real name, with the places of `private` in it. `None`:
    /// no private place can be in it. Entries that cannot be inspected are not readable.
    pub(super) fn of(directory: &Path, private: &[PathBuf]) -> Option<Self> {
        let private: Vec<&OsStr> = private
            .iter()
            .filter(|place| is_in(directory, place))
            .filter_map(|place| place.file_name())
            .collect();
        // A directory that cannot be inspected has no readable entries.
        if private.is_empty() || directory.metadata().is_ok_and(|found| !found.is_dir()) {
            return None;
        }
        let mut kept = Self::default();
        let found = std::fs::read_dir(directory).into_iter().flatten();
        for name in found.filter_map(|entry| Some(entry.ok()?.file_name())) {
            // Files that belong to a private file have its name as prefix: its journal, or its replacement.
            let begins = |private: &&OsStr| name.as_bytes().starts_with(private.as_bytes());
            if private.iter().any(begins) {
                continue;
            }
            if kept.places.len() + kept.links.len() == MAX_ENTRIES {
                break;
            }
            let place = directory.join(name);
            match std::fs::read_link(&place) {
                Ok(target) => kept.links.push((place, target)),
                Err(_) => kept.places.push(place),
            }
        }
        Some(kept)
    }
}

/// Whether a place is a direct entry of a directory, given by real name.
fn is_in(directory: &Path, place: &Path) -> bool {
    let above = place.parent();
    above == Some(directory)
        || above.and_then(|above| above.canonicalize().ok()).as_deref() == Some(directory)
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
        let mut kept = Readable::of(&craft, &private).unwrap();
        kept.places.sort();
        let expected = Readable {
            places: vec![craft.join("config.json"), craft.join("skills")],
            links: vec![(craft.join("commands"), "../elsewhere".into())],
        };
        assert_eq!(kept, expected);
    }

    #[test]
    fn nothing_is_made_anew_without_need_and_no_more_is_put_into_it_than_fits() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        assert_eq!(Readable::of(&top, &[]), None);
        assert_eq!(Readable::of(&top, &["/elsewhere/token".into()]), None);
        let private = [top.join("token")];
        assert_eq!(Readable::of(&top.join("missing"), &private), None);
        assert_eq!(Readable::of(&top, &private), Some(Readable::default()));
        for number in 0..=MAX_ENTRIES {
            std::fs::write(top.join(number.to_string()), "").unwrap();
        }
        std::fs::write(top.join("token"), "").unwrap();
        let kept = Readable::of(&top, &private).unwrap();
        assert_eq!((kept.places.len(), kept.links.len()), (MAX_ENTRIES, 0));
        assert!(!kept.places.contains(&private[0]));
        // A file has no entries.
        let private = [top.join("token/key")];
        assert_eq!(Readable::of(&top.join("token"), &private), None);
    }
}
