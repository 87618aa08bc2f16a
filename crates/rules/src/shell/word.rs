//! Converts a node of the tree to the shell's word.

use tree_sitter::Node;

use super::pieces::{Piece, pieces};
use super::{Word, behind_here};

/// Returns the word of a node, with its pieces if it is not exact.
pub(super) fn word(node: Node<'_>, source: &str) -> Word {
    let mut word = by_tree(node, source);
    if word.exact {
        return word;
    }
    word.pieces = pieces(text(node, source));
    // Characters that are special in other places: `HEAD^`, `stash@{0}`.
    let node = match node.kind() {
        "command_name" => node.named_child(0).unwrap_or(node),
        _ => node,
    };
    let is_bare = |node: Node<'_>| matches!(node.kind(), "word" | "number" | "string" | "raw_string");
    let mut cursor = node.walk();
    let mut parts = node.children(&mut cursor);
    let is_bare = is_bare(node) || (node.kind() == "concatenation" && spans(node) && parts.all(is_bare));
    if let [Piece::Text(text)] = word.pieces.as_slice()
        && is_bare
        && !node.has_error()
    {
        return Word::exact(text.clone());
    }
    word
}

/// Whether the parts of a concatenation cover all of it. If text lies between them, the tree is incomplete.
fn spans(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let parts: usize = node
        .children(&mut cursor)
        .map(|child| child.byte_range().len())
        .sum();
    parts == node.byte_range().len()
}

/// Recurses only as deep as quotes nest: parts of a concatenation are flat.
fn by_tree(node: Node<'_>, source: &str) -> Word {
    let text = text(node, source);
    match node.kind() {
        "command_name" => node
            .named_child(0)
            .map_or_else(|| Word::unknown(text), |child| part(child, source)),
        "concatenation" => {
            let mut whole = Word::exact("");
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                let part = part(child, source);
                whole.text.push_str(&part.text);
                whole.exact &= part.exact;
            }
            whole.exact &= spans(node);
            whole
        }
        _ => part(node, source),
    }
}

fn part(node: Node<'_>, source: &str) -> Word {
    let text = text(node, source);
    match node.kind() {
        "word" | "number" if node.named_child_count() == 0 => bare(text),
        "raw_string" => match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(inside) => Word::exact(inside),
            None => Word::unknown(text),
        },
        "string" => quoted(node, source),
        "ansi_c_string" => Word::unknown(ansi(text)),
        "concatenation" => by_tree(node, source),
        "translated_string" => Word::unknown(
            node.named_child(0)
                .map_or_else(String::new, |inside| quoted(inside, source).text),
        ),
        _ => Word::unknown(text),
    }
}

fn text<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// Removes the backslashes of an unquoted word.
fn bare(text: &str) -> Word {
    let mut word = Word::exact(String::with_capacity(text.len()));
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                // Removes the line break.
                Some('\n') => {}
                Some(c) => word.text.push(c),
                None => word.exact = false,
            },
            '*' | '?' | '[' | ']' | '{' | '}' | '~' | '$' | '`' | '(' | ')' | '"' | '\'' | '!' | '^' => {
                word.exact = false;
                word.text.push(c);
            }
            c => word.text.push(c),
        }
    }
    word
}

/// Whether a quoted text starts with the shell's directory: [`behind_here`].
pub(super) fn starts_here(node: Node<'_>, source: &str) -> bool {
    let is_first = node
        .parent()
        .is_none_or(|around| around.kind() != "concatenation" || around.start_byte() == node.start_byte());
    let word = source.get(node.start_byte()..);
    node.kind() == "string" && is_first && word.is_some_and(|word| behind_here(source, word).is_some())
}

/// Removes the double quotes.
fn quoted(node: Node<'_>, source: &str) -> Word {
    let text = text(node, source);
    let is_here = starts_here(node, source);
    let Some(inside) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return Word::unknown(text);
    };
    let mut word = Word::exact(String::with_capacity(inside.len()));
    let mut cursor = node.walk();
    word.exact = node
        .named_children(&mut cursor)
        .skip(usize::from(is_here))
        .all(|child| child.kind() == "string_content");
    let inside = match inside.strip_prefix("$PWD") {
        Some(rest) if is_here => {
            word.text.push('.');
            rest
        }
        _ => inside,
    };
    let mut chars = inside.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.peek() {
                Some('\n') => {
                    chars.next();
                }
                Some(&escaped @ ('$' | '`' | '"' | '\\')) => {
                    chars.next();
                    word.text.push(escaped);
                }
                _ => word.text.push('\\'),
            },
            '$' | '`' => {
                word.exact = false;
                word.text.push(c);
            }
            c => word.text.push(c),
        }
    }
    word
}

/// Decodes `$'…'` as far as needed to compare a name with refusing rules.
pub(super) fn ansi(text: &str) -> String {
    let inside = text
        .strip_prefix("$'")
        .and_then(|text| text.strip_suffix('\''))
        .unwrap_or(text);
    let mut decoded = String::with_capacity(inside.len());
    let mut chars = inside.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let (radix, most) = match chars.next() {
            Some('x') => (16, 2),
            Some('u') => (16, 4),
            Some('U') => (16, 8),
            Some(first @ '0'..='7') => {
                let mut value = first.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    chars.next();
                    value = value * 8 + digit;
                }
                decoded.extend(char::from_u32(value));
                continue;
            }
            Some('n') => {
                decoded.push('\n');
                continue;
            }
            Some(other) => {
                decoded.push(other);
                continue;
            }
            None => break,
        };
        let mut value: u32 = 0;
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            chars.next();
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        decoded.extend(char::from_u32(value));
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_letters_are_seen() {
        assert_eq!(ansi(r"$'\x72\155\u0020-rf'"), "rm -rf");
        assert_eq!(ansi(r"$'a\'b'"), "a'b");
        assert_eq!(ansi(r"$'\"), r"$'");
    }

    #[test]
    fn what_the_shell_would_change_is_not_exact() {
        for text in ["*.rs", "~", "a?", "[a]", "{a,b}", "$x"] {
            assert!(!bare(text).exact, "{text}");
        }
        assert_eq!(bare(r"\r\m"), Word::exact("rm"));
        assert_eq!(bare("r\\\nm"), Word::exact("rm"));
    }
}
