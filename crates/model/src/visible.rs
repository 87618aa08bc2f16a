//! Text of models, files and servers made safe to show: it cannot move, colour, hide or reorder the text around it.

use std::borrow::Cow;
use std::fmt::Write as _;

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
/// paragraph separators, and invisible characters. Joiners and variation selectors stay between letters beyond ASCII:
/// Persian, Indian scripts and emoji need them.
pub fn visible(text: &str, lines: Lines) -> Cow<'_, str> {
    let acts_here = |c: char| match c {
        '\n' | '\t' => lines == Lines::One,
        _ => acts(c) || joins(c),
    };
    let Some(first) = text.find(acts_here) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back();
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        let stays = !acts_here(c) || joins(c) && is_needed(before, c, rest.peek().copied());
        match c {
            _ if stays => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ => shown.extend(c.escape_unicode()),
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Whether a character acts on a display instead of appearing on it, whatever stands beside it.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffc}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200d}')
}

/// Whether a character is invisible and changes how its neighbours are drawn.
fn joins(c: char) -> bool {
    is_joiner(c) || matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}')
}

/// Whether a character that [`joins`] has neighbours that it can change.
fn is_needed(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_letter = |c: char| !c.is_ascii() && !acts(c) && !is_joiner(c);
    let follows = before.is_some_and(|before| is_letter(before) && (is_joiner(c) || !joins(before)));
    follows && (!is_joiner(c) || after.is_some_and(|after| is_letter(after) && !joins(after)))
}

/// Longest run of blanks in a line, after its indentation, that is shown as it is.
const MAX_BLANKS: usize = 8;
/// Deepest indentation that is shown as it is.
const MAX_INDENTATION: usize = 40;
/// Most empty lines in succession that are shown as they are.
const MAX_EMPTY_LINES: usize = 3;

/// Returns a text of another author as a user reads it before an answer: nothing in it acts on the display, and
/// neither blanks nor empty lines push the rest out of sight.
///
/// A line stays a line, and tabs of its indentation become four blanks each. Of a longer run the number is shown:
/// `[300 blanks]`, `[300 empty lines]`. The page does the same (`clients/page/src/text/marked.ts`), and both are tested with
/// `crates/model/tests/marked.json`.
pub fn marked(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let mut empty = vec![line];
        if line.chars().all(is_blank) {
            while let Some(line) = lines.next_if(|line| line.chars().all(is_blank)) {
                empty.push(line);
            }
        }
        if empty.len() > MAX_EMPTY_LINES {
            let _ = writeln!(shown, "[{} empty lines]", empty.len());
        } else {
            for line in empty {
                mark_line(line, &mut shown);
                shown.push('\n');
            }
        }
    }
    shown.pop();
    shown
}

/// U+2800 is a letter of Braille without a dot.
fn is_blank(c: char) -> bool {
    c == '\t' || c == '\u{2800}' || (c.is_whitespace() && !acts(c))
}

fn mark_line(line: &str, shown: &mut String) {
    let inner = line.trim_start_matches(is_blank);
    // A line of blanks alone has no indentation.
    let inner = if inner.is_empty() { line } else { inner };
    let indentation = &line[..line.len() - inner.len()];
    let indentation_spaces = indentation.replace('\t', "    ");
    if indentation_spaces.chars().count() > MAX_INDENTATION {
        let _ = write!(shown, "[{} blanks] ", indentation.chars().count());
    } else {
        *shown += &indentation_spaces;
    }
    let mut rest = inner;
    while let Some(start) = rest.find(is_blank) {
        let (before, blanks) = rest.split_at(start);
        let end = blanks.find(|c| !is_blank(c)).unwrap_or(blanks.len());
        let count = blanks[..end].chars().count();
        *shown += &visible(before, Lines::One);
        if count > MAX_BLANKS {
            let _ = write!(shown, " [{count} blanks] ");
        } else {
            *shown += &visible(&blanks[..end], Lines::One);
        }
        rest = &blanks[end..];
    }
    *shown += &visible(rest, Lines::One);
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

    #[test]
    fn joiners_stay_only_where_scripts_and_emoji_need_them() {
        for (text, shown) in [
            ("r\u{200d}m", r"r\u{200d}m"),
            ("❤\u{fe0f}\u{200d}🔥", "❤\u{fe0f}\u{200d}🔥"),
            ("é\u{200c}\u{200c}é", r"é\u{200c}\u{200c}é"),
            ("é\u{fe0f}\u{fe0e}", "é\u{fe0f}\\u{fe0e}"),
            ("a\u{fe0f}é\u{200c}", r"a\u{fe0f}é\u{200c}"),
        ] {
            assert_eq!(visible(text, Lines::Keep), shown);
        }
    }

    /// The page reads the same cases.
    #[test]
    fn a_marked_text_hides_nothing_and_pushes_nothing_out_of_sight() {
        let cases: serde_json::Value = serde_json::from_str(include_str!("../tests/marked.json")).unwrap();
        for case in cases["cases"].as_array().unwrap() {
            let shown = marked(case["text"].as_str().unwrap());
            assert_eq!(shown, case["shown"].as_str().unwrap(), "{case}");
            assert_eq!(marked(&shown), shown, "{case}");
        }
        let acting: Vec<[u32; 2]> = serde_json::from_value(cases["acting"].clone()).unwrap();
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let listed = acting
                .iter()
                .any(|[from, to]| (*from..=*to).contains(&u32::from(c)));
            assert_eq!(acts(c), listed, "{c:?}");
        }
    }
}
