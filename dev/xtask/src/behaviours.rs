//! Which test shows which behaviour of `docs/contributing/hermes-checklist.md`.
//!
//! A test says so in its name: `behaviour_07_…` shows number 7. A line that ends with `(by hand)` has no test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The list, from the root of the repository.
const LIST: &str = "docs/contributing/hermes-checklist.md";
/// Where the tests are.
const PLACES: [&str; 4] = [
    "crates/hermes/src",
    "crates/hermes/tests/it",
    "crates/hl7/tests/it",
    "tests/server",
];
/// How the names of the tests start.
const START: &str = "fn behaviour_";

/// The list and its tests.
#[derive(Debug, Default)]
pub(crate) struct Behaviours {
    listed: BTreeSet<u32>,
    by_hand: BTreeSet<u32>,
    tests: BTreeMap<u32, Vec<String>>,
}

impl Behaviours {
    /// Reads the list and the tests of the repository at `root`.
    ///
    /// # Errors
    /// A file could not be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut behaviours = Self::default();
        let list = fs::read_to_string(root.join(LIST)).context(LIST)?;
        for line in list.lines() {
            let number = line.split_once(". ").and_then(|(number, _)| number.parse().ok());
            if let Some(number) = number {
                behaviours.listed.insert(number);
                if line.ends_with("(by hand)") {
                    behaviours.by_hand.insert(number);
                }
            }
        }
        for place in PLACES {
            let entries = fs::read_dir(root.join(place)).context(place)?;
            let mut paths: Vec<PathBuf> = entries
                .map(|entry| Ok(entry?.path()))
                .collect::<std::io::Result<_>>()?;
            paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
            paths.sort();
            for path in paths {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                behaviours.take(&file, &text);
            }
        }
        Ok(behaviours)
    }

    fn take(&mut self, file: &str, text: &str) {
        for (at, _) in text.match_indices(START) {
            let name = text[at + 3..].split(['(', '<']).next().unwrap_or_default();
            let number = name["behaviour_".len()..].split('_').next();
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                let test = format!("{file}: {name}");
                self.tests.entry(number).or_default().push(test);
            }
        }
    }

    /// Returns the behaviours without a test.
    pub(crate) fn missing(&self) -> Vec<u32> {
        let covered = |number: &&u32| self.tests.contains_key(number) || self.by_hand.contains(number);
        self.listed
            .iter()
            .filter(|number| !covered(number))
            .copied()
            .collect()
    }

    /// Returns the numbers of tests that are not in the list.
    pub(crate) fn unknown(&self) -> Vec<u32> {
        let tests = self.tests.keys();
        tests
            .filter(|number| !self.listed.contains(number))
            .copied()
            .collect()
    }

    /// Returns the tests as text, one behaviour after the other.
    pub(crate) fn table(&self) -> String {
        let all = self.tests.iter();
        all.flat_map(|(number, tests)| tests.iter().map(move |test| format!("h{number:>3}  {test}\n")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_behaviour_of_extensions_has_a_test() {
        let behaviours = Behaviours::read(&crate::root()).unwrap();
        assert_eq!((behaviours.missing(), behaviours.unknown()), (vec![], vec![]));
        assert_eq!(behaviours.listed.len(), 63);
    }
}
