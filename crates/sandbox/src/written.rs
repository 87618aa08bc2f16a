//! The writable places of a command, by their real names, as of its start.
//!
//! Commands change such places, and one place can be in another. So no link is followed where a command could have
//! created it: its target may be any of the user's files. Reads names only, never files.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most links on the way to a place, as in the kernel.
const MAX_LINKS: usize = 40;

/// The resolved path of a place, with the links on the way.
pub(crate) struct Way {
    pub(crate) real: PathBuf,
    /// Links on the way, each with the real name of its directory.
    links: Vec<PathBuf>,
}

/// Returns the real names of some places. Leaves out missing places, and places behind a link that is in one of the
/// places or in a directory with an entry of `read_only`: other commands may write there.
pub(crate) fn written(places: &[PathBuf], read_only: &[PathBuf]) -> Vec<PathBuf> {
    let ways: Vec<Way> = places.iter().filter_map(|place| follow(place).ok()).collect();
    let around = read_only
        .iter()
        .filter_map(|place| place.parent()?.canonicalize().ok());
    let changed: Vec<PathBuf> = ways.iter().map(|way| way.real.clone()).chain(around).collect();
    let is_changed = |link: &PathBuf| changed.iter().any(|place| link.starts_with(place));
    ways.into_iter()
        .filter(|way| !way.links.iter().any(is_changed))
        .map(|way| way.real)
        .collect()
}

/// Why a place cannot be resolved.
pub(crate) enum Stop {
    /// This directory, given by real name, may not be searched.
    Unseen(PathBuf),
    Missing,
}

/// Resolves an existing place.
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
        // An absolute link target restarts at the root.
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
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let directory = real.parent().unwrap_or(&real);
            Err(Stop::Unseen(directory.to_owned()))
        }
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
        for (given, read_only, expected) in [
            (&["to-w", "to-else"][..], &[][..], &["w", "else/deep"][..]),
            (&["w", "w/own", "w/../home"], &[], &["w", "w/own", "home"]),
            (&["w", "w/way"], &[], &["w"]),
            (&["w", "w/absolute"], &[], &["w"]),
            (&["to-w", "w/way/../home"], &[], &["w"]),
            // Left out even if the target is writable anyway.
            (&["w", "w/to-own"], &[], &["w"]),
            // The first link is outside; the second may be a command's.
            (&["w", "to-way"], &[], &["w"]),
            // In a place that another command may write.
            (&["w/sub", "w/way"], &[], &["w/sub", "home"]),
            (&["w/sub", "w/way"], &["w/.craft"], &["w/sub"]),
            (&["w", "w/missing", "missing", "loop"], &[], &["w"]),
        ] {
            assert_eq!(
                written(&places(given), &places(read_only)),
                places(expected),
                "{given:?}"
            );
        }
        assert_eq!(written(&["/".into()], &[]), [PathBuf::from("/")]);
    }
}
