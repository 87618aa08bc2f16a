//! Whether `docs/contributing/eca-coverage.md` says the truth about the editors' protocol.
//!
//! What there is, is taken from the sources of `bobbin-eca` and `bobbin-editor-kit`: every method they name in quotes, every content they
//! can write, every context they can read.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::{Page, Section, State, shown};

/// The page, from the root of the repository.
const PAGE: &str = "docs/contributing/eca-coverage.md";
/// The sources of the dialect, and of what all editors' dialects share.
const SOURCES: [&str; 2] = ["crates/eca/src", "crates/editor-kit/src"];
/// Methods of the base protocol, which have no slash.
const PLAIN: [&str; 4] = ["initialize", "initialized", "shutdown", "exit"];

/// Returns where the page and the sources say different things.
///
/// # Errors
/// A file could not be read.
pub(super) fn complaints(root: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let page = Page::parse(&text);
    let mut complaints = page.complaints();
    complaints.extend(shown::missing(root, page.tests())?);
    let mut source = String::new();
    for place in SOURCES {
        source.push_str(&sources(&root.join(place))?);
    }
    let methods = methods(&source);
    complaints.extend(compare(&page, &methods, |section| {
        !matches!(
            section,
            Section::Contents | Section::Contexts | Section::ClientCapabilities
        )
    }));
    for (section, head) in [
        (Section::Contents, "pub(crate) enum Content {"),
        (Section::Contexts, "pub enum Context {"),
    ] {
        complaints.extend(compare(&page, &variants(&source, head), |other| other == section));
    }
    Ok(complaints)
}

/// Compares the rows of some sections with what there is.
fn compare(page: &Page, there: &BTreeSet<String>, of: impl Fn(Section) -> bool) -> Vec<String> {
    let mut left = there.clone();
    let mut complaints = Vec::new();
    for row in page.rows.iter().filter(|row| of(row.section)) {
        for name in &row.names {
            match (left.remove(name), row.state) {
                (true, State::NotHere) => complaints.push(format!("{PAGE}: the code has `{name}`")),
                (false, State::Done | State::Partial) => {
                    complaints.push(format!("{PAGE}: the code does not have `{name}`"));
                }
                _ => {}
            }
        }
    }
    complaints.extend(left.iter().map(|name| format!("{PAGE}: `{name}` has no row")));
    complaints
}

/// Returns all Rust below a directory, tests in it left out.
fn sources(directory: &Path) -> anyhow::Result<String> {
    let mut all = String::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            all.push_str(&sources(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            all.push_str(text.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
    Ok(all)
}

/// Returns what stands in quotes and is a method.
fn methods(source: &str) -> BTreeSet<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = code.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted
        .filter(|text| is_method(text) || PLAIN.contains(text))
        .map(str::to_owned)
        .collect()
}

fn is_method(text: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphabetic());
    text.split_once('/')
        .is_some_and(|(noun, verb)| (noun == "$" || word(noun)) && word(verb))
}

/// Returns the variants of an enum, as they are spelled on the wire.
fn variants(source: &str, head: &str) -> BTreeSet<String> {
    let body = source.split(head).nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    let names = body.lines().filter_map(|line| {
        let name = line.strip_prefix("    ")?.trim_end_matches([' ', '{', ',']);
        let first = name.chars().next()?;
        let is_name = first.is_ascii_uppercase() && name.chars().all(|c| c.is_ascii_alphanumeric());
        is_name.then(|| format!("{}{}", first.to_ascii_lowercase(), &name[1..]))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sources_have_is_found() {
        let source = "// \"tea/comment\"\n\"chat/prompt\" => x(\"a b/c\", \"$/progress\"),\n\"initialize\"\n\
            pub(crate) enum Content {\n    /// Words.\n    Text {\n        text: String,\n    },\n    RepoMap,\n}\n";
        assert_eq!(
            Vec::from_iter(methods(source)),
            ["$/progress", "chat/prompt", "initialize"]
        );
        assert_eq!(
            Vec::from_iter(variants(source, "pub(crate) enum Content {")),
            ["repoMap", "text"]
        );
    }

    #[test]
    fn a_row_that_claims_too_much_or_too_little_is_found() {
        let page = Page::parse(
            "## Requests\n| `a/b` | 6 | done | | `x/y: z` |\n| `c/d` | 6 | not here | -32601 | |\n",
        );
        let there = ["c/d", "e/f"].map(str::to_owned).into();
        let found = compare(&page, &there, |_| true);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
