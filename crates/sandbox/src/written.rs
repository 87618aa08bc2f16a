//! The places that a command may write, by their real names, as they are when it is started.
//!
//! Commands change such places, and one of them can lie in another. So no link is followed that lies where a command could
//! have put it, whoever has made it: what is in its place may be anything of the user's. Looks at names only.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most links on the way to a place, as the kernel has it.
const MAX_LINKS: usize = 40;

/// The way to a place.
pub(crate) struct Way {
    pub(crate) real: PathBuf,
    /// Each by the real name of its directory, and its own.
    links: Vec<PathBuf>,
}

/// Returns the real names of some places, without those that are missing or behind a link in one of them, or in a directory
/// that has one of `keep` in it: that is written by others, where not here.
pub(crate) fn written(places: &[PathBuf], keep: &[PathBuf]) -> Vec<PathBuf> {
    let ways: Vec<Way> = places.iter().filter_map(|place| follow(place).ok()).collect();
    let around = keep.iter().filter_map(|kept| kept.parent()?.canonicalize().ok());
    let changed: Vec<PathBuf> = ways.iter().map(|way| way.real.clone()).chain(around).collect();
    let is_changed = |link: &PathBuf| changed.iter().any(|place| link.starts_with(place));
    ways.into_iter()
        .filter(|way| !way.links.iter().any(is_changed))
        .map(|way| way.real)
        .collect()
}

/// Why there is no way to a place.
pub(crate) enum Stop {
    /// This directory, by its real name, may not be searched.
    Unseen(PathBuf),
    Missing,
}

/// Returns the way to a place that is there.
pub(crate) fn follow(place: &Path) -> Result<Way, Stop> {
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut real, mut links) = (PathBuf::from("/"), Vec::new());
    let mut rest = VecDeque::from(parts(place));
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        // What begins at the root does so here too.
        let next = real.join(part);
        match std::fs::read_link(&next) {
            Ok(_) if links.len() == MAX_LINKS => return Err(Stop::Missing),
            Ok(target) => {
                links.push(next);
                for part in parts(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(Stop::Unseen(real)),
            Err(_) => real = next,
        }
    }
    match real.symlink_metadata() {
        Ok(_) => Ok(Way { real, links }),
        Err(_) => Err(Stop::Missing),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_where_commands_write_is_not_followed_and_others_are() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        for directory in ["w/sub", "w/own", "else/deep", "home"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        for (target, link) in [
            ("w", "to-w"),
            ("else/deep", "to-else"),
            ("w/way", "to-way"),
            ("../home", "w/way"),
            ("own", "w/to-own"),
            ("loop", "loop"),
        ] {
            symlink(target, top.join(link)).unwrap();
        }
        symlink(top.join("home"), top.join("w/absolute")).unwrap();
        let places = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| top.join(name)).collect() };
        for (given, keep, expected) in [
            (&["to-w", "to-else"][..], &[][..], &["w", "else/deep"][..]),
            (&["w", "w/own", "w/../home"], &[], &["w", "w/own", "home"]),
            (&["w", "w/way"], &[], &["w"]),
            (&["w", "w/absolute"], &[], &["w"]),
            (&["to-w", "w/way/../home"], &[], &["w"]),
            // Even where it leads to what may be written anyway.
            (&["w", "w/to-own"], &[], &["w"]),
            // Its own link is nobody's, the one behind that is a command's.
            (&["w", "to-way"], &[], &["w"]),
            // Where another command may write.
            (&["w/sub", "w/way"], &[], &["w/sub", "home"]),
            (&["w/sub", "w/way"], &["w/.craft"], &["w/sub"]),
            (&["w", "w/missing", "missing", "loop"], &[], &["w"]),
        ] {
            assert_eq!(
                written(&places(given), &places(keep)),
                places(expected),
                "{given:?}"
            );
        }
        assert_eq!(written(&["/".into()], &[]), [PathBuf::from("/")]);
    }
}
