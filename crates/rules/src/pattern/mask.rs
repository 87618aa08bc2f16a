//! The possible texts of words that are not fully known.

use super::wild::{Element, End, Glob, Matched, fits};
use crate::shell::{Piece, Word};
use crate::work::Work;

/// The possible texts of one word, or of one part of a path.
#[derive(Clone)]
pub(crate) struct Mask {
    elements: Vec<Element<Option<char>>>,
}

impl Mask {
    /// Returns the possible texts of these pieces. A set in brackets counts as any character, an unknown piece as
    /// any text.
    pub(crate) fn of(pieces: &[Piece]) -> Self {
        let mut elements = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => elements.extend(text.chars().map(|c| Element::One(Some(c)))),
                Piece::Wild(wild) if wild != "*" => elements.push(Element::One(None)),
                _ => elements.push(Element::Any),
            }
        }
        Self { elements }
    }

    /// Returns the possible texts of a word.
    pub(crate) fn of_word(word: &Word) -> Self {
        if word.exact {
            return Self::of(&[Piece::Text(word.text.clone())]);
        }
        if word.pieces.is_empty() {
            return Self::of(&[Piece::Unknown]);
        }
        Self::of(&word.pieces)
    }

    /// Returns the possible last names of a program: an unknown piece may contain a slash.
    pub(super) fn of_program(word: &Word) -> Self {
        let mut mask = Self::of_word(word);
        let is_slash = |element: &Element<Option<char>>| matches!(element, Element::One(Some('/')));
        let unknown = word.pieces.is_empty() && !word.exact;
        let is_known = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Wild(_));
        if unknown || !word.pieces.iter().all(is_known) {
            let last = mask.elements.iter().rposition(|one| matches!(one, Element::Any));
            mask.elements.drain(..last.unwrap_or(0));
        } else if let Some(last) = mask.elements.iter().rposition(is_slash) {
            mask.elements.drain(..=last);
        }
        mask
    }

    /// Whether a name fits.
    pub(crate) fn fits(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        fits(&self.elements, End::Closed, &name, |wanted, _, have| {
            wanted.is_none_or(|wanted| wanted == *have)
        })
    }

    /// Whether any text fits both this mask and a rule's word.
    pub(super) fn meets(&self, glob: &Glob, ignores_case: bool, work: &Work) -> bool {
        let (mine, theirs) = (&self.elements, glob.elements());
        // Row by row: whether the rests of both can be one text.
        let mut next = vec![false; theirs.len() + 1];
        for at in (0..=mine.len()).rev() {
            let mut row = vec![false; theirs.len() + 1];
            for other in (0..=theirs.len()).rev() {
                if !work.spend(1) {
                    return true;
                }
                row[other] = match (mine.get(at), theirs.get(other)) {
                    (None, None) => true,
                    (Some(Element::Any), None) => next[other],
                    (None, Some(Element::Any)) => row[other + 1],
                    // The wildcard matches one more character, or ends.
                    (Some(Element::Any), Some(_)) | (Some(_), Some(Element::Any)) => {
                        next[other] || row[other + 1]
                    }
                    (Some(Element::One(mine)), Some(Element::One(theirs))) => {
                        let same = match (mine, theirs) {
                            (Some(mine), Some(theirs)) if ignores_case => mine.eq_ignore_ascii_case(theirs),
                            (Some(mine), Some(theirs)) => mine == theirs,
                            _ => true,
                        };
                        same && next[other + 1]
                    }
                    (None, Some(_)) | (Some(_), None) => false,
                };
            }
            next = row;
        }
        next[0]
    }
}

/// Whether a command may fit a rule's words at run time, as far as its words are known.
pub(super) fn may_fit(pattern: &[Element<Glob>], words: &[Word], work: &Work) -> bool {
    let masks: Vec<Mask> = words.iter().map(Mask::of_word).collect();
    let program = words.first().map(Mask::of_program);
    // Row by row from the end: whether the rest of the command may fit the rest of the pattern.
    let mut next = vec![Matched::default(); words.len() + 1];
    for at in (0..=pattern.len()).rev() {
        let mut row = vec![Matched::default(); words.len() + 1];
        for word in (0..=words.len()).rev() {
            if !work.spend(1) {
                return true;
            }
            let Some(element) = pattern.get(at) else {
                // Any words may follow the pattern's words.
                row[word] = Matched {
                    from: true,
                    inside: true,
                };
                continue;
            };
            let Some(known) = words.get(word) else {
                let rest = matches!(element, Element::Any) && next[word].from;
                row[word] = Matched {
                    from: rest,
                    inside: rest,
                };
                continue;
            };
            let fits = match element {
                Element::Any => true,
                Element::One(glob) if word == 0 => {
                    masks[0].meets(glob, true, work)
                        || program.as_ref().is_some_and(|mask| mask.meets(glob, true, work))
                }
                Element::One(glob) => masks[word].meets(glob, false, work),
            };
            let is_any = matches!(element, Element::Any);
            let skips = is_any && (next[word].from);
            let mut from = skips || (fits && (next[word + 1].from || (is_any && row[word + 1].from)));
            let mut inside = false;
            if known.is_wild() {
                // The word may become several fitting words.
                from |= fits && !is_any && next[word].from;
            } else if known.may_be_many() {
                // Inside a word that may become several, any word may follow, or none.
                inside = row[word + 1].from || next[word].inside || next[word + 1].from;
                from |= inside;
            }
            row[word] = Matched { from, inside };
        }
        next = row;
    }
    next[0].from
}
