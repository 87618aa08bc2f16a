//! Colours of code: comments, texts, numbers and the usual keywords. No grammar: a line that it misreads is only coloured wrong.

use crossterm::style::Color;

use crate::text::Style;
use crate::transcript::{BAD, GOOD};

const COMMENT: Style = Style::DIM;
const TEXT: Style = Style::of(Color::Green);
const NUMBER: Style = Style::of(Color::Yellow);
const KEYWORD: Style = Style::of(Color::Magenta);

/// Keywords of common languages.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "crate",
    "def",
    "default",
    "defer",
    "del",
    "do",
    "done",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "fi",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "none",
    "None",
    "not",
    "null",
    "or",
    "override",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "ref",
    "require",
    "return",
    "select",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "False",
    "try",
    "type",
    "typeof",
    "union",
    "unless",
    "unsafe",
    "until",
    "use",
    "using",
    "var",
    "virtual",
    "void",
    "when",
    "where",
    "while",
    "with",
    "yield",
];

/// How a language writes comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// `//` and `/* */`.
    Slashes { has_lifetimes: bool },
    /// `#`.
    Hash,
    /// `--`.
    Dashes,
    /// Signs at the beginning of a line.
    Diff,
}

/// Colours the lines of one block of code, in order.
#[derive(Debug)]
pub(crate) struct Highlighter {
    family: Family,
    in_comment: bool,
}

impl Highlighter {
    /// Returns none for a language that it does not know.
    pub(crate) fn of(language: &str) -> Option<Self> {
        let name = language.split([',', ' ', '{']).next().unwrap_or_default();
        let family = match name.to_ascii_lowercase().as_str() {
            "rust" | "rs" => Family::Slashes { has_lifetimes: true },
            "c" | "h" | "cpp" | "c++" | "cc" | "hpp" | "java" | "js" | "javascript" | "jsx" | "mjs"
            | "ts" | "tsx" | "typescript" | "go" | "kotlin" | "kt" | "swift" | "cs" | "csharp" | "php"
            | "scala" | "dart" | "zig" | "json" | "jsonc" | "proto" => {
                Family::Slashes { has_lifetimes: false }
            }
            "python" | "py" | "sh" | "bash" | "zsh" | "shell" | "ruby" | "rb" | "toml" | "yaml" | "yml"
            | "perl" | "pl" | "r" | "make" | "makefile" | "dockerfile" | "elixir" | "ini" | "nix" => {
                Family::Hash
            }
            "sql" | "lua" | "haskell" | "hs" => Family::Dashes,
            "diff" | "patch" => Family::Diff,
            _ => return None,
        };
        Some(Self {
            family,
            in_comment: false,
        })
    }

    /// Returns the parts of a line.
    pub(crate) fn line<'a>(&mut self, line: &'a str) -> Vec<(&'a str, Style)> {
        if self.family == Family::Diff {
            let style = match line.as_bytes().first() {
                Some(b'+') => GOOD,
                Some(b'-') => BAD,
                Some(b'@') => Style::DIM,
                _ => Style::PLAIN,
            };
            return vec![(line, style)];
        }
        let mut parts = Vec::new();
        let mut rest = line;
        while !rest.is_empty() {
            let (length, style) = self.next(rest);
            let (part, after) = rest.split_at(length);
            parts.push((part, style));
            rest = after;
        }
        parts
    }

    /// Returns the bytes and the style of the next part.
    fn next(&mut self, rest: &str) -> (usize, Style) {
        if self.in_comment {
            let end = rest.find("*/").map(|at| at + 2);
            self.in_comment = end.is_none();
            return (end.unwrap_or(rest.len()), COMMENT);
        }
        let is_comment = match self.family {
            Family::Slashes { .. } if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map(|at| at + 4);
                self.in_comment = end.is_none();
                return (end.unwrap_or(rest.len()), COMMENT);
            }
            Family::Slashes { .. } => rest.starts_with("//"),
            Family::Hash => rest.starts_with('#'),
            Family::Dashes => rest.starts_with("--"),
            Family::Diff => false,
        };
        if is_comment {
            return (rest.len(), COMMENT);
        }
        let first = rest.chars().next().unwrap_or_default();
        let has_lifetimes = self.family == Family::Slashes { has_lifetimes: true };
        match first {
            '\'' if has_lifetimes && !is_char(rest) => (1, Style::PLAIN),
            '"' | '`' | '\'' => (quoted(rest, first), TEXT),
            c if c.is_ascii_digit() => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                (rest.find(|c| !is_part(c)).unwrap_or(rest.len()), NUMBER)
            }
            c if c.is_alphabetic() || c == '_' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let style = if KEYWORDS.contains(&&rest[..end]) {
                    KEYWORD
                } else {
                    Style::PLAIN
                };
                (end, style)
            }
            c => (c.len_utf8(), Style::PLAIN),
        }
    }
}

/// Returns the bytes of a quoted text, to the end of the line if it is open.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Whether a `'` starts a character and no lifetime.
fn is_char(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(language: &str, lines: &[&str]) -> String {
        let mut highlighter = Highlighter::of(language).unwrap();
        let mut shown = String::new();
        for line in lines {
            for (part, style) in highlighter.line(line) {
                let mark = match style {
                    COMMENT => "c",
                    TEXT => "t",
                    NUMBER => "n",
                    KEYWORD => "k",
                    _ => "",
                };
                let framed = match mark {
                    "" => part.to_owned(),
                    mark => format!("{mark}<{part}>"),
                };
                shown.push_str(&framed);
            }
            shown.push('\n');
        }
        shown
    }

    #[test]
    fn comments_texts_numbers_and_keywords_are_found() {
        let rust = [
            "fn f<'a>(x: &'a str) -> u8 { 0x1f /* é",
            "still */ + b'x' } // \"end\"",
        ];
        assert_eq!(
            marked("rust,ignore", &rust),
            "k<fn> f<'a>(x: &'a str) -> u8 { n<0x1f> c</* é>\nc<still */> + bt<'x'> } c<// \"end\">\n"
        );
        assert_eq!(marked("py", &["x = 'it\\'s' # no"]), "x = t<'it\\'s'> c<# no>\n");
        assert_eq!(marked("sql", &["SELECT 1 -- one"]), "SELECT n<1> c<-- one>\n");
        assert_eq!(marked("sh", &["echo \"世 open"]), "echo t<\"世 open>\n");
        assert!(Highlighter::of("nothing").is_none());
    }
}
