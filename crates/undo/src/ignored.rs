//! Chooses the ignored files that a snapshot has all the same: small ones outside of build outputs, such as `.env` or a
//! local database.
//!
//! Files come before those deeper in the workspace. Bounded by [`MAX_FILES`], [`MAX_BYTES`], [`MAX_IN_DIRECTORY`] and
//! [`MAX_LOOKS`]: places beyond a bound are left out as they are, and the snapshot does not fail. Blocking.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ignore::WalkBuilder;

use crate::scan::ScanRoot;

/// Size from which an ignored file is left out.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most ignored files of a snapshot.
const MAX_FILES: usize = 2_000;
/// Most bytes in them.
const MAX_BYTES: u64 = 64 << 20;
/// Most entries of an ignored directory: one with more is data or an output of an unknown name (guess).
const MAX_IN_DIRECTORY: usize = 500;
/// Most ignored entries that are looked at: 20,000 take about 50 ms.
const MAX_LOOKS: usize = 20_000;

/// Names of directories that programs fill anew.
const OUTPUTS: [&str; 57] = [
    "target",
    "build",
    "dist",
    "out",
    "bin",
    "obj",
    "_build",
    "buck-out",
    "bazel-bin",
    "bazel-out",
    "bazel-testlogs",
    "deriveddata",
    "zig-cache",
    ".zig-cache",
    "zig-out",
    "node_modules",
    "bower_components",
    "elm-stuff",
    "deps",
    "pods",
    "vendor",
    "__pycache__",
    "__pypackages__",
    "site-packages",
    "venv",
    ".venv",
    "env",
    ".eggs",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".cache",
    ".gradle",
    ".kotlin",
    ".m2",
    ".ivy2",
    ".bundle",
    ".dart_tool",
    ".pub-cache",
    ".next",
    ".nuxt",
    ".output",
    ".svelte-kit",
    ".angular",
    ".turbo",
    ".parcel-cache",
    ".yarn",
    ".pnpm-store",
    ".direnv",
    ".terraform",
    ".serverless",
    "coverage",
    ".nyc_output",
];
/// Endings of files that compilers write beside their sources.
const COMPILED: [&str; 14] = [
    "o", "obj", "a", "lo", "la", "so", "dylib", "dll", "lib", "pyc", "pyo", "class", "gch", "pch",
];

/// The chosen files.
#[derive(Debug, Default)]
pub(crate) struct ChosenFiles {
    /// They, by absolute path.
    pub(crate) files: Vec<(PathBuf, Metadata)>,
    /// Ignored files and directories beyond a bound, absolute. A snapshot has of them what the last one had.
    pub(crate) beyond: HashSet<PathBuf>,
}

/// Chooses among ignored entries, each with whether it is a directory. None of them is in another.
pub(crate) fn choose(place: &ScanRoot, mut entries: Vec<(PathBuf, bool)>, until: Instant) -> ChosenFiles {
    entries.retain(|(path, _)| !is_output(path));
    entries.sort_by_cached_key(|(path, _)| (path.components().count(), path.clone()));
    let (mut chosen, mut bytes, mut looks) = (ChosenFiles::default(), 0, 0);
    for (path, is_directory) in entries {
        let is_full = chosen.files.len() >= MAX_FILES || looks >= MAX_LOOKS;
        let found = if is_full || Instant::now() >= until {
            None
        } else if is_directory {
            files_in(place, &path, &mut looks)
        } else {
            looks += 1;
            Some(small(path.clone()).into_iter().collect())
        };
        let size = |files: &Vec<(PathBuf, Metadata)>| files.iter().map(|(_, about)| about.len()).sum::<u64>();
        let fits = |files: &Vec<_>| {
            chosen.files.len() + files.len() <= MAX_FILES && bytes + size(files) <= MAX_BYTES
        };
        match found.filter(fits) {
            Some(files) => {
                bytes += size(&files);
                chosen.files.extend(files);
            }
            None => drop(chosen.beyond.insert(path)),
        }
    }
    chosen
}

/// Returns the small files in an ignored directory; `None` if it has too many entries.
fn files_in(place: &ScanRoot, directory: &Path, looks: &mut usize) -> Option<Vec<(PathBuf, Metadata)>> {
    let apart = place.clone();
    let walk = WalkBuilder::new(directory)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            entry.depth() == 0 || !(apart.leaves_out(entry.path()) || is_output(entry.path()))
        })
        .build();
    let mut files = Vec::new();
    for (count, entry) in walk.enumerate() {
        *looks += 1;
        if count > MAX_IN_DIRECTORY {
            return None;
        }
        if let Ok(entry) = entry {
            files.extend(small(entry.into_path()));
        }
    }
    Some(files)
}

/// Returns a file or a link, if it is small.
fn small(path: PathBuf) -> Option<(PathBuf, Metadata)> {
    let about = path.symlink_metadata().ok()?;
    let is_file = about.is_file() || about.is_symlink();
    (is_file && about.len() < MAX_FILE_BYTES).then_some((path, about))
}

/// Whether programs make the entry anew, as far as its name says.
fn is_output(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    OUTPUTS.contains(&name.as_str())
        || name.starts_with("cmake-build-")
        || ending.is_some_and(|ending| ending == "egg-info" || COMPILED.contains(&ending))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn write(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }

    fn chosen(root: &Path, entries: &[&str]) -> (Vec<String>, Vec<String>) {
        let place = ScanRoot {
            root: root.to_owned(),
            own: root.join("shadow"),
        };
        let entries = entries.iter().map(|name| {
            let path = root.join(name);
            let is_directory = path.is_dir();
            (path, is_directory)
        });
        let until = Instant::now() + Duration::from_mins(1);
        let chosen = choose(&place, entries.collect(), until);
        let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let mut files: Vec<String> = chosen.files.iter().map(|(path, _)| name(path)).collect();
        files.sort();
        let mut beyond: Vec<String> = chosen.beyond.iter().map(|path| name(path)).collect();
        beyond.sort();
        (files, beyond)
    }

    #[test]
    fn small_files_are_chosen_and_no_outputs() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path();
        for path in [
            ".env",
            "app/local.db",
            "data/one",
            "data/node_modules/tea",
            "data/.git/HEAD",
            "target/debug/x",
            ".venv/bin/python",
            "cmake-build-debug/x",
            "tea.egg-info/x",
            "src/tea.o",
        ] {
            write(&root.join(path));
        }
        let large = std::fs::File::create(root.join("data/large")).unwrap();
        large.set_len(MAX_FILE_BYTES).unwrap();
        let entries = [
            ".env",
            "app/local.db",
            "data",
            "target",
            ".venv",
            "cmake-build-debug",
            "tea.egg-info",
            "src/tea.o",
        ];
        let (files, beyond) = chosen(root, &entries);
        assert_eq!(files, [".env", "app/local.db", "data/one"]);
        assert!(beyond.is_empty(), "{beyond:?}");
    }

    #[test]
    fn a_directory_with_many_entries_is_left_out_and_shallow_files_come_first() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path();
        let mut entries: Vec<String> = (0..MAX_FILES).map(|n| format!("deep/er/{n}.log")).collect();
        for entry in entries.iter().chain([&"z.env".to_owned()]) {
            write(&root.join(entry));
        }
        for n in 0..=MAX_IN_DIRECTORY {
            write(&root.join(format!("data/{n}")));
        }
        entries.extend(["data".to_owned(), "z.env".to_owned()]);
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        let (files, beyond) = chosen(root, &entries);
        assert_eq!(files.len(), MAX_FILES);
        assert!(files.contains(&"z.env".to_owned()));
        assert_eq!((beyond.len(), beyond[0].as_str()), (2, "data"));
    }
}
