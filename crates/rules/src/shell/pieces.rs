//! The pieces of a word: fixed text, patterns of file names, and parts known only at run time.

use super::word::ansi;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal characters, without quotes.
    Text(String),
    /// `*`, `?` or a set in brackets, which match file names.
    Wild(String),
    /// The value of a variable. Without quotes it may become several words.
    Variable { name: String, quoted: bool },
    /// The output of these commands.
    Output { text: String, quoted: bool },
    /// Any other part.
    Unknown,
}

/// Splits the source of one word.
pub(crate) fn pieces(source: &str) -> Vec<Piece> {
    let mut reader = Reader {
        rest: source,
        pieces: Vec::new(),
    };
    reader.word();
    reader.pieces
}

struct Reader<'a> {
    rest: &'a str,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    fn word(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\'' => match self.rest.split_once('\'') {
                    Some((inside, rest)) => {
                        self.rest = rest;
                        self.text(inside);
                    }
                    None => return self.pieces.push(Piece::Unknown),
                },
                '"' => self.quoted(),
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c) => self.character(c),
                },
                '$' if self.rest.starts_with('\'') => self.ansi(),
                '$' | '`' => self.live(c, false),
                '*' | '?' => self.pieces.push(Piece::Wild(c.to_string())),
                '[' => match self.set() {
                    Some(set) => self.pieces.push(Piece::Wild(set)),
                    // `[[:alpha:]]` and similar sets: the matching characters are not determined.
                    None => match self.rest.rsplit_once(']') {
                        Some((inside, rest)) if !inside.contains(['$', '`', '"', '\'', '\\']) => {
                            self.rest = rest;
                            self.pieces.push(Piece::Wild("*".to_owned()));
                        }
                        Some(_) => return self.pieces.push(Piece::Unknown),
                        None => self.character('['),
                    },
                },
                '{' => match self.in_braces() {
                    Some(inside) => self.text(&inside),
                    None => return self.pieces.push(Piece::Unknown),
                },
                '~' if self.pieces.is_empty() => {
                    let name = "~".to_owned();
                    let is_home = self.rest.is_empty() || self.rest.starts_with('/');
                    self.pieces.push(if is_home {
                        Piece::Variable { name, quoted: true }
                    } else {
                        Piece::Unknown
                    });
                }
                // Some shells expand `~` to a home directory there.
                '~' if self.ends_with(['=', ':']) => return self.pieces.push(Piece::Unknown),
                '(' | ')' => return self.pieces.push(Piece::Unknown),
                c => self.character(c),
            }
        }
    }

    fn quoted(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.character(c),
                    Some(c) => {
                        self.character('\\');
                        self.character(c);
                    }
                },
                '$' | '`' => self.live(c, true),
                c => self.character(c),
            }
        }
    }

    /// Reads `'…'` after `$`.
    fn ansi(&mut self) {
        let mut escaped = true;
        let end = self.rest.char_indices().find(|(at, c)| {
            let is_end = *at > 0 && *c == '\'' && !escaped;
            escaped = *at > 0 && *c == '\\' && !escaped;
            is_end
        });
        let Some((end, _)) = end else {
            return self.pieces.push(Piece::Unknown);
        };
        let text = ansi(&format!("${}", &self.rest[..=end]));
        self.rest = &self.rest[end + 1..];
        self.text(&text);
    }

    /// Reads the part after `$` or a backquote.
    fn live(&mut self, mark: char, quoted: bool) {
        let piece = match self.rest.chars().next() {
            _ if mark == '`' => self.until('`').map(|text| Piece::Output { text, quoted }),
            Some('(') if !self.rest.starts_with("((") => {
                self.rest = &self.rest[1..];
                self.until_closed().map(|text| Piece::Output { text, quoted })
            }
            Some('{') => {
                let inside = self.rest[1..].split_once('}').filter(|(name, _)| is_name(name));
                let piece = inside.map(|(name, rest)| (name.to_owned(), rest));
                piece.map(|(name, rest)| {
                    self.rest = rest;
                    Piece::Variable { name, quoted }
                })
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let rest = self
                    .rest
                    .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                let name = self.rest[..self.rest.len() - rest.len()].to_owned();
                self.rest = rest;
                Some(Piece::Variable { name, quoted })
            }
            Some('"') if !quoted => return,
            None | Some(' ' | '"' | '.' | ',' | '/' | ':' | '%' | '^' | '=' | '|' | ')') => {
                return self.character('$');
            }
            _ => None,
        };
        // The end of an unknown construct is unknown.
        if piece.is_none() {
            self.rest = "";
        }
        self.pieces.push(piece.unwrap_or(Piece::Unknown));
    }

    /// Returns the text before this character, and moves past the character.
    fn until(&mut self, end: char) -> Option<String> {
        let (inside, rest) = self.rest.split_once(end)?;
        let inside = inside.to_owned();
        self.rest = rest;
        (!inside.contains('\\')).then_some(inside)
    }

    /// Returns the text before the closing parenthesis.
    fn until_closed(&mut self) -> Option<String> {
        let mut depth = 0_usize;
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => {
                    let inside = self.rest[..at].to_owned();
                    self.rest = &self.rest[at + 1..];
                    return Some(inside);
                }
                ')' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Reads a set of characters after `[`; `None` if the set is not closed or contains a character that a shell
    /// treats specially.
    fn set(&mut self) -> Option<String> {
        let (inside, _) = self.rest.split_once(']')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.!,:@%+".contains(c);
        if inside.is_empty() || !inside.chars().all(plain) {
            return None;
        }
        let set = format!("[{inside}]");
        self.rest = &self.rest[inside.len() + 1..];
        Some(set)
    }

    /// Reads braces that form no words: `{0}`, `{}`.
    fn in_braces(&mut self) -> Option<String> {
        let (inside, _) = self.rest.split_once('}')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !inside.chars().all(plain) {
            return None;
        }
        let text = format!("{{{inside}}}");
        self.rest = &self.rest[inside.len() + 1..];
        Some(text)
    }

    fn ends_with(&self, ends: [char; 2]) -> bool {
        matches!(self.pieces.last(), Some(Piece::Text(text)) if text.ends_with(ends))
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn character(&mut self, c: char) {
        let mut bytes = [0; 4];
        self.text(c.encode_utf8(&mut bytes));
    }

    fn text(&mut self, text: &str) {
        if let Some(Piece::Text(before)) = self.pieces.last_mut() {
            before.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }
}

/// Returns the text of `cat <<E … E`, if no part of it is expanded.
pub(crate) fn here_document(text: &str) -> Option<String> {
    let rest = text.trim().strip_prefix("cat")?.trim_start().strip_prefix("<<")?;
    let (mark, body) = rest.split_once('\n')?;
    let mark = mark.trim();
    let bare = mark.trim_matches(['\'', '"']);
    let body = body.strip_suffix(bare)?;
    let is_live = mark == bare && body.contains(['$', '`', '\\']);
    let is_whole = is_name(bare) && body.ends_with('\n') && !body.lines().any(|line| line == bare);
    (is_whole && !is_live).then(|| body.to_owned())
}

/// Whether this names a variable that a line can set.
pub(crate) fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    fn wild(text: &str) -> Piece {
        Piece::Wild(text.to_owned())
    }

    fn variable(name: &str, quoted: bool) -> Piece {
        let name = name.to_owned();
        Piece::Variable { name, quoted }
    }

    #[test]
    fn a_word_is_split_where_it_is_live() {
        for (source, expected) in [
            ("a'b c'\"d\\$\"\\e", vec![text("ab cd$e")]),
            (".e*", vec![text(".e"), wild("*")]),
            ("a[1]?", vec![text("a"), wild("[1]"), wild("?")]),
            (".[[:alpha:]]nv", vec![text("."), wild("*"), text("nv")]),
            ("[^a]b", vec![wild("*"), text("b")]),
            ("[", vec![text("[")]),
            ("[$x]", vec![Piece::Unknown]),
            ("stash@{0}", vec![text("stash@{0}")]),
            ("{a,b}", vec![Piece::Unknown]),
            ("c${z}url", vec![text("c"), variable("z", false), text("url")]),
            ("\"$f\"x", vec![variable("f", true), text("x")]),
            ("~/x", vec![variable("~", true), text("/x")]),
            ("HEAD~1", vec![text("HEAD~1")]),
            ("${f:-x}y", vec![Piece::Unknown]),
            ("$1", vec![Piece::Unknown]),
            ("a=~/x", vec![text("a="), Piece::Unknown]),
            (r"$'\x72\'m'x", vec![text("r'mx")]),
            (
                "$(echo a)b",
                vec![
                    Piece::Output {
                        text: "echo a".to_owned(),
                        quoted: false,
                    },
                    text("b"),
                ],
            ),
        ] {
            assert_eq!(pieces(source), expected, "{source}");
        }
    }
}
