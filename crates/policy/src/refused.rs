//! Finds the files and directories that a rule hides from every command, as they are on disk now.
//!
//! A pattern without wildcards takes one lookup. Otherwise the search covers a directory, breadth first and without
//! following links: a link's target is judged by its own path. Blocking; bounded in entries and in places. A bound is an
//! error: names are cheap to make, so a command could make enough of them to have what lies
//! beyond the bound shown.

use std::collections::{HashSet, VecDeque};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::SearchBound;
use bobbin_rules::{Judgement, PathUse, RefusedPlace, RuleSet};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access, geteuid};

/// Most entries examined for all rules (guess: 200,000 take some tenths of a second).
const MAX_ENTRIES: usize = 1 << 19;
/// Most places to hide, with the directories on the way to them: each is a mount, and bubblewrap's time grows with
/// their square (500 take about a second).
const MAX_PLACES: usize = 512;

/// Places that are never hidden: no command starts without the system's programs and libraries, and every command has
/// its own `/proc` and `/dev`.
const LEFT_ALONE: &[&str] = &[
    "/proc", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu",
];

/// Returns the existing paths that no command in `root` may read, without `root` itself.
///
/// # Errors
/// A bound was reached.
pub(crate) fn refused(rules: &RuleSet, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
    search(rules, root, MAX_ENTRIES)
}

/// Returns the existing paths under `root` that fit, without what lies in such a path.
///
/// # Errors
/// A bound was reached.
pub(crate) fn found(root: &Path, fits: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, SearchBound> {
    let mut found = FoundPlaces::default();
    search_under(vec![root.to_owned()], root, MAX_ENTRIES, fits, &mut found)?;
    Ok(found.places)
}

fn search(rules: &RuleSet, root: &Path, most: usize) -> Result<Vec<PathBuf>, SearchBound> {
    let mut found = FoundPlaces::default();
    let mut tops = Vec::new();
    for place in rules.refused(root) {
        match place {
            // A rule for a parent of the workspace is a rule for everything in the workspace.
            RefusedPlace::All(top) | RefusedPlace::Within(top) if root.starts_with(&top) => {
                tops.push(root.to_owned());
            }
            RefusedPlace::All(place) if !is_left_alone(&place) && is_there(&place)? => {
                found.add(place, root)?;
            }
            RefusedPlace::All(_) => {}
            RefusedPlace::Within(top) => tops.push(top),
        }
    }
    tops.retain(|place| !is_left_alone(place));
    tops.sort_unstable();
    tops.dedup_by(|next, before| next.starts_with(before));
    let of_root = rules.path(PathUse::Read, root, root);
    let refuses_all = of_root.is_some_and(|(judgement, _)| judgement == Judgement::Deny);
    let is_refused = |path: &Path| (refuses_all && path.starts_with(root)) || rules.refuses_entry(path, root);
    search_under(tops, root, most, &is_refused, &mut found)?;
    Ok(found.places)
}

/// Adds the entries under these directories that fit.
fn search_under(
    tops: Vec<PathBuf>,
    root: &Path,
    most: usize,
    fits: &dyn Fn(&Path) -> bool,
    found: &mut FoundPlaces,
) -> Result<(), SearchBound> {
    let mut deeper = VecDeque::from(tops);
    let mut looks = 0;
    while let Some(directory) = deeper.pop_front() {
        // Closed directories of other users are closed to a command, too.
        if is_closed(&directory) {
            return Err(SearchBound::Closed);
        }
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            // Its mode has changed since, or changes all the time.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && is_own(&directory) => {
                return Err(SearchBound::Closed);
            }
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            if looks == most {
                return Err(SearchBound::Entries(most));
            }
            looks += 1;
            let path = entry.path();
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == ErrorKind::PermissionDenied && is_own(&path) => {
                    return Err(SearchBound::Closed);
                }
                Err(_) => continue,
            };
            if kind.is_symlink() {
                continue;
            }
            if fits(&path) {
                found.add(path, root)?;
            } else if kind.is_dir() {
                deeper.push_back(path);
            }
        }
    }
    Ok(())
}

/// Returns whether a place exists.
///
/// # Errors
/// A closed directory is on the way to it.
fn is_there(place: &Path) -> Result<bool, SearchBound> {
    match place.try_exists() {
        Ok(is_there) => Ok(is_there),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_own(place) => {
            Err(SearchBound::Closed)
        }
        Err(_) => Ok(false),
    }
}

/// Returns whether a directory belongs to the user and its mode stops the user from listing or entering it.
fn is_closed(directory: &Path) -> bool {
    access(directory, AccessFlags::R_OK | AccessFlags::X_OK) == Err(Errno::EACCES) && is_own(directory)
}

/// Returns whether the place, or the nearest directory to it that can be looked at, belongs to the user: a command can
/// change its mode back.
fn is_own(place: &Path) -> bool {
    let nearest = place.ancestors().find_map(|place| place.metadata().ok());
    nearest.is_some_and(|about| about.uid() == geteuid().as_raw())
}

fn is_left_alone(place: &Path) -> bool {
    LEFT_ALONE.iter().any(|top| place.starts_with(top))
}

/// The places of a search, each once.
#[derive(Debug, Default)]
struct FoundPlaces {
    places: Vec<PathBuf>,
    /// They, and the directories of the workspace on the way to them.
    mounts: HashSet<PathBuf>,
}

impl FoundPlaces {
    fn add(&mut self, place: PathBuf, root: &Path) -> Result<(), SearchBound> {
        let way = place.ancestors().skip(1);
        let way = way.take_while(|parent| *parent != root && parent.starts_with(root));
        self.mounts.extend(way.map(Path::to_path_buf));
        // A directory on the way to one place is none itself: the search does not go on in a place.
        if self.mounts.insert(place.clone()) || !self.places.contains(&place) {
            self.places.push(place);
        }
        if self.mounts.len() > MAX_PLACES {
            return Err(SearchBound::Places(MAX_PLACES));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use bobbin_rules::RuleText;

    use super::*;
    use bobbin_testkit::Folder as Workspace;

    fn rules(patterns: &[(&str, Option<&str>)]) -> RuleSet {
        let rules = patterns.iter().map(|(path, operation)| RuleText {
            action: "deny".to_owned(),
            path: Some((*path).to_owned()),
            operation: operation.map(str::to_owned),
            ..RuleText::default()
        });
        RuleSet::new(rules, None).unwrap()
    }

    fn names(workspace: &Workspace, patterns: &[(&str, Option<&str>)]) -> Vec<String> {
        let found = refused(&rules(patterns), workspace.root()).unwrap();
        let inside = |path: PathBuf| path.strip_prefix(workspace.root()).map(Path::to_path_buf);
        let mut names: Vec<String> = found
            .into_iter()
            .map(|path| inside(path).unwrap().display().to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_there_of_refused_paths_is_found() {
        let workspace = Workspace::new();
        for path in [
            ".env",
            "app/deep/.env",
            "app/shown",
            "secrets/a/key",
            "keys/one.pem",
            "keys/two.txt",
        ] {
            workspace.write(path, "x");
        }
        symlink("app", workspace.root().join("alias")).unwrap();
        symlink("shown", workspace.root().join("app/link.pem")).unwrap();
        let all = |patterns: &[&str]| {
            let patterns: Vec<_> = patterns.iter().map(|&pattern| (pattern, None)).collect();
            names(&workspace, &patterns)
        };
        assert_eq!(all(&["**/.env"]), [".env", "app/deep/.env"]);
        assert_eq!(all(&[".env", "missing"]), [".env"]);
        assert_eq!(all(&["secrets/**", "keys/*.pem"]), ["keys/one.pem", "secrets"]);
        assert_eq!(all(&["**/*.pem", "app"]), ["app", "keys/one.pem"]);
        assert_eq!(all(&["**"]), [".env", "app", "keys", "secrets"]);
        assert_eq!(
            all(&["/proc/self", "/dev/**", "/usr/**", "/bin/sh", "/lib64/**"]),
            [""; 0]
        );
        let written = [("secrets", Some("write")), ("keys", Some("read"))];
        assert_eq!(names(&workspace, &written), ["keys"]);
    }

    #[test]
    fn a_workspace_in_a_refused_directory_is_refused_as_a_whole() {
        let workspace = Workspace::new();
        workspace.write("a/b", "x");
        workspace.write("c", "x");
        let top = workspace.root().parent().unwrap().display().to_string();
        assert_eq!(names(&workspace, &[(&top, None)]), ["a", "c"]);
    }

    #[test]
    fn a_directory_that_a_command_has_closed_hides_nothing_from_the_search() {
        if geteuid().is_root() {
            // No mode keeps root out; whole-server attacks run as an ordinary user.
            return;
        }
        let workspace = Workspace::new();
        workspace.write("s/.env", "x");
        let close = |mode| {
            let closed = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(workspace.root().join("s"), closed).unwrap();
        };
        for pattern in ["**/.env", "s/.env"] {
            for mode in [0o000, 0o111, 0o444] {
                close(mode);
                let found = refused(&rules(&[(pattern, None)]), workspace.root());
                let is_seen = mode == 0o111 && pattern == "s/.env";
                assert_eq!(found.is_ok(), is_seen, "{pattern} {mode:o}");
                close(0o755);
            }
        }
    }

    #[test]
    fn a_search_that_meets_a_bound_is_not_taken_for_whole() {
        let workspace = Workspace::new();
        for number in 0..MAX_PLACES / 2 {
            workspace.write(&format!("many/{number}/.env"), "x");
        }
        let rules = rules(&[("**/.env", None)]);
        let root = workspace.root();
        assert_eq!(refused(&rules, root), Err(SearchBound::Places(MAX_PLACES)));
        std::fs::remove_dir_all(root.join("many/0")).unwrap();
        assert_eq!(refused(&rules, root).unwrap().len(), MAX_PLACES / 2 - 1);
        // `many`, and two entries of each.
        let looks = MAX_PLACES - 1;
        assert!(search(&rules, root, looks).is_ok());
        assert_eq!(
            search(&rules, root, looks - 1),
            Err(SearchBound::Entries(looks - 1))
        );
    }
}
