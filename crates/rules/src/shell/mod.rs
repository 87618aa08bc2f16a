//! Reads a command line: which commands it has, and whether it is plain.

mod crude;
mod pieces;
mod plain;
mod tree;
mod word;

pub(crate) use crude::guesses;
pub(crate) use pieces::{Piece, here_document, pieces};
pub(crate) use plain::{Link, Step, steps};
pub(crate) use tree::read;

use crate::Ambiguity;

/// Longest line that is read, bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 10;
/// Most commands in a line, nested commands included.
pub(crate) const MAX_COMMANDS: usize = 256;
/// Most words in a line.
pub(crate) const MAX_WORDS: usize = 4096;

/// The shell's directory, as the beginning of a quoted word.
const HERE: &str = "\"$PWD";

/// Returns what follows `"$PWD` at the beginning of a word, if `.` means the same there: the word ends, or a path goes on, and
/// nothing in the line names the variable otherwise.
fn behind_here<'a>(line: &str, word: &'a str) -> Option<&'a str> {
    let is_only_read = || line.match_indices("PWD").all(|(at, _)| line[..at].ends_with('$'));
    let rest = word.strip_prefix(HERE)?;
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['/', ' ', '\t', '\n', ';', '|', '&', ')']);
    let is_path = rest.starts_with('/') || rest.strip_prefix('"').is_some_and(ends);
    (is_path && is_only_read()).then_some(rest)
}

/// A word after the shell has removed its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text; if `exact` is false, its known part.
    pub(crate) text: String,
    /// Whether the text is the whole word in every case.
    pub(crate) exact: bool,
    /// Its pieces, if the word is not exact and the parser has understood it.
    pub(crate) pieces: Vec<Piece>,
}

impl Word {
    /// Returns an unknown word without pieces.
    pub(crate) fn unknown(text: impl Into<String>) -> Self {
        Self {
            exact: false,
            ..Self::exact(text)
        }
    }

    /// Returns the word that these pieces form.
    pub(crate) fn of(pieces: Vec<Piece>) -> Self {
        let mut text = String::new();
        for piece in &pieces {
            match piece {
                Piece::Text(more) | Piece::Wild(more) => text.push_str(more),
                Piece::Variable { name, .. } => {
                    text.push('$');
                    text.push_str(name);
                }
                Piece::Output { .. } | Piece::Unknown => text.push('…'),
            }
        }
        if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            return Self::exact(text);
        }
        Self {
            text,
            exact: false,
            pieces,
        }
    }

    /// Whether it may become several words, or none.
    pub(crate) fn may_be_many(&self) -> bool {
        let mut pieces = self.pieces.iter();
        !self.exact
            && (self.pieces.is_empty()
                || pieces.any(|piece| {
                    !matches!(
                        piece,
                        Piece::Text(_)
                            | Piece::Variable { quoted: true, .. }
                            | Piece::Output { quoted: true, .. }
                    )
                }))
    }

    /// Whether only existing files decide what it becomes.
    pub(crate) fn is_wild(&self) -> bool {
        let mut pieces = self.pieces.iter();
        !self.exact
            && !self.pieces.is_empty()
            && pieces.all(|piece| matches!(piece, Piece::Text(_) | Piece::Wild(_)))
    }

    /// Returns a known word.
    pub(crate) fn exact(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exact: true,
            pieces: Vec::new(),
        }
    }
}

/// A redirection into or from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// The file.
    pub(crate) target: Word,
    /// Whether the file may be read.
    pub(crate) reads: bool,
    /// Whether the file may be written.
    pub(crate) writes: bool,
}

/// The findings in a line.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Every command, in order, nested commands included.
    pub(crate) commands: Vec<Vec<Word>>,
    /// Every redirection except copies of streams.
    pub(crate) redirects: Vec<Redirect>,
    /// Texts that are the input of a command.
    pub(crate) inputs: Vec<String>,
    /// Possible values of variables, in order: name and value.
    pub(crate) assignments: Vec<(String, Word)>,
    /// Whether an expansion may set variables.
    pub(crate) sets_more: bool,
    /// The ambiguities about the line, each once.
    pub(crate) ambiguities: Vec<Ambiguity>,
}

impl Reading {
    fn ambiguous(&mut self, ambiguity: Ambiguity) {
        if !self.ambiguities.contains(&ambiguity) {
            self.ambiguities.push(ambiguity);
        }
    }
}
