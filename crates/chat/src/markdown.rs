//! Markdown as lines of a terminal.

use crossterm::style::Color;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::code::Highlighter;
use crate::text::{Line, Style, safe};

/// The state of rendering.
struct Writer {
    lines: Vec<Line>,
    line: Line,
    style: Vec<Style>,
    /// Number of the next entry of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    in_code: bool,
    /// Colours the open block of code.
    code: Option<Highlighter>,
    /// The address of an open link.
    link: Option<String>,
    /// Rows of the open table, with their cells.
    table: Vec<Vec<Line>>,
}

/// Returns a text as lines, which are not wrapped.
pub(crate) fn rendered(text: &str) -> Vec<Line> {
    let text = safe(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer {
        lines: Vec::new(),
        line: Line::default(),
        style: vec![Style::PLAIN],
        lists: Vec::new(),
        quotes: 0,
        in_code: false,
        code: None,
        link: None,
        table: Vec::new(),
    };
    for event in Parser::new_ext(&text, options) {
        writer.event(event);
    }
    writer.end_line();
    while writer.lines.last().is_some_and(Line::is_blank) {
        writer.lines.pop();
    }
    writer.lines
}

impl Writer {
    fn now(&self) -> Style {
        self.style.last().copied().unwrap_or_default()
    }

    fn push(&mut self, change: impl FnOnce(&mut Style)) {
        let mut style = self.now();
        change(&mut style);
        self.style.push(style);
    }

    fn pop(&mut self) {
        self.style.pop();
    }

    fn text(&mut self, text: &str) {
        if self.line.0.is_empty() {
            let margin = "│ ".repeat(self.quotes);
            if !margin.is_empty() {
                self.line.push(margin, Style::DIM);
            }
        }
        let style = self.now();
        self.line.push(text, style);
    }

    fn end_line(&mut self) {
        if !self.line.0.is_empty() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    /// Writes the rows of a table with columns of equal width.
    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.table);
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                rows.iter()
                    .filter_map(|row| row.get(at))
                    .map(Line::width)
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        for (at, row) in rows.into_iter().enumerate() {
            let mut line = Line::default();
            for (cell, width) in row.into_iter().zip(&widths) {
                if !line.0.is_empty() {
                    line.push(" │ ", Style::DIM);
                }
                let blanks = " ".repeat(width - cell.width());
                for span in cell.0 {
                    line.push(span.text, span.style);
                }
                line.push(blanks, Style::PLAIN);
            }
            self.lines.push(line);
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                self.lines.push(Line::of(rule.join("─┼─"), Style::DIM));
            }
        }
    }

    /// Separates blocks by one blank line.
    fn gap(&mut self) {
        self.end_line();
        if self.lines.last().is_some_and(|line| !line.is_blank()) {
            self.lines.push(Line::default());
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => {
                for line in text.lines() {
                    self.line.push("  ", Style::PLAIN);
                    match &mut self.code {
                        Some(code) => {
                            for (part, style) in code.line(line) {
                                self.line.push(part, style);
                            }
                        }
                        None => self.text(line),
                    }
                    self.lines.push(std::mem::take(&mut self.line));
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                for (at, line) in text.split('\n').enumerate() {
                    if at > 0 {
                        self.end_line();
                    }
                    if !line.is_empty() {
                        self.text(line);
                    }
                }
            }
            Event::Code(code) => {
                self.push(|style| style.color = Some(Color::Cyan));
                self.text(&code);
                self.pop();
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.gap();
                self.lines.push(Line::of("───", Style::DIM));
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph if self.lists.is_empty() => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.push(|style| style.bold = true);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                self.in_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.code = Highlighter::of(&language);
                    self.lines.push(Line::of(format!("  {language}"), Style::DIM));
                }
                self.push(|style| style.color = Some(Color::Cyan));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                } else {
                    self.end_line();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                let indent = "  ".repeat(self.lists.len().saturating_sub(1));
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.text(&format!("{indent}{mark}"));
            }
            Tag::Emphasis => self.push(|style| style.italic = true),
            Tag::Strong => self.push(|style| style.bold = true),
            Tag::Strikethrough => self.push(|style| style.dim = true),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
                self.push(|style| style.underlined = true);
            }
            Tag::Table(_) => self.gap(),
            Tag::TableHead => {
                self.table.push(Vec::new());
                self.push(|style| style.bold = true);
            }
            Tag::TableRow => self.table.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes -= 1;
            }
            TagEnd::CodeBlock => {
                self.pop();
                self.in_code = false;
                self.code = None;
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
            }
            TagEnd::Paragraph | TagEnd::Item => self.end_line(),
            TagEnd::Heading(_) => {
                self.pop();
                self.end_line();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.table.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableHead | TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.pop(),
            TagEnd::Link | TagEnd::Image => {
                self.pop();
                // A text may say another address than it leads to.
                if let Some(address) = self.link.take() {
                    let shown: String = self
                        .line
                        .0
                        .last()
                        .map(|span| span.text.clone())
                        .unwrap_or_default();
                    if !shown.ends_with(&address) {
                        self.text(&format!(" ({address})"));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns how much of a text that still grows is final as rendered: up to its last empty line outside of a code block.
pub(crate) fn settled(text: &str) -> usize {
    let mut settled = 0;
    let mut fence: Option<&str> = None;
    let mut at = 0;
    let mut in_list = false;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        at += line.len();
        let is_blank = start.is_empty();
        if fence.is_none() && is_blank && line.ends_with('\n') && !in_list {
            settled = at;
        }
        if !is_blank {
            // A list may go on behind an empty line, with its numbers.
            let is_entry =
                start.starts_with(['-', '*', '+']) || start.starts_with(|c: char| c.is_ascii_digit());
            in_list = is_entry || in_list && line.starts_with(' ');
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<String> {
        rendered(markdown).iter().map(Line::text).collect()
    }

    #[test]
    fn blocks_are_lines_with_one_gap() {
        let text =
            "# Head\n\nOne **two**\nthree.\n\n- a\n- b\n  1. c\n\n```rust\nfn x() {}\n\ny\n```\n> quoted\n";
        assert_eq!(
            texts(text),
            [
                "Head",
                "",
                "One two three.",
                "",
                "• a",
                "• b",
                "  1. c",
                "",
                "  rust",
                "  fn x() {}",
                "  ",
                "  y",
                "",
                "│ quoted"
            ]
        );
    }

    #[test]
    fn the_columns_of_a_table_are_of_equal_width() {
        let table = "| a | long |\n|---|---|\n| **wide** | x |\n";
        assert_eq!(texts(table), ["a    │ long", "─────┼─────", "wide │ x   "]);
    }

    #[test]
    fn a_link_shows_where_it_leads() {
        assert_eq!(texts("[good](http://evil)"), ["good (http://evil)"]);
        assert_eq!(texts("<http://a.b>"), ["http://a.b"]);
    }

    #[test]
    fn a_growing_text_is_settled_by_paragraphs() {
        assert_eq!(settled("one\n\ntwo"), 5);
        assert_eq!(settled("one"), 0);
        assert_eq!(settled("```\na\n\nb"), 0);
        assert_eq!(settled("```\na\n\nb\n```\n\nc"), 14);
        assert_eq!(settled("1. a\n\n2. b\n\n"), 0);
        assert_eq!(settled("- a\n\nb\n\n"), 8);
    }
}
