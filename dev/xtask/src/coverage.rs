//! Whether `docs/contributing/protocol-coverage.md` says the truth about the native protocol.
//!
//! The page has a row for everything the protocol's pages name. What there is, is taken from the code: from the
//! table of methods, the types of `wire`, and what the server's sources make of them. Every row that claims
//! something names a test, and that test must be there. `editors` does the same for `docs/contributing/eca-coverage.md`.

mod code;
mod editors;
mod page;
mod shown;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::Context;

pub(crate) use page::{Page, Section, State};

/// The page, from the root of the repository.
const PAGE: &str = "docs/contributing/protocol-coverage.md";

/// The page, laid beside the code.
#[derive(Debug)]
pub(crate) struct Coverage {
    page: Page,
    complaints: Vec<String>,
}

impl Coverage {
    /// Reads the page and the sources of the repository at `root`.
    ///
    /// # Errors
    /// A file could not be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
        let page = Page::parse(&text);
        let facts = code::Facts::read(root)?;
        let mut complaints = page.complaints();
        complaints.extend(facts.complaints.iter().cloned());
        complaints.extend(compare(&page, &facts));
        complaints.extend(shown::missing(root, &page)?);
        complaints.extend(editors::complaints(root)?);
        Ok(Self { page, complaints })
    }

    /// Returns what is wrong, a sentence each.
    pub(crate) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Returns how many names of each section are in which state.
    pub(crate) fn summary(&self) -> String {
        let mut counts: BTreeMap<Section, [usize; 3]> = BTreeMap::new();
        for row in &self.page.rows {
            let count = counts.entry(row.section).or_default();
            count[row.state as usize] += row.names.len();
        }
        let mut text = format!("{:<20} {:>6} {:>8} {:>9}\n", "", "done", "partial", "not here");
        for (section, [done, partial, not_here]) in counts {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{:<20} {done:>6} {partial:>8} {not_here:>9}",
                section.title()
            );
        }
        text
    }
}

/// Returns where the page and the code say different things.
fn compare(page: &Page, facts: &code::Facts) -> Vec<String> {
    let mut complaints = Vec::new();
    for ((section, name), served) in &facts.there {
        match page.state(*section, name) {
            None => complaints.push(format!("{}: `{name}` has no row", section.title())),
            Some(State::NotHere) if *served => complaints.push(format!(
                "{}: `{name}` is said to be not here, and the code has it",
                section.title()
            )),
            Some(State::Done | State::Partial) if !served => complaints.push(format!(
                "{}: `{name}` is said to be here, and the code does not have it",
                section.title()
            )),
            Some(_) => {}
        }
    }
    for row in &page.rows {
        let invented = row.names.iter().filter(|name| {
            row.state != State::NotHere && !facts.there.contains_key(&(row.section, (*name).clone()))
        });
        complaints.extend(invented.map(|name| {
            format!(
                "{}: `{name}` is said to be here, and the code does not know it",
                row.section.title()
            )
        }));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_the_code_has() {
        let coverage = Coverage::read(&crate::root()).unwrap();
        assert!(
            coverage.complaints().is_empty(),
            "{}",
            coverage.complaints().join("\n")
        );
    }

    #[test]
    fn a_row_that_claims_too_much_or_too_little_is_found() {
        let page = Page::parse(
            "## Requests\n\
             | Name | Page | State | Note | Shown by |\n|---|---|---|---|---|\n\
             | `thread/start` | 02 | not here | -32601 | |\n\
             | `tea/boil` | 02 | done | | `native/tea: boils` |\n",
        );
        let facts = code::Facts {
            there: [
                ((Section::Requests, "thread/start".to_owned()), true),
                ((Section::Requests, "thread/list".to_owned()), true),
            ]
            .into(),
            complaints: Vec::new(),
        };
        let found = compare(&page, &facts);
        assert_eq!(found.len(), 3, "{found:?}");
        for (complaint, words) in found.iter().zip([
            "`thread/list` has no row",
            "`thread/start` is said to be not here",
            "`tea/boil` is said to be here",
        ]) {
            assert!(complaint.contains(words), "{complaint}");
        }
    }
}
