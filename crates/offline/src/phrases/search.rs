//! `search for X in src`, `grep -i X`, `find "X"`, `which files mention X?`, `where is X used?`

use crate::instruction::{Instruction, Search};
use crate::text::{after, after_any, is_noise, path, quoted, skip, split_last};

const FILLERS: &[&str] = &[
    "all",
    "every",
    "any",
    "the",
    "lines",
    "with",
    "containing",
    "that contain",
    "occurrences of",
    "occurrence of",
    "uses of",
    "mentions of",
    "references to",
    "word",
    "text",
    "string",
    "pattern",
];

/// Ends of a question about a name.
const USED: &[&str] = &[
    "used",
    "defined",
    "mentioned",
    "called",
    "declared",
    "referenced",
    "implemented",
];

pub(super) fn understand(line: &str) -> Option<Instruction> {
    if let Some(rest) = question(line) {
        return search(
            rest.trim_end_matches(['?', '.', '!']).trim_end(),
            Search {
                literal: true,
                ..Search::default()
            },
        );
    }
    if let Some(rest) = after_any(line, &["grep for", "grep", "rg"]) {
        let (rest, ignore_case) = flags(rest);
        return grep(
            rest,
            Search {
                ignore_case,
                ..Search::default()
            },
        );
    }
    let rest = after_any(line, &["search for", "search", "look for", "find"])?;
    let rest = skip(rest.trim_start_matches(':').trim_start(), FILLERS);
    search(
        rest,
        Search {
            literal: true,
            ..Search::default()
        },
    )
}

/// Returns the object of a question.
fn question(line: &str) -> Option<&str> {
    if let Some(rest) = after_any(line, &["which files", "what files", "which file", "who"]) {
        let verbs = [
            "mention",
            "mentions",
            "contain",
            "contains",
            "use",
            "uses",
            "have",
            "has",
            "reference",
            "references",
            "include",
            "includes",
            "import",
            "imports",
            "call",
            "calls",
        ];
        return after_any(rest, &verbs);
    }
    let rest = after_any(line, &["where is", "where are"])?;
    let rest = rest.trim_end_matches(['?', '.', '!']).trim_end();
    USED.iter()
        .find_map(|word| rest.strip_suffix(word)?.strip_suffix(' '))
}

/// Skips flags of `grep`; returns whether one of them ignores case.
fn flags(mut rest: &str) -> (&str, bool) {
    let mut ignore_case = false;
    while let Some(word) = rest.split_whitespace().next()
        && word.len() > 1
        && word
            .strip_prefix('-')
            .is_some_and(|flag| flag.bytes().all(|b| b.is_ascii_alphabetic()))
    {
        ignore_case |= word.contains('i');
        rest = rest[word.len()..].trim_start();
    }
    (rest, ignore_case)
}

/// Reads a pattern and a place in `grep`'s order, without "in" between them.
fn grep(rest: &str, base: Search) -> Option<Instruction> {
    let pattern = quoted(rest).map(|named| (named.text, named.rest)).or_else(|| {
        let word = rest.split_whitespace().next()?;
        Some((word.to_owned(), rest[word.len()..].trim_start()))
    })?;
    if let Some(named) = path(pattern.1)
        && is_noise(named.rest)
        && !is_noise(&named.text)
        && after(pattern.1, "in").is_none()
    {
        return Some(Instruction::Search(somewhere(
            Search {
                pattern: pattern.0,
                ..base
            },
            named.text,
        )));
    }
    search(rest, base)
}

/// Reads `X`, `X in PLACE`, with `X` quoted or not.
fn search(rest: &str, mut base: Search) -> Option<Instruction> {
    let mut rest = rest.trim();
    for ending in ["case-insensitively", "ignoring case", "ignore case"] {
        if let Some(cut) = rest.strip_suffix(ending) {
            base.ignore_case = true;
            rest = cut.trim_end_matches([' ', ',']);
        }
    }
    let (pattern, place) = if let Some(named) = quoted(rest) {
        (named.text, named.rest)
    } else {
        let (pattern, place) = match split_last(rest, "in") {
            Some((pattern, place)) if is_place(place) => (pattern, &rest[rest.len() - place.len() - 3..]),
            _ => (rest, ""),
        };
        (
            pattern
                .trim_end_matches(['?', '.', '!', ','])
                .trim_end()
                .to_owned(),
            place,
        )
    };
    if pattern.is_empty() {
        return None;
    }
    // `/…/` is a regular expression.
    let expression = pattern
        .strip_prefix('/')
        .and_then(|text| text.strip_suffix('/'))
        .filter(|text| !text.is_empty());
    base.literal &= expression.is_none();
    base.pattern = expression.map(ToOwned::to_owned).unwrap_or(pattern);
    match after_any(place.trim_start(), &["in", "inside", "under"]) {
        None => is_noise(place).then_some(Instruction::Search(base)),
        Some(place) if everywhere(place) => Some(Instruction::Search(base)),
        Some(place) => {
            let named = path(skip(place, &["the", "files", "directory", "folder"]))?;
            is_noise(named.rest).then(|| Instruction::Search(somewhere(base, named.text)))
        }
    }
}

fn is_place(place: &str) -> bool {
    everywhere(place)
        || path(skip(place, &["the", "files", "directory", "folder"]))
            .is_some_and(|named| is_noise(named.rest))
}

/// Returns whether a place is the whole workspace.
fn everywhere(place: &str) -> bool {
    let place = skip(place, &["the", "this", "all", "whole", "entire", "my"]);
    let nouns = [
        "workspace",
        "repository",
        "repo",
        "project",
        "codebase",
        "code",
        "files",
        "here",
        "everything",
    ];
    after_any(place, &nouns).is_some_and(is_noise) || place.is_empty()
}

fn somewhere(base: Search, place: String) -> Search {
    if place.contains('*') {
        Search {
            glob: Some(place),
            ..base
        }
    } else {
        Search {
            path: Some(place),
            ..base
        }
    }
}
