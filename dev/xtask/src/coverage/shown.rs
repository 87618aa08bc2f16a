//! Whether the tests that the page names are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// What stands above a function that is a test.
const MARKS: [&str; 3] = ["#[test]", "#[tokio::test", "#[rstest"];

/// Returns the tests that are named and not there.
///
/// # Errors
/// A file could not be read.
pub(super) fn missing<'a>(
    root: &Path,
    tests_of_rows: impl Iterator<Item = &'a str>,
) -> anyhow::Result<Vec<String>> {
    let mut known: BTreeMap<String, Option<BTreeSet<String>>> = BTreeMap::new();
    let mut missing = Vec::new();
    for test in tests_of_rows {
        let Some((place, name)) = test.split_once(": ") else {
            missing.push(format!("`{test}` is not of the form `room/file: function`"));
            continue;
        };
        if !known.contains_key(place) {
            // A file and the file of its crate's tests may have the same name.
            let mut found: Option<BTreeSet<String>> = None;
            for path in places(root, place).into_iter().filter(|path| path.is_file()) {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                found.get_or_insert_default().extend(tests(&text));
            }
            known.insert(place.to_owned(), found);
        }
        match known.get(place) {
            Some(Some(names)) if names.contains(name) => {}
            Some(Some(_)) => missing.push(format!("there is no test `{name}` in `{place}`")),
            _ => missing.push(format!("there is no file of tests `{place}`")),
        }
    }
    missing.sort();
    missing.dedup();
    Ok(missing)
}

/// Where `room/file` may be: the tests of the whole server, of a crate, or beside a crate's code.
fn places(root: &Path, place: &str) -> Vec<PathBuf> {
    let (room, file) = place.split_once('/').unwrap_or((place, "lib"));
    let mut places = vec![root.join(format!("tests/{room}/{file}.rs"))];
    for of_crate in ["crates", "dev"].map(|above| root.join(above).join(room)) {
        places.push(of_crate.join(format!("src/{file}.rs")));
        places.push(of_crate.join(format!("tests/{file}.rs")));
        let folders = ["it", "features", "group", "agent", room];
        places.extend(folders.map(|folder| of_crate.join(format!("tests/{folder}/{file}.rs"))));
    }
    places
}

/// The names of the tests in a file.
fn tests(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut marked = false;
    for line in text.lines().map(str::trim_start) {
        if MARKS.iter().any(|mark| line.starts_with(mark)) {
            marked = true;
        } else if let Some(rest) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if std::mem::take(&mut marked) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_functions_are_tests() {
        let text = "fn helper() {}\n#[tokio::test]\nasync fn one() {}\n  #[test]\n  fn two() {}\n#[rstest]\n#[case(1)]\nfn three<T>() {}";
        assert_eq!(Vec::from_iter(tests(text)), ["one", "three", "two"]);
    }

    #[test]
    fn a_test_that_is_not_there_is_named() {
        let tests = [
            "xtask/coverage/shown: only_marked_functions_are_tests",
            "xtask/coverage/shown: gone",
            "tea/pot: boils",
            "x",
        ];
        let missing = missing(&crate::root(), tests.into_iter()).unwrap();
        assert_eq!(
            missing,
            [
                "`x` is not of the form `room/file: function`",
                "there is no file of tests `tea/pot`",
                "there is no test `gone` in `xtask/coverage/shown`",
            ]
        );
    }
}
