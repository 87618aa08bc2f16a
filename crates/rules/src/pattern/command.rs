//! A pattern of a command: words, `*` and `?` in them, `**` for any number of words.

use super::mask::may_fit;
use super::wild::{Case, Element, End, Glob, fits};
use crate::shell::Word;
use crate::work::Work;

/// How strictly a pattern is compared with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// As widely as possible: the program's last name counts too, case is ignored, and more words may follow. For
    /// rules that refuse or ask.
    Wide,
    /// Exactly. For rules that allow.
    Exact,
}

/// The words of a rule.
#[derive(Clone)]
pub(crate) struct CommandPattern {
    text: String,
    words: Vec<Element<Glob>>,
}

impl CommandPattern {
    /// Reads a pattern. A last word `*` matches any number of words, as `**` does anywhere.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let last = parts.len().checked_sub(1)?;
        let element = |(at, part): (usize, &&str)| match *part {
            "**" => Element::Any,
            "*" if at == last => Element::Any,
            part => Element::One(Glob::new(part)),
        };
        Some(Self {
            text: parts.join(" "),
            words: parts.iter().enumerate().map(element).collect(),
        })
    }

    /// Returns the pattern's text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the program is named rather than left to a wildcard.
    pub(crate) fn names_a_program(&self) -> bool {
        matches!(self.words.first(), Some(Element::One(glob)) if glob.is_literal())
    }

    /// Whether one of its words is exactly this word.
    pub(crate) fn says(&self, word: &str) -> bool {
        let says = |one: &Element<Glob>| matches!(one, Element::One(glob) if glob.is_literal() && glob.fits(word, Case::Counts, &Work::default()));
        self.words.iter().any(says)
    }

    /// Whether a command with unknown words may fit at run time, compared as with [`Reach::Wide`].
    pub(crate) fn may_fit(&self, command: &[Word], work: &Work) -> bool {
        may_fit(&self.words, command, work)
    }

    /// Whether every word is literal, without wildcards.
    pub(crate) fn is_literal(&self) -> bool {
        let mut words = self.words.iter();
        words.all(|word| matches!(word, Element::One(glob) if glob.is_literal()))
    }

    /// Whether a command fits.
    pub(crate) fn fits(&self, command: &[&str], reach: Reach, work: &Work) -> bool {
        match reach {
            Reach::Exact => fits(&self.words, End::Closed, command, |glob, _, word| {
                glob.fits(word, Case::Counts, work)
            }),
            Reach::Wide => fits(&self.words, End::Open, command, |glob, at, word| {
                if at > 0 {
                    return glob.fits(word, Case::Counts, work);
                }
                let name = word.rsplit('/').next().unwrap_or(word);
                glob.fits(word, Case::Ignored, work) || glob.fits(name, Case::Ignored, work)
            }),
        }
    }
}

impl std::fmt::Debug for CommandPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CommandPattern").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("git push *", "git push", true, true)]
    #[case("git push *", "git push origin --force", true, true)]
    #[case("git push", "git push origin", false, true)]
    #[case("git ** --force **", "git push origin --force", true, true)]
    #[case("git ** --force **", "git push origin", false, false)]
    #[case("git * origin", "git push origin", true, true)]
    #[case("git * origin", "git push upstream origin", false, false)]
    #[case("rm *", "/bin/rm x", false, true)]
    #[case("rm *", "RM x", false, true)]
    #[case("rm *", "rmdir x", false, false)]
    #[case("*", "anything at all", true, true)]
    #[case("./x *", "./x y", true, true)]
    #[case("cargo t* *", "cargo test -p a", true, true)]
    fn words_fit_to_the_letter_or_widely(
        #[case] pattern: &str,
        #[case] command: &str,
        #[case] exact: bool,
        #[case] wide: bool,
    ) {
        let pattern = CommandPattern::new(pattern).unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(
            pattern.fits(&words, Reach::Exact, &Work::default()),
            exact,
            "exact"
        );
        assert_eq!(pattern.fits(&words, Reach::Wide, &Work::default()), wide, "wide");
    }

    #[test]
    fn a_pattern_has_a_word() {
        assert!(CommandPattern::new("  ").is_none());
    }
}
