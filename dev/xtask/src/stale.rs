//! Comparing a directory with the files that should be in it, and mending the differences.
//!
//! Looks at files with the endings of those that should be there; anything else in the directory is not ours.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;

/// Contents by path, relative to the directory and with `/` between the parts.
pub(crate) type Files = BTreeMap<String, String>;

/// One file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It should be there.
    Missing(String),
    /// It says something else.
    Stale(String),
    /// It should not be there.
    Extra(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "missing: {path}"),
            Self::Stale(path) => write!(f, "stale:   {path}"),
            Self::Extra(path) => write!(f, "extra:   {path}"),
        }
    }
}

/// Returns every difference, ordered by kind and path.
///
/// # Errors
/// A file or directory could not be read.
pub(crate) fn compare(dir: &Path, wanted: &Files) -> anyhow::Result<Vec<Difference>> {
    let mut found = Files::new();
    let endings = wanted.keys().filter_map(|path| Path::new(path).extension());
    read_into(dir, "", &endings.collect(), &mut found)?;
    let missing = wanted.keys().filter(|path| !found.contains_key(*path));
    let stale = wanted
        .iter()
        .filter(|(path, text)| found.get(*path).is_some_and(|there| there != *text));
    let extra = found.keys().filter(|path| !wanted.contains_key(*path));
    Ok(missing
        .cloned()
        .map(Difference::Missing)
        .chain(stale.map(|(path, _)| Difference::Stale(path.clone())))
        .chain(extra.cloned().map(Difference::Extra))
        .collect())
}

/// Makes one file as it should be.
///
/// # Errors
/// The file could not be written or removed.
pub(crate) fn mend(dir: &Path, difference: &Difference, wanted: &Files) -> anyhow::Result<()> {
    match difference {
        Difference::Missing(path) | Difference::Stale(path) => {
            let file = dir.join(path);
            let text = wanted
                .get(path)
                .with_context(|| format!("nothing is known about {path}"))?;
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
            }
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
        }
        Difference::Extra(path) => {
            let file = dir.join(path);
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))
        }
    }
}

fn read_into(dir: &Path, prefix: &str, endings: &BTreeSet<&OsStr>, found: &mut Files) -> anyhow::Result<()> {
    if !dir.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let relative = format!("{prefix}{name}");
        if path.is_dir() {
            read_into(&path, &format!("{relative}/"), endings, found)?;
        } else if path.extension().is_some_and(|ending| endings.contains(ending)) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.insert(relative, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn missing_stale_and_extra_files_are_named_and_mended() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("old")).unwrap();
        fs::write(dir.path().join("old/gone.json"), "1").unwrap();
        fs::write(dir.path().join("same.json"), "2").unwrap();
        fs::write(dir.path().join("other.json"), "3").unwrap();
        fs::write(dir.path().join("README.md"), "kept").unwrap();
        let wanted = files(&[("same.json", "2"), ("other.json", "4"), ("new/one.json", "5")]);

        let differences = compare(dir.path(), &wanted).unwrap();
        assert_eq!(
            differences,
            [
                Difference::Missing("new/one.json".to_owned()),
                Difference::Stale("other.json".to_owned()),
                Difference::Extra("old/gone.json".to_owned()),
            ]
        );

        for difference in &differences {
            mend(dir.path(), difference, &wanted).unwrap();
        }
        assert_eq!(compare(dir.path(), &wanted).unwrap(), []);
        assert!(dir.path().join("README.md").exists());
    }

    #[test]
    fn a_directory_that_is_not_there_misses_everything() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = files(&[("one.json", "1")]);
        assert_eq!(
            compare(&dir.path().join("nowhere"), &wanted).unwrap(),
            [Difference::Missing("one.json".to_owned())]
        );
    }
}
