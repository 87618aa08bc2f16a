//! Which test shows which line of the peer's behaviour checklist.
//!
//! The checklist is 136 numbered rules of how a JSON-RPC connection behaves. A test says which of them it
//! shows in a comment that begins with `Checklist`: above the function or inside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Number of the last line.
const LINES: u32 = 136;
/// The line that wants the core tests run over every framing, and how many of them it wants.
const EVERY_FRAMING: (u32, usize) = (131, 60);
/// What a test that runs over every framing, with a log and without, has as the last of its wires.
const FRAMINGS: &str = "Wire::Unlogged(Framing::WebSocket)";
/// Where the tests are, from the root of the repository.
const PLACES: [&str; 2] = ["crates/framing/tests/it", "crates/peer/tests/it"];

/// Tests by the line they show, as `file: function`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown(BTreeMap<u32, Vec<String>>);

impl Shown {
    /// Reads the tests of the repository at `root`.
    ///
    /// # Errors
    /// A file could not be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut shown = Self::default();
        let mut over_all = 0;
        for path in sources(root)? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            shown.take(&file, &text);
            over_all += text.matches(FRAMINGS).count();
        }
        if over_all >= EVERY_FRAMING.1 {
            let what = format!("{over_all} tests with a framing among their parameters");
            shown.0.entry(EVERY_FRAMING.0).or_default().push(what);
        }
        Ok(shown)
    }

    fn take(&mut self, file: &str, text: &str) {
        // Lines named above a function belong to the next one, lines named inside to the last one.
        let (mut waiting, mut current) = (Vec::new(), String::new());
        for line in text.lines().map(str::trim_start) {
            if let Some(rest) = line.strip_prefix("/// Checklist ") {
                waiting.extend(numbers(rest));
            } else if let Some(rest) = line.strip_prefix("// Checklist ") {
                self.add(file, &current, numbers(rest));
            } else if let Some(name) = function(line) {
                name.clone_into(&mut current);
                self.add(file, name, std::mem::take(&mut waiting));
            }
        }
    }

    fn add(&mut self, file: &str, name: &str, lines: Vec<u32>) {
        for line in lines {
            self.0.entry(line).or_default().push(format!("{file}: {name}"));
        }
    }

    /// Returns the lines that no test shows.
    pub(crate) fn missing(&self) -> Vec<u32> {
        (1..=LINES).filter(|line| !self.0.contains_key(line)).collect()
    }

    /// Returns numbers the tests name although the checklist has no such line.
    pub(crate) fn unknown(&self) -> Vec<u32> {
        let known = 1..=LINES;
        self.0
            .keys()
            .copied()
            .filter(|line| !known.contains(line))
            .collect()
    }

    /// Returns the table as text, a line of the checklist after the other.
    pub(crate) fn table(&self) -> String {
        self.0
            .iter()
            .flat_map(|(line, tests)| tests.iter().map(move |test| format!("{line:>4}  {test}\n")))
            .collect()
    }
}

fn sources(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for place in PLACES {
        let dir = root.join(place);
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

/// The numbers of `1, 2 and 4 to 6: words`, ranges filled in.
fn numbers(text: &str) -> Vec<u32> {
    let list = text.split(['.', ':', ';']).next().unwrap_or_default();
    let mut numbers = Vec::new();
    let mut range = false;
    for word in list.split([' ', ',']) {
        if word == "to" {
            range = true;
        } else if let Ok(number) = word.parse() {
            let from = numbers.last().map_or(number, |last| last + 1);
            numbers.extend(if range { from..=number } else { number..=number });
            range = false;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_checklist_has_a_test() {
        let shown = Shown::read(&crate::root()).unwrap();
        assert_eq!((shown.missing(), shown.unknown()), (vec![], vec![]));
    }

    #[test]
    fn numbers_are_read_from_prose() {
        assert_eq!(numbers("1, 3 and 5 to 7: as asked, 9 times"), [1, 3, 5, 6, 7]);
        assert_eq!(numbers("132, as far as bytes go."), [132]);
        assert!(numbers("follows").is_empty());
    }

    #[test]
    fn a_line_belongs_to_the_function_around_or_below_it() {
        let mut shown = Shown::default();
        shown.take(
            "a.rs",
            "/// Checklist 1 and 2.\n#[test]\nasync fn first() {\n    // Checklist 3.\n}\nfn second<T>() {}",
        );
        assert_eq!(
            shown.table(),
            "   1  a.rs: first\n   2  a.rs: first\n   3  a.rs: first\n"
        );
    }
}
