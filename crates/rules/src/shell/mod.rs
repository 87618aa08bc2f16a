//! Reading a command line: what commands are in it, and whether it is plain.

mod crude;
mod plain;
mod tree;
mod word;

pub(crate) use crude::guesses;
pub(crate) use plain::{Link, Step, steps};
pub(crate) use tree::read;

use crate::Concern;

/// Longest line that is read, bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 10;
/// Most commands in a line, those inside of others included.
pub(crate) const MAX_COMMANDS: usize = 256;
/// Most words in a line.
pub(crate) const MAX_WORDS: usize = 4096;

/// A word after the shell has taken its quotes off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text; where `exact` is false, the part of it that stands there.
    pub(crate) text: String,
    /// Whether that is all of it, whatever happens.
    pub(crate) exact: bool,
}

impl Word {
    /// Returns a word that is known.
    pub(crate) fn exact(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exact: true,
        }
    }
}

/// A redirection into or from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// The file.
    pub(crate) target: Word,
    /// Whether it may be read.
    pub(crate) reads: bool,
    /// Whether it may be written.
    pub(crate) writes: bool,
}

impl Redirect {
    /// Returns one that reads a file which is known.
    pub(crate) fn reading(path: &str) -> Self {
        Self {
            target: Word::exact(path),
            reads: true,
            writes: false,
        }
    }
}

/// What was found in a line.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Every command, in order, those inside of others included.
    pub(crate) commands: Vec<Vec<Word>>,
    /// Every redirection that is more than a copy of a stream.
    pub(crate) redirects: Vec<Redirect>,
    /// Texts that are some command's input.
    pub(crate) inputs: Vec<String>,
    /// What keeps the line from being allowed; each once.
    pub(crate) concerns: Vec<Concern>,
}

impl Reading {
    fn worry(&mut self, concern: Concern) {
        if !self.concerns.contains(&concern) {
            self.concerns.push(concern);
        }
    }
}
