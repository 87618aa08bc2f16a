//! Text of models, files and servers made safe to show: it cannot move, colour, hide or reorder the text around it.

use std::borrow::Cow;

/// How line breaks and tabs are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// They stay.
    Keep,
    /// They are escaped, so the text stays in its line.
    One,
}

/// Returns a text with those characters escaped that act on a display instead of appearing on it: `ESC` becomes
/// `\u{1b}`.
///
/// These are all control characters (carriage return included), marks that change the direction of text, line and
/// paragraph separators, and invisible characters. The two joiners U+200C and U+200D stay: Persian, Indian scripts
/// and emoji need them.
pub fn visible(text: &str, lines: Lines) -> Cow<'_, str> {
    let hides = |c: char| match c {
        '\n' | '\t' => lines == Lines::One,
        _ => acts(c),
    };
    let Some(first) = text.find(hides) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    for c in text[first..].chars() {
        match c {
            _ if !hides(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character acts on a display instead of appearing on it.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_display_is_escaped_and_the_rest_is_left_alone() {
        for (text, shown) in [
            ("plain ‘größe’ 茶\n\tnext", "plain ‘größe’ 茶\n\tnext"),
            ("می\u{200c}خواهم 👩\u{200d}🍳", "می\u{200c}خواهم 👩\u{200d}🍳"),
            ("a\u{1b}[2Jb\r\u{7f}\u{7}", r"a\u{1b}[2Jb\r\u{7f}\u{7}"),
            ("\u{9b}2J\u{85}", r"\u{9b}2J\u{85}"),
            (
                "\u{202e}\u{2066}\u{2069}\u{200e}\u{61c}",
                r"\u{202e}\u{2066}\u{2069}\u{200e}\u{61c}",
            ),
            (
                "\u{2028}\u{2029}\u{200b}\u{feff}\u{e0041}",
                r"\u{2028}\u{2029}\u{200b}\u{feff}\u{e0041}",
            ),
            (
                "\u{3164}\u{115f}\u{1160}\u{ffa0}",
                r"\u{3164}\u{115f}\u{1160}\u{ffa0}",
            ),
        ] {
            assert_eq!(visible(text, Lines::Keep), shown);
        }
        assert_eq!(visible("one\ntwo\t", Lines::One), "one\\ntwo\\t");
    }
}
