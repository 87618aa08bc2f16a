//! Expands the words of a line as far as known: variables that the line sets, names of files.

use std::path::{Path, PathBuf};

use super::Judge;
use crate::Ambiguity;
use crate::cwd::{everywhere, is_lost};
use crate::pattern::Mask;
use crate::shell::{Link, Piece, Reading, Word, here_document, steps};
use crate::wrapper::name;

/// Most commands that one command expands to because a variable has several values.
const MAX_ALTERNATIVES: usize = 16;
/// Most values within values.
const MAX_DEPTH: usize = 4;
/// Most file names that the words of a line expand to.
const MAX_NAMES: usize = 1024;
/// Most directories that are listed for a line.
const MAX_LISTED: usize = 64;
/// Longest text that a word expands to, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// Commands that set variables in ways that are not followed.
const SETTERS: &[&str] = &[
    ".",
    "eval",
    "getopts",
    "let",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "source",
    "vared",
];
/// Variables with known values.
const PLACES: &[&str] = &["~", "HOME", "OLDPWD", "PWD"];

/// The possible values of variables in a line, from all its texts.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: Vec<(String, Word)>,
    /// Whether any variable may have an unknown value.
    unknown: bool,
}

impl Variables {
    pub(super) fn learn(&mut self, reading: &Reading) {
        self.values.extend(reading.assignments.iter().cloned());
        let sets = |words: &Vec<Word>| {
            let is_setter = words.iter().any(|word| SETTERS.contains(&name(word).as_str()));
            let first = words.first().map(name).unwrap_or_default();
            let prints = first == "printf" && !words.iter().any(|word| word.text.starts_with("-v"));
            let refers = matches!(first.as_str(), "declare" | "local" | "typeset")
                && words.iter().any(|word| word.text.starts_with("-n"));
            (is_setter && !prints) || refers
        };
        let splits = reading.assignments.iter().any(|(name, _)| name == "IFS");
        self.unknown |= splits || reading.sets_more || reading.commands.iter().any(sets);
    }

    fn of<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a Word> {
        let values = self.values.iter().filter(move |(name, _)| name == wanted);
        values.filter(|_| !self.unknown).map(|(_, value)| value)
    }
}

/// Pieces, with `None` between two words.
type Pieces = Vec<Option<Piece>>;

impl Judge<'_> {
    /// Returns the possible commands after expanding the variables.
    pub(super) fn alternatives(&mut self, words: &[Word]) -> Vec<Vec<Word>> {
        let mut all: Vec<Vec<Word>> = vec![Vec::new()];
        for word in words {
            let mut values = self.values_of(word);
            if values.len() * all.len() > MAX_ALTERNATIVES {
                self.ambiguous(Ambiguity::TooMuch);
                values = vec![vec![word.clone()]];
            }
            // The usual case: without alternatives, nothing is copied.
            if let [end] = values.as_slice() {
                for start in &mut all {
                    start.extend_from_slice(end);
                }
                continue;
            }
            let longer = all.iter().flat_map(|start| {
                let ends = values.iter();
                ends.map(|end| start.iter().chain(end).cloned().collect())
            });
            all = longer.collect();
        }
        all.retain(|words| !words.is_empty());
        all
    }

    fn values_of(&self, word: &Word) -> Vec<Vec<Word>> {
        let is_live = |piece: &Piece| matches!(piece, Piece::Variable { .. } | Piece::Output { .. });
        if word.exact || !word.pieces.iter().any(is_live) {
            return vec![vec![word.clone()]];
        }
        let values = self.substituted(&word.pieces, 0).into_iter();
        values.map(|pieces| words_of(word, &pieces)).collect()
    }

    fn substituted(&self, pieces: &[Piece], depth: usize) -> Vec<Pieces> {
        let mut all: Vec<Pieces> = vec![Vec::new()];
        for piece in pieces {
            let ends: Vec<Pieces> = match piece {
                Piece::Variable { name, quoted } if !PLACES.contains(&name.as_str()) && depth < MAX_DEPTH => {
                    let values = self.variables.of(name).take(MAX_ALTERNATIVES + 1);
                    let values = values.flat_map(|value| {
                        if value.exact {
                            vec![split(&value.text, *quoted)]
                        } else if value.pieces.is_empty() {
                            vec![vec![Some(Piece::Unknown)]]
                        } else {
                            let values = self.substituted(&value.pieces, depth + 1).into_iter();
                            values.map(|pieces| as_value(pieces, *quoted)).collect()
                        }
                    });
                    values.collect()
                }
                Piece::Output { text, quoted } => output_of(text)
                    .map(|output| split(output.trim_end_matches('\n'), *quoted))
                    .into_iter()
                    .collect(),
                _ => Vec::new(),
            };
            let ends = if ends.is_empty() {
                vec![vec![Some(piece.clone())]]
            } else {
                ends
            };
            if let [end] = ends.as_slice() {
                for start in &mut all {
                    start.extend_from_slice(end);
                }
                continue;
            }
            let longer = all.iter().flat_map(|start| {
                let ends = ends.iter();
                ends.map(|end| start.iter().chain(end).cloned().collect())
            });
            all = longer.take(MAX_ALTERNATIVES + 1).collect();
        }
        all
    }

    /// Replaces patterns by the file names that they match. A pattern without a match stays as it is.
    pub(super) fn with_names(&mut self, words: &[Word], directories: &[PathBuf]) -> Vec<Word> {
        let mut all = Vec::with_capacity(words.len());
        for word in words {
            let mut names = Vec::new();
            if word.is_wild() {
                for directory in directories {
                    match self.names(directory, &word.pieces) {
                        Some(more) => names.extend(more),
                        None => drop(self.ambiguous(Ambiguity::TooMuch)),
                    }
                }
            }
            names.sort_unstable();
            names.dedup();
            if all.is_empty() && names.len() > 1 {
                // A set counts as any character here, so the program is not known.
                self.ambiguous(Ambiguity::DynamicName);
            }
            if names.is_empty() {
                all.push(word.clone());
            } else {
                all.extend(names.into_iter().map(Word::exact));
            }
        }
        all
    }

    /// Expands patterns in commands that move the shell, repeated because one move may start where another ended.
    pub(super) fn moves(&mut self, commands: Vec<Vec<Word>>, directories: &[PathBuf]) -> Vec<Vec<Word>> {
        let is_wild = |words: &[Word], judge: &Self| {
            words.iter().any(Word::is_wild) && is_lost(words, directories, judge.machine())
        };
        if !commands.iter().any(|words| is_wild(words, self)) {
            return commands;
        }
        let mut moves = commands.clone();
        for _ in 0..2 {
            let (from, _) = everywhere(&moves, directories, self.machine());
            moves.clone_from(&commands);
            for words in &commands {
                if is_wild(words, self) {
                    let named = self.with_names(words, &from);
                    let each = named[1..].iter().filter(|word| word.exact);
                    moves.extend(each.map(|target| vec![named[0].clone(), target.clone()]));
                }
            }
        }
        moves
    }

    /// Returns the paths that a pattern matches; `None` if there are too many.
    fn names(&mut self, directory: &Path, pieces: &[Piece]) -> Option<Vec<String>> {
        let mut found = vec![String::new()];
        for (at, part) in parts(pieces).iter().enumerate() {
            let mut longer = Vec::new();
            for start in found {
                let start = if at == 0 { start } else { start + "/" };
                if let [Piece::Text(text)] = part.as_slice() {
                    longer.push(start + text);
                    continue;
                }
                if part.is_empty() {
                    longer.push(start);
                    continue;
                }
                let names = self.listed(directory, if start.is_empty() { "." } else { &start })?;
                let mask = Mask::of(part);
                let is_dot = matches!(part.first(), Some(Piece::Text(text)) if text.starts_with('.'));
                let shows_hidden = is_dot || self.shows_all;
                let fits = |name: &&str| (shows_hidden || !name.starts_with('.')) && mask.fits(name);
                let names = names.iter().map(String::as_str).chain([".", ".."]);
                longer.extend(names.filter(fits).map(|name| format!("{start}{name}")));
                if longer.len() > MAX_NAMES {
                    return None;
                }
            }
            found = longer;
        }
        self.names_found += found.len();
        (self.names_found <= MAX_NAMES).then_some(found)
    }

    fn listed(&mut self, directory: &Path, text: &str) -> Option<Vec<String>> {
        self.listed += 1;
        if self.listed > MAX_LISTED {
            return None;
        }
        match self.places.find(directory, text) {
            Some(place) => self.places.names(&place.path),
            None => Some(Vec::new()),
        }
    }
}

/// Returns the pieces of each part of a path.
fn parts(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut parts = vec![Vec::new()];
    for piece in pieces {
        let Piece::Text(text) = piece else {
            parts
                .last_mut()
                .into_iter()
                .for_each(|part| part.push(piece.clone()));
            continue;
        };
        for (at, text) in text.split('/').enumerate() {
            if at > 0 {
                parts.push(Vec::new());
            }
            if !text.is_empty() {
                let text = Piece::Text(text.to_owned());
                parts
                    .last_mut()
                    .into_iter()
                    .for_each(|part| part.push(text.clone()));
            }
        }
    }
    parts
}

/// Returns the pieces of a value, split into words unless quoted.
fn split(value: &str, quoted: bool) -> Pieces {
    let text = |text: String| Some(Piece::Text(text));
    if quoted {
        return vec![text(value.to_owned())];
    }
    let mut all = Vec::new();
    let mut word = String::new();
    for c in value.chars() {
        let special = c.is_whitespace() || "*?[".contains(c);
        if !special {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            all.push(text(std::mem::take(&mut word)));
        }
        // A set in brackets in a value is rare; it counts as any text.
        all.push((!c.is_whitespace()).then(|| Piece::Wild(if c == '[' { '*' } else { c }.to_string())));
    }
    if !word.is_empty() {
        all.push(text(word));
    }
    all
}

/// Returns the pieces of one variable's value inside another's.
fn as_value(pieces: Pieces, quoted: bool) -> Pieces {
    let mut all = Vec::new();
    for piece in pieces {
        match piece {
            Some(Piece::Text(text) | Piece::Wild(text)) => all.extend(split(&text, quoted)),
            other => all.push(other),
        }
    }
    all
}

/// Returns the words that these pieces form. `from` is the original word.
fn words_of(from: &Word, pieces: &[Option<Piece>]) -> Vec<Word> {
    let mut words = Vec::new();
    for pieces in pieces.split(Option::is_none) {
        if pieces.is_empty() {
            continue;
        }
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces.iter().flatten() {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(more)) => {
                    before.truncate(MAX_TEXT);
                    before.push_str(more);
                }
                _ => joined.push(piece.clone()),
            }
        }
        words.push(if joined == from.pieces {
            from.clone()
        } else {
            Word::of(joined)
        });
    }
    words
}

/// Returns the output of a text's commands, if their words make it plain.
fn output_of(text: &str) -> Option<String> {
    if let Some(body) = here_document(text) {
        return Some(body);
    }
    let steps = steps(text)?;
    let [step] = steps.as_slice() else { return None };
    let (program, rest) = step.words.split_first()?;
    let is_plain =
        |word: &Word| word.exact && !word.text.contains(['\\', '%']) && !word.text.starts_with('-');
    if step.link != Link::First || !step.redirects.is_empty() || !rest.iter().all(is_plain) {
        return None;
    }
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    match (program.text.as_str(), texts.as_slice()) {
        ("echo", texts) => Some(texts.join(" ")),
        ("printf", [text]) => Some((*text).to_owned()),
        _ => None,
    }
}
