//! The second reader: plain commands only, in the part of the language that every POSIX shell reads alike.
//!
//! Words of plain characters, quotes without anything live in them, `&&`, `||`, `;`, line breaks and `|`
//! between commands, redirections of streams into each other and into nothing, and reading from a file.
//! Anything else makes a line not plain. A line is allowed only if this reader and the parser find the same
//! commands, so a mistake of one of them asks a question and does not run a command.

use super::{MAX_COMMANDS, MAX_WORDS};

/// How a command stands to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// It is the first.
    First,
    /// It runs if that one went well.
    And,
    /// It runs if that one did not.
    Or,
    /// It runs after it.
    Then,
    /// It reads that one's output.
    Pipe,
}

/// A plain command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// How it is reached.
    pub(crate) link: Link,
    /// Program and arguments, quotes taken off; never empty.
    pub(crate) words: Vec<String>,
    /// Files it reads by redirection.
    pub(crate) reads: Vec<String>,
}

/// Words that are no command where a command may begin.
const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Splits a plain line into its commands; `None` when it is not plain.
pub(crate) fn steps(line: &str) -> Option<Vec<Step>> {
    let mut reader = Reader {
        rest: line.trim_matches([' ', '\t', '\n']),
    };
    let mut steps = Vec::new();
    let mut link = Link::First;
    let mut words = 0;
    loop {
        let step = reader.step(link)?;
        words += step.words.len();
        steps.push(step);
        if steps.len() > MAX_COMMANDS || words > MAX_WORDS {
            return None;
        }
        match reader.link()? {
            After::Command(next) => link = next,
            After::Nothing => return Some(steps),
        }
    }
}

/// What stands behind a command.
enum After {
    Command(Link),
    Nothing,
}

/// What stands where a word may begin.
enum Here {
    /// A word, and whether any of it was quoted.
    Word(String, bool),
    /// No word.
    Nothing,
}

impl Here {
    fn text(self) -> Option<String> {
        match self {
            Self::Word(text, _) => Some(text),
            Self::Nothing => None,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn step(&mut self, link: Link) -> Option<Step> {
        let mut step = Step {
            link,
            words: Vec::new(),
            reads: Vec::new(),
        };
        loop {
            self.skip(&[' ', '\t']);
            if self.redirect(&mut step)? {
                continue;
            }
            let Here::Word(word, quoted) = self.word()? else {
                break;
            };
            if step.words.is_empty() {
                let reserved = !quoted && RESERVED.contains(&word.as_str());
                // A name with `=` is an assignment, an empty one no program.
                if reserved || word.is_empty() || word.contains('=') {
                    return None;
                }
            }
            step.words.push(word);
        }
        (!step.words.is_empty()).then_some(step)
    }

    /// Reads what stands between two commands; `None` when it is not plain.
    fn link(&mut self) -> Option<After> {
        for (text, link) in [("&&", Link::And), ("||", Link::Or), ("|", Link::Pipe)] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                self.skip(&[' ', '\t', '\n']);
                return Some(After::Command(link));
            }
        }
        if self.rest.is_empty() {
            return Some(After::Nothing);
        }
        self.rest = self.rest.strip_prefix([';', '\n'])?;
        self.skip(&[' ', '\t', '\n']);
        Some(if self.rest.is_empty() {
            After::Nothing
        } else {
            After::Command(Link::Then)
        })
    }

    /// Reads a redirection if one stands here; `None` when it is not a plain one.
    fn redirect(&mut self, step: &mut Step) -> Option<bool> {
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if !self.rest[digits..].starts_with(['<', '>']) {
            return Some(false);
        }
        if !matches!(&self.rest[..digits], "" | "1" | "2") {
            return None;
        }
        self.rest = &self.rest[digits..];
        if let Some(rest) = self.rest.strip_prefix(">&") {
            self.rest = rest.strip_prefix(['1', '2'])?;
            return self.at_end_of_word().then_some(true);
        }
        if let Some(rest) = self
            .rest
            .strip_prefix(">>")
            .or_else(|| self.rest.strip_prefix('>'))
        {
            self.rest = rest;
            self.skip(&[' ', '\t']);
            let word = self.word()?.text()?;
            return (word == "/dev/null").then_some(true);
        }
        self.rest = self.rest.strip_prefix('<')?;
        if digits > 0 || self.rest.starts_with(['<', '&', '>', '(']) {
            return None;
        }
        self.skip(&[' ', '\t']);
        let word = self.word()?.text()?;
        step.reads.push(word);
        Some(true)
    }

    /// Reads a word; `None` when it is not plain.
    fn word(&mut self) -> Option<Here> {
        let (mut word, mut quoted, mut begun) = (String::new(), false, false);
        while let Some(c) = self.rest.chars().next() {
            if matches!(c, ' ' | '\t' | '\n' | ';' | '|') || self.rest.starts_with("&&") {
                break;
            }
            // A digit before an arrow would belong to it; a word that runs into one is not plain.
            if matches!(c, '<' | '>') {
                return None;
            }
            begun = true;
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '\'' => {
                    let (inside, rest) = self.rest.split_once('\'')?;
                    word.push_str(inside);
                    self.rest = rest;
                    quoted = true;
                }
                '"' => {
                    self.double(&mut word)?;
                    quoted = true;
                }
                '\\' => {
                    let escaped = self.rest.chars().next().filter(char::is_ascii_graphic)?;
                    word.push(escaped);
                    self.rest = &self.rest[1..];
                    quoted = true;
                }
                c if c.is_ascii_alphanumeric() || "_./,:@%+-".contains(c) => word.push(c),
                // Some shells expand a leading `=`.
                '=' if !word.is_empty() => word.push(c),
                _ => return None,
            }
        }
        Some(if begun {
            Here::Word(word, quoted)
        } else {
            Here::Nothing
        })
    }

    fn double(&mut self, word: &mut String) -> Option<()> {
        loop {
            let c = self.rest.chars().next()?;
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '"' => return Some(()),
                '$' | '`' => return None,
                '\\' => {
                    let escaped = self
                        .rest
                        .chars()
                        .next()
                        .filter(|c| matches!(c, '$' | '`' | '"' | '\\'))?;
                    word.push(escaped);
                    self.rest = &self.rest[1..];
                }
                c => word.push(c),
            }
        }
    }

    fn skip(&mut self, blanks: &[char]) {
        self.rest = self.rest.trim_start_matches(blanks);
    }

    fn at_end_of_word(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with([' ', '\t', '\n', ';', '|', '&'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<String>>> {
        steps(line).map(|steps| steps.into_iter().map(|step| step.words).collect())
    }

    #[test]
    fn plain_lines_are_split() {
        let steps = steps(" cd 'a b' && cat \"x\\\"y\" 2>&1 | head -n5 < in; true >/dev/null\n ls ").unwrap();
        let shape: Vec<_> = steps
            .iter()
            .map(|step| (step.link, step.words.join("|"), step.reads.join("|")))
            .collect();
        let step = |link, words: &str, reads: &str| (link, words.to_owned(), reads.to_owned());
        assert_eq!(
            shape,
            [
                step(Link::First, "cd|a b", ""),
                step(Link::And, "cat|x\"y", ""),
                step(Link::Pipe, "head|-n5", "in"),
                step(Link::Then, "true", ""),
                step(Link::Then, "ls", ""),
            ]
        );
    }

    #[test]
    fn quotes_inside_of_words_are_taken_off() {
        assert_eq!(words("r\"m\" a'b'c").unwrap(), [["rm", "abc"]]);
        assert_eq!(
            words("\\rm a\\ b"),
            None,
            "an escaped blank is rare enough to be asked about"
        );
        assert_eq!(words("\\rm").unwrap(), [["rm"]]);
    }

    #[test]
    fn everything_else_is_not_plain() {
        for line in [
            "",
            "a &",
            "a & b",
            "a &> x",
            "a |& b",
            "a;;b",
            "; a",
            "&& a",
            "a &&",
            "a ||",
            "(a)",
            "{ a; }",
            "! a",
            "a $b",
            "a `b`",
            "a \"$b\"",
            "a *",
            "a ?",
            "a [b]",
            "a ~",
            "a {b,c}",
            "a # b",
            "A=b c",
            "A=b",
            "a > b",
            "a >> b",
            "a 2> b",
            "a <<x",
            "a <<< x",
            "a <(b)",
            "a 3>&1",
            "a 12>&1",
            "a >&b",
            "a >&1b",
            "if a",
            "time a",
            "a 'b",
            "a \"b",
            "a \\",
            "a é",
            "=a",
            "a =b",
            "a\rb",
            "'' a",
            "a\\\nb",
            "a ^b",
            "a !b",
            "\"a=b\" c",
            "a x>/dev/null",
        ] {
            assert_eq!(steps(line), None, "{line:?}");
        }
    }
}
