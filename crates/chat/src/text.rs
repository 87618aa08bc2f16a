//! Styled text: lines of spans, and how they are wrapped. All that a model, a tool or a file says passes through [`safe`].

use std::borrow::Cow;

use bobbin_model::{Lines, visible};
use crossterm::style::Color;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Blanks for a tab.
const TAB: &str = "    ";

/// How a span looks. Colours are the terminal's own sixteen, so that they fit light and dark ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the attributes of a terminal's cell"
)]
pub(crate) struct Style {
    pub(crate) color: Option<Color>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
    pub(crate) reversed: bool,
}

impl Style {
    pub(crate) const PLAIN: Self = Self {
        color: None,
        bold: false,
        dim: false,
        italic: false,
        underlined: false,
        reversed: false,
    };
    pub(crate) const BOLD: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    pub(crate) const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    pub(crate) const REVERSED: Self = Self {
        reversed: true,
        ..Self::PLAIN
    };

    pub(crate) const fn of(color: Color) -> Self {
        Self {
            color: Some(color),
            ..Self::PLAIN
        }
    }
}

/// A text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line(pub(crate) Vec<Span>);

impl Line {
    /// Returns a line of our own words, or of text that is safe.
    pub(crate) fn of(text: impl Into<String>, style: Style) -> Self {
        Self(vec![Span {
            text: text.into(),
            style,
        }])
    }

    /// Appends a span.
    #[must_use]
    pub(crate) fn and(mut self, text: impl Into<String>, style: Style) -> Self {
        self.push(text, style);
        self
    }

    pub(crate) fn push(&mut self, text: impl Into<String>, style: Style) {
        let text = text.into();
        match self.0.last_mut() {
            Some(last) if last.style == style => last.text += &text,
            _ => self.0.push(Span { text, style }),
        }
    }

    /// Returns the number of columns.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|span| span.text.width()).sum()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.0.iter().all(|span| span.text.trim().is_empty())
    }

    /// Returns the line within so many columns, with `…` where it was cut.
    #[must_use]
    pub(crate) fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut shown = Self::default();
        let mut left = width.saturating_sub(1);
        for span in self.0 {
            let mut text = String::new();
            for c in span.text.chars() {
                let columns = c.width().unwrap_or_default();
                if columns > left {
                    left = 0;
                    break;
                }
                left -= columns;
                text.push(c);
            }
            shown.push(text, span.style);
            if left == 0 {
                break;
            }
        }
        shown.push("…", Style::DIM);
        shown
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Returns a text of another author as it is shown: nothing in it acts on the terminal. Line breaks stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    let shown = visible(text, Lines::Keep);
    if shown.contains('\t') {
        Cow::Owned(shown.replace('\t', TAB))
    } else {
        shown
    }
}

/// As [`safe`], in one line.
pub(crate) fn safe_line(text: &str) -> String {
    visible(text, Lines::One).into_owned()
}

/// Returns lines that fit in `width` columns, broken between words where there are any. Lines after the first start with
/// `indent`.
pub(crate) fn wrapped(line: &Line, width: usize, indent: &Line) -> Vec<Line> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    let room = width.saturating_sub(indent.width()).max(1);
    let cells: Vec<(char, Style)> = line
        .0
        .iter()
        .flat_map(|span| span.text.chars().map(|c| (c, span.style)))
        .collect();
    let mut lines = Vec::new();
    let mut from = 0;
    while from < cells.len() {
        let limit = if lines.is_empty() { width.max(1) } else { room };
        let to = from + fitting(&cells[from..], limit);
        let mut shown = if lines.is_empty() {
            Line::default()
        } else {
            indent.clone()
        };
        for (c, style) in &cells[from..to] {
            shown.push(*c, *style);
        }
        from = to;
        // A break takes the place of one blank.
        if from < cells.len() && cells[from].0 == ' ' {
            from += 1;
        }
        lines.push(shown);
    }
    lines
}

/// Returns how many of the characters fit in a line, so that it ends between words if it can.
fn fitting(cells: &[(char, Style)], width: usize) -> usize {
    let mut columns = 0;
    let mut blank = None;
    for (at, (c, _)) in cells.iter().enumerate() {
        columns += c.width().unwrap_or_default();
        if columns > width {
            let words = if *c == ' ' { Some(at) } else { blank };
            return words.filter(|at| *at > 0).unwrap_or(at).max(1);
        }
        if *c == ' ' {
            blank = Some(at);
        }
    }
    cells.len()
}

/// Returns wrapped lines with a margin: the first with `first`, the others with `rest`.
pub(crate) fn in_margin(lines: &[Line], width: usize, first: &Line, rest: &Line) -> Vec<Line> {
    let room = width.saturating_sub(rest.width().max(first.width())).max(1);
    let broken = lines
        .iter()
        .flat_map(|line| wrapped(line, room, &Line::default()));
    broken
        .enumerate()
        .map(|(at, line)| {
            let margin = if at == 0 { first } else { rest };
            // No blanks at the end of a line.
            if line.0.is_empty() && margin.is_blank() {
                return Line::default();
            }
            let mut shown = margin.clone();
            for span in line.0 {
                shown.push(span.text, span.style);
            }
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, width: usize) -> Vec<String> {
        let line = Line::of(text, Style::PLAIN);
        let indent = Line::of("  ", Style::PLAIN);
        wrapped(&line, width, &indent).iter().map(Line::text).collect()
    }

    #[test]
    fn lines_are_broken_between_words_and_long_words_anywhere() {
        assert_eq!(broken("one two three", 20), ["one two three"]);
        assert_eq!(broken("one two three", 9), ["one two", "  three"]);
        assert_eq!(broken("abcdefghij", 4), ["abcd", "  ef", "  gh", "  ij"]);
        assert_eq!(broken("a 世界世界", 4), ["a", "  世", "  界", "  世", "  界"]);
        assert_eq!(broken("ab", 0), ["a", "  b"]);
    }

    #[test]
    fn a_cut_line_fits_and_says_so() {
        let line = Line::of("one", Style::BOLD).and(" two", Style::PLAIN);
        assert_eq!(line.clone().cut(7).text(), "one two");
        assert_eq!(line.clone().cut(5).text(), "one …");
        assert_eq!(line.cut(0).text(), "…");
    }

    #[test]
    fn text_of_others_acts_on_no_terminal() {
        assert_eq!(safe("a\tb\u{1b}[31m\n"), "a    b\\u{1b}[31m\n");
        assert_eq!(safe_line("a\nb\u{9b}"), "a\\nb\\u{9b}");
    }
}
