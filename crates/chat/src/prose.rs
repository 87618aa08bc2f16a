//! Markdown that still grows, as text for a terminal: what is final is printed once.

use crate::markdown;
use crate::screen::painted;
use crate::text::{Line, in_margin};

/// A message of an agent while it comes.
#[derive(Debug)]
pub struct Prose {
    has_colors: bool,
    /// The part that is not printed yet.
    rest: String,
    is_first: bool,
}

impl Prose {
    /// Starts a message.
    pub fn new(has_colors: bool) -> Self {
        Self {
            has_colors,
            rest: String::new(),
            is_first: true,
        }
    }

    /// Takes a piece. Returns the paragraphs that are final now, as lines of so many columns, safe to print.
    pub fn push(&mut self, piece: &str, width: usize) -> String {
        self.rest += piece;
        if !piece.contains('\n') {
            return String::new();
        }
        let settled = markdown::settled(&self.rest);
        let text: String = self.rest.drain(..settled).collect();
        self.painted(&text, width)
    }

    /// Ends the message. Returns the rest of it.
    pub fn end(&mut self, width: usize) -> String {
        let text = std::mem::take(&mut self.rest);
        let shown = self.painted(&text, width);
        self.is_first = true;
        shown
    }

    fn painted(&mut self, text: &str, width: usize) -> String {
        if text.trim().is_empty() {
            return String::new();
        }
        let mut lines = Vec::new();
        if !std::mem::take(&mut self.is_first) {
            lines.push(Line::default());
        }
        let margin = Line::default();
        lines.extend(in_margin(&markdown::rendered(text), width, &margin, &margin));
        painted(&lines, self.has_colors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_printed_when_they_are_final() {
        let mut prose = Prose::new(false);
        let mut shown = String::new();
        for piece in [
            "# Tea\n",
            "\nIt is **hot**",
            "\u{1b}[2J.\n\n",
            "```\nfn tea",
            "() {}\n```\n",
        ] {
            shown += &prose.push(piece, 40);
            shown += "|";
        }
        shown += &prose.end(40);
        insta::assert_snapshot!(shown.replace('\u{1b}', "ESC"));
    }
}
