//! Files of a folder for menus and for contexts. Blocking.
//!
//! Version-control ignores are respected. Bounded: so many entries are looked at and so many returned.

use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;

use crate::{IgnoreRules, Ignores};

/// Most files a query returns.
pub const MAX_FILES: usize = 100;
/// Most entries looked at for one query (a guess: half a second on a slow disk).
const MAX_VISITED: usize = 50_000;

/// The ignore files that count: also those in the root's ancestors, and without a repository.
const IGNORE_RULES: IgnoreRules = IgnoreRules {
    names: &[".ignore", ".gitignore"],
    parents: true,
    repository: false,
    hidden: true,
};

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPath {
    /// Absolute path.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Finds what a query means: a directory's entries for a query that is a path, else everything under the
/// root whose path contains it, base names first.
pub fn find(root: &Path, home: Option<&Path>, query: &str) -> Vec<FoundPath> {
    match directory_of(root, home, query) {
        Some(directory) => list(&directory),
        None => search(root, query),
    }
}

/// Returns everything under a directory, in order of the paths, at most `limit`.
pub fn all_under(root: &Path, limit: usize) -> Vec<FoundPath> {
    walk(root).take(limit).collect()
}

/// Returns everything under a directory whose path contains a query, without regard to case; base names first.
pub fn search(root: &Path, query: &str) -> Vec<FoundPath> {
    let query = query.trim().to_lowercase();
    let (mut by_name, mut by_path) = (Vec::new(), Vec::new());
    for entry in walk(root) {
        let inside = entry.path.strip_prefix(root).unwrap_or(&entry.path);
        let name = inside
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase());
        if name.is_some_and(|name| name.contains(&query)) {
            by_name.push(entry);
            if by_name.len() == MAX_FILES {
                break;
            }
        } else if by_path.len() < MAX_FILES && inside.to_string_lossy().to_lowercase().contains(&query) {
            by_path.push(entry);
        }
    }
    by_name.extend(by_path);
    by_name.truncate(MAX_FILES);
    by_name
}

/// Returns everything under a directory but links that lead out of it: a cloned folder can have a link to any file of
/// the user.
fn walk(root: &Path) -> impl Iterator<Item = FoundPath> {
    let ignores = Ignores::new(root, IGNORE_RULES);
    let real = root.canonicalize().ok();
    let leads_out = move |path: &Path| {
        let target = path.canonicalize().ok();
        let inside = real
            .as_deref()
            .zip(target)
            .is_some_and(|(real, target)| target.starts_with(real));
        !inside
    };
    WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !ignores.leaves_out(entry.path(), is_directory)
        })
        .sort_by_file_path(Path::cmp)
        .build()
        .take(MAX_VISITED)
        .filter_map(Result::ok)
        .filter(move |entry| entry.depth() > 0 && !(entry.path_is_symlink() && leads_out(entry.path())))
        .map(|entry| FoundPath {
            is_directory: entry.file_type().is_some_and(|kind| kind.is_dir()),
            path: entry.into_path(),
        })
}

/// Returns the directory that a query is a path into.
fn directory_of(root: &Path, home: Option<&Path>, query: &str) -> Option<PathBuf> {
    let query = query.trim();
    let path = if let Some(rest) = query.strip_prefix('~') {
        home?.join(rest.trim_start_matches('/'))
    } else if query.starts_with('/') {
        PathBuf::from(query)
    } else if query.starts_with("./") || query.starts_with("../") {
        root.join(query)
    } else {
        return None;
    };
    let path = normal(&path);
    if path.is_dir() {
        return Some(path);
    }
    path.parent().map(Path::to_owned)
}

/// Takes `.` and `..` out of a path, by the letters.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

fn list(directory: &Path) -> Vec<FoundPath> {
    let Ok(read) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut entries: Vec<FoundPath> = read
        .take(MAX_VISITED)
        .filter_map(Result::ok)
        .map(|entry| FoundPath {
            is_directory: entry.path().is_dir(),
            path: entry.path(),
        })
        .collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries.truncate(MAX_FILES);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_out_are_neither_found_nor_listed() {
        let place = tempfile::tempdir().unwrap();
        let (work, home) = (place.path().join("work"), place.path().join("home"));
        std::fs::create_dir_all(work.join("docs")).unwrap();
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("key"), "secret").unwrap();
        std::fs::write(work.join("tea.md"), "tea").unwrap();
        std::os::unix::fs::symlink(home.join("key"), work.join("docs/out.md")).unwrap();
        std::os::unix::fs::symlink("../tea.md", work.join("docs/in.md")).unwrap();
        let paths = |entries: Vec<FoundPath>| {
            let paths = entries.into_iter().filter(|entry| !entry.is_directory);
            let paths = paths.map(|entry| entry.path.strip_prefix(&work).unwrap().to_owned());
            paths.collect::<Vec<_>>()
        };
        assert_eq!(
            paths(all_under(&work, 9)),
            [Path::new("docs/in.md"), Path::new("tea.md")]
        );
        assert_eq!(
            paths(find(&work, None, "md")),
            [Path::new("docs/in.md"), Path::new("tea.md")]
        );
        assert!(paths(find(&work, None, "out")).is_empty());
    }

    fn names(root: &Path, entries: &[FoundPath]) -> Vec<String> {
        let inside = |entry: &FoundPath| {
            entry
                .path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        entries.iter().map(inside).collect()
    }

    #[test]
    fn queries_follow_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("src/kettle")).unwrap();
        std::fs::create_dir_all(root.join("target")).unwrap();
        for file in [
            "README.md",
            "src/spout.rs",
            "src/kettle/lid.rs",
            "target/spout.o",
            ".gitignore",
        ] {
            std::fs::write(root.join(file), "target/\n").unwrap();
        }
        for (query, found) in [
            (
                "",
                vec![
                    "README.md",
                    "src",
                    "src/kettle",
                    "src/kettle/lid.rs",
                    "src/spout.rs",
                ],
            ),
            ("SPOUT", vec!["src/spout.rs"]),
            ("kettle", vec!["src/kettle", "src/kettle/lid.rs"]),
            ("./src", vec!["src/kettle", "src/spout.rs"]),
            ("./src/sp", vec!["src/kettle", "src/spout.rs"]),
            ("~/src", vec!["src/kettle", "src/spout.rs"]),
            ("nothing", vec![]),
        ] {
            assert_eq!(names(root, &find(root, Some(root), query)), found, "{query:?}");
        }
    }
}
