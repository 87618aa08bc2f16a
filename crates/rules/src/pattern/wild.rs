//! Matching with one kind of wildcard for "any number of things": used on characters and on words.
//!
//! Time is at most the product of both lengths, and bounded by [`Work`]; no recursion.

use crate::work::Work;

/// One element of a pattern.
#[derive(Clone)]
pub(super) enum Element<T> {
    /// Any number of things, none included.
    Any,
    /// One thing that satisfies this.
    One(T),
}

/// The text that may follow a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing.
    Closed,
    /// Anything.
    Open,
}

/// Whether `things` fit the pattern.
pub(super) fn fits<P, T>(
    pattern: &[Element<P>],
    end: End,
    things: &[T],
    one: impl Fn(&P, usize, &T) -> bool,
) -> bool {
    let (mut at, mut thing) = (0, 0);
    // The position of the last `Any`, and how many things it has matched so far.
    let mut last: Option<(usize, usize)> = None;
    while thing < things.len() {
        match pattern.get(at) {
            Some(Element::Any) => {
                last = Some((at, thing));
                at += 1;
            }
            Some(Element::One(wanted)) if one(wanted, thing, &things[thing]) => {
                at += 1;
                thing += 1;
            }
            None if end == End::Open => return true,
            _ => {
                let Some((any, taken)) = last else {
                    return false;
                };
                last = Some((any, taken + 1));
                at = any + 1;
                thing = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|rest| matches!(rest, Element::Any))
}

/// A word with `*` (any characters) and `?` (one character).
#[derive(Clone)]
pub(super) struct Glob(Vec<Element<Option<char>>>, bool);

impl Glob {
    /// Reads a word. Case is preserved.
    pub(super) fn new(text: &str) -> Self {
        let element = |c| match c {
            '*' => Element::Any,
            '?' => Element::One(None),
            c => Element::One(Some(c)),
        };
        Self(text.chars().map(element).collect(), !text.contains(['*', '?']))
    }

    /// Returns its characters and wildcards.
    pub(super) fn elements(&self) -> &[Element<Option<char>>] {
        &self.0
    }

    /// Whether it has no wildcard.
    pub(super) fn is_literal(&self) -> bool {
        self.1
    }

    /// Whether a word fits.
    pub(super) fn fits(&self, word: &str, case: Case, work: &Work) -> bool {
        let longest = word.len();
        // A character has at most four bytes, so most words differ by length already.
        if !work.spend(1) || (self.is_literal() && !(longest.div_ceil(4)..=longest).contains(&self.0.len())) {
            return false;
        }
        let word: Vec<char> = word.chars().collect();
        work.spend(longest);
        fits(&self.0, End::Closed, &word, |wanted, _, have| {
            if !work.spend(1) {
                return false;
            }
            match (wanted, case) {
                (None, _) => true,
                (Some(wanted), Case::Counts) => wanted == have,
                (Some(wanted), Case::Ignored) => wanted.eq_ignore_ascii_case(have),
            }
        })
    }
}

/// Whether the rest of a pattern fits the rest of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Matched {
    /// Starting at the beginning of a word.
    pub(super) from: bool,
    /// Starting inside a word that may become several.
    pub(super) inside: bool,
}

/// Whether case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// It counts.
    Counts,
    /// It does not: on some file systems `rm` and `RM` are the same program.
    Ignored,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_fits_what_it_says() {
        for (glob, word, fits) in [
            ("", "", true),
            ("", "a", false),
            ("a*", "a", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("*a*b*", "xxaxxbxx", true),
            ("?", "é", true),
            ("?", "", false),
            ("--force*", "--force-with-lease", true),
        ] {
            assert_eq!(
                Glob::new(glob).fits(word, Case::Counts, &Work::default()),
                fits,
                "{glob} {word}"
            );
        }
        assert!(Glob::new("rm").fits("RM", Case::Ignored, &Work::default()));
    }

    #[test]
    fn many_stars_take_no_time() {
        let glob = Glob::new(&"*a".repeat(500));
        assert!(!glob.fits(&"a".repeat(499), Case::Counts, &Work::default()));
        assert!(glob.fits(&"a".repeat(5000), Case::Counts, &Work::default()));
    }
}
