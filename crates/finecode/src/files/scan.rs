//! Finds the projects of a workspace.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

/// Directories that hold no project of the user: environments, dependencies, outputs, caches, test data.
const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".venv",
    ".venvs",
    "node_modules",
    "__pycache__",
    ".tox",
    ".nox",
    "dist",
    "build",
    "target",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__testdata__",
];
/// Most projects of a workspace.
const MAX_PROJECTS: usize = 256;
/// Most directories and files that are looked at, and how deep.
const MAX_ENTRIES: usize = 200_000;
const MAX_DEPTH: usize = 12;

/// Returns the directories with a `pyproject.toml`, sorted. Links are not followed.
pub(crate) fn scan(root: &Path) -> Vec<PathBuf> {
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| {
            let name = entry.file_name().to_str();
            entry.depth() == 0 || name.is_none_or(|name| !SKIPPED.contains(&name))
        })
        .build();
    let definitions = walk
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name() == "pyproject.toml")
        .filter_map(|entry| entry.path().parent().map(Path::to_owned));
    let mut found: Vec<_> = definitions.take(MAX_PROJECTS).collect();
    found.sort();
    found
}
