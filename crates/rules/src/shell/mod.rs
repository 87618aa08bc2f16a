//! Reading a command line: what commands are in it, and whether it is plain.

mod crude;
mod pieces;
mod plain;
mod tree;
mod word;

pub(crate) use crude::guesses;
pub(crate) use pieces::{Piece, here_document, pieces};
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
    /// What it is made of, where that is not all of it and the parser has understood it.
    pub(crate) pieces: Vec<Piece>,
}

impl Word {
    /// Returns a word that is not known, and is not taken apart.
    pub(crate) fn unknown(text: impl Into<String>) -> Self {
        Self {
            exact: false,
            ..Self::exact(text)
        }
    }

    /// Returns the word that is made of these.
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

    /// Whether files decide what it is, and nothing else.
    pub(crate) fn is_wild(&self) -> bool {
        let mut pieces = self.pieces.iter();
        !self.exact
            && !self.pieces.is_empty()
            && pieces.all(|piece| matches!(piece, Piece::Text(_) | Piece::Wild(_)))
    }

    /// Returns a word that is known.
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
    /// Whether it may be read.
    pub(crate) reads: bool,
    /// Whether it may be written.
    pub(crate) writes: bool,
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
    /// What each variable may be, in order: its name and a value.
    pub(crate) assignments: Vec<(String, Word)>,
    /// Whether an expansion may set variables.
    pub(crate) sets_more: bool,
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
