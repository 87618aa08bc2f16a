//! Escape sequences: the text of a raw leaf, and the raw form of a text.
//!
//! Only sequences that mean characters are decoded: the separators, the escape character and ASCII in
//! hexadecimal. Sequences that format (`\H\`, `\.br\`), switch character sets (`\C..\`, `\M..\`) or are local
//! (`\Z..\`) stay in the text as they are. Therefore a text alone does not say what its raw form was:
//! [`replace`] gets the former raw form and changes no more of it than the text changes.

use std::borrow::Cow;

use crate::common::{prefix, suffix};
use crate::separators::Separators;

/// A character cannot be written, because the message has no escape character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be written: the message declares no escape character in MSH-2")]
pub struct NoEscape(pub char);

/// The longest formatting or local sequence that is recognized, in bytes; the standard's are far shorter.
const MAX_SEQUENCE: usize = 64;

/// Returns the text of a raw leaf.
pub(crate) fn unescape<'a>(raw: &'a str, separators: &Separators) -> Cow<'a, str> {
    match separators.escape {
        Some(escape) if raw.contains(escape) => {
            let mut text = String::with_capacity(raw.len());
            tokens(raw, separators).for_each(|token| text.push_str(token.text()));
            Cow::Owned(text)
        }
        _ => Cow::Borrowed(raw),
    }
}

/// Appends the raw form of `text` to `out`.
///
/// # Errors
/// [`NoEscape`] if a character needs an escape sequence and the message has none.
pub(crate) fn escape(out: &mut String, text: &str, separators: &Separators) -> Result<(), NoEscape> {
    for c in text.chars() {
        if !separators.is_special(c) {
            out.push(c);
            continue;
        }
        let escape = separators.escape.ok_or(NoEscape(c))?;
        let some = Some(c);
        let code = match c {
            '\r' => "X0D",
            '\n' => "X0A",
            _ if c == separators.field => "F",
            _ if c == separators.component => "S",
            _ if some == separators.repetition => "R",
            _ if some == separators.subcomponent => "T",
            _ if some == separators.truncation => "P",
            _ => "E",
        };
        out.push(escape);
        out.push_str(code);
        out.push(escape);
    }
    Ok(())
}

/// Appends the raw form of `text` to `out`, with the parts of `old` whose text has not changed at both ends.
///
/// # Errors
/// [`NoEscape`] as for [`escape`].
pub(crate) fn replace(
    out: &mut String,
    old: &str,
    text: &str,
    separators: &Separators,
) -> Result<(), NoEscape> {
    let mut middle = text;
    let mut front = 0;
    for token in tokens(old, separators) {
        let same = token.common(middle, prefix);
        front += same;
        middle = &middle[token.text_len(same)..];
        if same < token.raw.len() {
            break;
        }
    }
    let mut back = 0;
    let rest: Vec<Token<'_>> = tokens(&old[front..], separators).collect();
    for token in rest.iter().rev() {
        let same = token.common(middle, suffix);
        back += same;
        middle = &middle[..middle.len() - token.text_len(same)];
        if same < token.raw.len() {
            break;
        }
    }
    let start = out.len();
    out.push_str(&old[..front]);
    escape(out, middle, separators)?;
    out.push_str(&old[old.len() - back..]);
    // A lone escape character at a seam can make a sequence with what now follows.
    if unescape(&out[start..], separators) != text {
        out.truncate(start);
        escape(out, text, separators)?;
    }
    Ok(())
}

/// A part of a raw leaf: an escape sequence, a lone escape character, or text without either.
struct Token<'a> {
    raw: &'a str,
    /// The characters that a sequence means, if it means some; else the text is the raw form.
    decoded: Option<String>,
    is_plain: bool,
}

impl Token<'_> {
    fn text(&self) -> &str {
        self.decoded.as_deref().unwrap_or(self.raw)
    }

    /// Returns how many raw bytes at one end have their text at the same end of `other`: all, or of plain text some.
    fn common(&self, other: &str, end: fn(&str, &str) -> usize) -> usize {
        let same = end(self.text(), other);
        if self.is_plain {
            same
        } else if same == self.text().len() {
            self.raw.len()
        } else {
            0
        }
    }

    /// Returns the length of the text of so many raw bytes, as [`Token::common`] counts them.
    fn text_len(&self, raw: usize) -> usize {
        if self.is_plain || raw == 0 {
            raw
        } else {
            self.text().len()
        }
    }
}

/// Iterates over the parts of a raw leaf.
fn tokens<'a>(raw: &'a str, separators: &Separators) -> impl Iterator<Item = Token<'a>> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_plain = Some(first) != separators.escape;
        let (len, decoded) = if is_plain {
            let end = separators.escape.and_then(|escape| rest.find(escape));
            (end.unwrap_or(rest.len()), None)
        } else {
            sequence(rest, first, separators).unwrap_or((first.len_utf8(), None))
        };
        let (raw, after) = rest.split_at(len);
        rest = after;
        Some(Token {
            raw,
            decoded,
            is_plain,
        })
    })
}

/// Returns the length of the escape sequence at the start of `raw`, and the text it means, if it means one.
fn sequence(raw: &str, escape: char, separators: &Separators) -> Option<(usize, Option<String>)> {
    let inner = &raw[escape.len_utf8()..];
    let code = &inner[..inner.find(escape)?];
    let len = code.len() + 2 * escape.len_utf8();
    let separator = match code {
        "F" => Some(separators.field),
        "S" => Some(separators.component),
        "R" => separators.repetition,
        "T" => separators.subcomponent,
        "E" => separators.escape,
        "P" => separators.truncation,
        _ => None,
    };
    if let Some(c) = separator {
        return Some((len, Some(c.to_string())));
    }
    let rest = code.get(1..)?;
    let hex = || rest.bytes().all(|b| b.is_ascii_hexdigit());
    match code.as_bytes()[0] {
        b'H' | b'N' if rest.is_empty() => Some((len, None)),
        b'X' if !rest.is_empty() && rest.len().is_multiple_of(2) && hex() => Some((len, ascii(rest))),
        b'C' | b'M' if matches!(rest.len(), 4 | 6) && hex() => Some((len, None)),
        b'Z' | b'.' if !rest.is_empty() && rest.len() < MAX_SEQUENCE && rest.bytes().all(is_command) => {
            Some((len, None))
        }
        _ => None,
    }
}

fn is_command(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-')
}

/// Returns the characters of hexadecimal digits, if all are ASCII; others depend on a character set.
fn ascii(hex: &str) -> Option<String> {
    (0..hex.len())
        .step_by(2)
        .map(|at| {
            u8::from_str_radix(&hex[at..at + 2], 16)
                .ok()
                .filter(u8::is_ascii)
                .map(char::from)
        })
        .collect()
}
