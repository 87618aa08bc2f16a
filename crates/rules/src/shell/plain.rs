//! The second reader: plain commands only, in the part of the language that every POSIX shell reads in the same
//! way.
//!
//! A plain line has words of plain characters and of `*`, `?` and `[a-z]`, and quotes without expansions. It has `&&`,
//! `||`, `;`, line breaks and `|` between commands, redirections, and comments. Variables before a command may only
//! change how it prints. A line is allowed only if this reader and the parser find the same commands. So a mistake
//! of one reader leads to a question, not to a command that runs.

use super::{MAX_COMMANDS, MAX_WORDS, Piece, Redirect, Word, behind_here};

/// The relation of a command to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// It is the first.
    First,
    /// It runs if that command succeeded.
    And,
    /// It runs if that command failed.
    Or,
    /// It runs after that command.
    Then,
    /// It reads that command's output.
    Pipe,
}

/// A plain command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its relation to the command before it.
    pub(crate) link: Link,
    /// Program and arguments, without quotes; never empty.
    pub(crate) words: Vec<Word>,
    /// Files it reads or writes by redirection.
    pub(crate) redirects: Vec<Redirect>,
}

/// Words that cannot start a command.
const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "until", "while",
];
/// Variables that change what a program prints or how much it checks, and not what it runs.
const HARMLESS: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "VERBOSE",
];

/// Whether a variable before a command cannot change what the command may do.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Splits a plain line into its commands; `None` when it is not plain.
pub(crate) fn steps(line: &str) -> Option<Vec<Step>> {
    let mut reader = Reader {
        line,
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

/// The token after a command.
enum After {
    Command(Link),
    Nothing,
}

/// The token at a place where a word may start.
enum Here {
    /// A word, and whether any of it was quoted.
    Word(Word, bool),
    /// No word.
    Nothing,
}

impl Here {
    fn exact(self) -> Option<Word> {
        match self {
            Self::Word(word, _) if word.exact => Some(word),
            Self::Word(..) | Self::Nothing => None,
        }
    }
}

struct Reader<'a> {
    line: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn step(&mut self, link: Link) -> Option<Step> {
        let mut step = Step {
            link,
            words: Vec::new(),
            redirects: Vec::new(),
        };
        loop {
            self.skip(&[' ', '\t']);
            if self.redirect(&mut step)? {
                continue;
            }
            let Here::Word(word, quoted) = self.word()? else {
                break;
            };
            let text = word.text.as_str();
            // In some shells `time` is a keyword, and the next word starts a command.
            let starts_command =
                step.words.is_empty() || (step.words.len() == 1 && step.words[0].text == "time");
            if starts_command {
                let reserved = !quoted && RESERVED.contains(&text);
                if let Some((name, _)) = text.split_once('=')
                    && step.words.is_empty()
                    && !quoted
                    && word.exact
                    && is_harmless(name)
                {
                    continue;
                }
                // A name with `=` is an assignment, and an empty name is no program.
                if reserved || text.is_empty() || text.contains('=') || !word.exact {
                    return None;
                }
            }
            step.words.push(word);
        }
        (!step.words.is_empty()).then_some(step)
    }

    /// Reads the separator between two commands; `None` if it is not plain.
    fn link(&mut self) -> Option<After> {
        for (text, link) in [("&&", Link::And), ("||", Link::Or), ("|", Link::Pipe)] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                self.skip(&[' ', '\t', '\n']);
                return Some(After::Command(link));
            }
        }
        if self.rest.starts_with('#') {
            self.rest = self.rest.trim_start_matches(|c| c != '\n');
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

    /// Reads a redirection, if there is one; `None` if it is not plain.
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
            let target = self.word()?.exact()?;
            if target.text != "/dev/null" {
                step.redirects.push(Redirect {
                    target,
                    reads: false,
                    writes: true,
                });
            }
            return Some(true);
        }
        self.rest = self.rest.strip_prefix('<')?;
        if digits > 0 || self.rest.starts_with(['<', '&', '>', '(']) {
            return None;
        }
        self.skip(&[' ', '\t']);
        let target = self.word()?.exact()?;
        if target.text != "/dev/null" {
            step.redirects.push(Redirect {
                target,
                reads: true,
                writes: false,
            });
        }
        Some(true)
    }

    /// Reads a word; `None` when it is not plain.
    fn word(&mut self) -> Option<Here> {
        let (mut pieces, mut word, mut quoted, mut started) = (Vec::new(), String::new(), false, false);
        while let Some(c) = self.rest.chars().next() {
            if matches!(c, ' ' | '\t' | '\n' | ';' | '|') || self.rest.starts_with("&&") {
                break;
            }
            // A comment.
            if c == '#' && !started {
                break;
            }
            // A digit before an arrow belongs to the arrow; a word that runs into an arrow is not plain.
            if matches!(c, '<' | '>') {
                return None;
            }
            let is_first = !started;
            started = true;
            if is_first && let Some(rest) = behind_here(self.line, self.rest) {
                word.push('.');
                self.rest = rest;
                self.double(&mut word)?;
                quoted = true;
                continue;
            }
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
                    let escaped = |c: &char| c.is_ascii_graphic() || *c == ' ';
                    word.push(self.rest.chars().next().filter(escaped)?);
                    self.rest = &self.rest[1..];
                    quoted = true;
                }
                '*' | '?' => wild(&mut pieces, &mut word, c.to_string()),
                '[' => match self.set()? {
                    Some(set) => wild(&mut pieces, &mut word, set),
                    None => word.push('['),
                },
                // Some shells expand a leading `=`, or one of these characters, to a path.
                c if c.is_alphanumeric() || "_./,:@%+-]".contains(c) => word.push(c),
                '=' | '^' if !is_first => word.push(c),
                '~' if word.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '^') => word.push(c),
                // Braces without a comma form no words.
                '{' if !is_first => {
                    let (inside, rest) = self.rest.split_once('}')?;
                    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                    if inside.is_empty() || !inside.chars().all(is_plain) {
                        return None;
                    }
                    word.push('{');
                    word.push_str(inside);
                    word.push('}');
                    self.rest = rest;
                }
                _ => return None,
            }
        }
        if !started {
            return Some(Here::Nothing);
        }
        let word = if pieces.is_empty() {
            Word::exact(word)
        } else {
            if !word.is_empty() {
                pieces.push(Piece::Text(word));
            }
            Word::of(pieces)
        };
        Some(Here::Word(word, quoted))
    }

    /// Reads a set of characters after `[`. Returns `Some(None)` if the character is only itself, `None` if the set
    /// is not plain.
    #[expect(
        clippy::option_option,
        reason = "a missing set and a set that is not plain are two results"
    )]
    fn set(&mut self) -> Option<Option<String>> {
        if self.rest.is_empty() || self.rest.starts_with([' ', '\t', '\n', ';', '|']) {
            return Some(None);
        }
        let (inside, rest) = self.rest.split_once(']')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if inside.is_empty() || !inside.chars().all(is_plain) {
            return None;
        }
        self.rest = rest;
        Some(Some(format!("[{inside}]")))
    }

    fn double(&mut self, word: &mut String) -> Option<()> {
        loop {
            let c = self.rest.chars().next()?;
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '"' => return Some(()),
                '$' | '`' => return None,
                '\\' => {
                    let escaped = self.rest.chars().next().filter(|c| *c != '\n')?;
                    if !matches!(escaped, '$' | '`' | '"' | '\\') {
                        word.push('\\');
                    }
                    word.push(escaped);
                    self.rest = &self.rest[escaped.len_utf8()..];
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

fn wild(pieces: &mut Vec<Piece>, word: &mut String, wild: String) {
    if !word.is_empty() {
        pieces.push(Piece::Text(std::mem::take(word)));
    }
    pieces.push(Piece::Wild(wild));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<String>>> {
        let texts = |step: Step| step.words.into_iter().map(|word| word.text).collect();
        steps(line).map(|steps| steps.into_iter().map(texts).collect())
    }

    #[test]
    fn plain_lines_are_split() {
        let steps = steps(" cd 'a b' && cat \"x\\\"y\" 2>&1 | head -n5 < in; true >/dev/null\n ls ").unwrap();
        let shape: Vec<_> = steps
            .iter()
            .map(|step| {
                let words: Vec<_> = step.words.iter().map(|word| word.text.as_str()).collect();
                let files: Vec<_> = step
                    .redirects
                    .iter()
                    .map(|file| file.target.text.as_str())
                    .collect();
                (step.link, words.join("|"), files.join("|"))
            })
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
        assert_eq!(words("\\rm a\\ b").unwrap(), [["rm", "a b"]]);
        assert_eq!(words("a \"b\\.c\"").unwrap(), [["a", "b\\.c"]]);
        assert_eq!(words("a HEAD^ HEAD~1 @{u} s@{0} é").unwrap().len(), 1);
        assert_eq!(words("LC_ALL=C time a # b\nc").unwrap().len(), 2);
        assert_eq!(words("[ -f x ]").unwrap()[0].len(), 4);
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
            "a ~",
            "a {b,c}",
            "a x{b,c}",
            "A=b c",
            "time A=b c",
            "LC_ALL=$x c",
            "a* b",
            "a [!b]",
            "a > *",
            "a ~/x",
            "a b=~/x",
            "a {b..c}",
            "A=b",
            "a <<x",
            "a <<< x",
            "a <(b)",
            "a 3>&1",
            "a 12>&1",
            "a >&b",
            "a >&1b",
            "if a",
            "a 'b",
            "a \"b",
            "a \\",
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
