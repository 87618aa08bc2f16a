//! The options of a command, read by the usual convention: letters after one dash, names after two.

use std::iter::Peekable;

/// Option letters that give a search program its pattern.
const PATTERNS: [char; 2] = ['e', 'f'];

/// A command's words after its program.
#[derive(Debug, Default)]
pub(super) struct Options<'a> {
    /// One-letter options with their values. After an unknown letter, all following characters count as letters.
    letters: Vec<(char, &'a str)>,
    /// Named options without the dashes, with their possible values.
    names: Vec<(&'a str, &'a str)>,
    /// Words that are neither options nor values.
    pub(super) operands: Vec<&'a str>,
    /// How many operands come before `--`.
    pub(super) before_dashes: Option<usize>,
    /// Whether the operands are known for certain.
    pub(super) is_clear: bool,
    /// Whether an option has given the pattern.
    pub(super) has_pattern: bool,
}

impl<'a> Options<'a> {
    /// Reads the words of a program. `flags` have no value; `valued` have one in the same word or the next.
    pub(super) fn read(words: impl Iterator<Item = &'a str>, flags: &str, valued: &str) -> Self {
        let mut options = Self {
            is_clear: true,
            ..Self::default()
        };
        let mut rest = words.peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                // A later word with a dash still counts as an option: this `--` may be the value of another option.
                options.before_dashes.get_or_insert(options.operands.len());
            } else if let Some(long) = word.strip_prefix("--") {
                let both = long.split_once('=');
                options.is_clear &= both.is_some();
                let next = rest.peek().copied().unwrap_or_default();
                options.names.push(both.unwrap_or((long, next)));
            } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
                options.cluster(short, &mut rest, flags, valued);
            } else {
                options.operands.push(word);
            }
        }
        options
    }

    fn cluster(
        &mut self,
        short: &'a str,
        rest: &mut Peekable<impl Iterator<Item = &'a str>>,
        flags: &str,
        valued: &str,
    ) {
        let mut letters = short.chars();
        while let Some(letter) = letters.next() {
            if !valued.contains(letter) {
                // A number is the count of context lines.
                self.is_clear &= flags.contains(letter) || letter.is_ascii_digit();
                self.letters.push((letter, ""));
                continue;
            }
            let next = || rest.next_if(|next| !next.starts_with('-'));
            let value = Some(letters.as_str()).filter(|value| !value.is_empty());
            let value = value.or_else(next);
            self.is_clear &= value.is_some();
            self.has_pattern |= PATTERNS.contains(&letter);
            self.letters.push((letter, value.unwrap_or_default()));
            break;
        }
    }

    /// Whether one of these letters is present.
    pub(super) fn letter(&self, wanted: &str) -> bool {
        self.letters.iter().any(|(letter, _)| wanted.contains(*letter))
    }

    /// Whether a name with one of these prefixes is present.
    pub(super) fn has_prefix(&self, wanted: &[&str]) -> bool {
        let mut names = self.names.iter();
        names.any(|(name, _)| wanted.iter().any(|start| name.starts_with(start)))
    }

    /// Whether one of these exact names is present.
    pub(super) fn named(&self, wanted: &[&str]) -> bool {
        self.names.iter().any(|(name, _)| wanted.contains(name))
    }

    /// Returns the values of an option.
    pub(super) fn values(&self, letter: char, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let short = self.letters.iter().filter(move |(one, _)| *one == letter);
        let long = self.names.iter().filter(move |(name, _)| names.contains(name));
        short
            .map(|(_, value)| *value)
            .chain(long.map(|(_, value)| *value))
    }
}
