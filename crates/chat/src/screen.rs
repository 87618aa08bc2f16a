//! The terminal: finished lines go into its own scrollback, and a part after them is drawn anew.

use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveDown, MoveToColumn, MoveUp, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

use crate::text::{Line, Style};
use crate::theme::Theme;

/// The place of the cursor in the part that is drawn anew, from its top left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// Draws on a terminal.
pub(crate) struct Screen<W> {
    out: W,
    /// Columns and rows.
    size: (usize, usize),
    theme: Theme,
    /// The part that is drawn anew, as it stands on the terminal.
    live: Vec<Line>,
    /// Row of the cursor in it.
    row: usize,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, size: (usize, usize), theme: Theme) -> Self {
        Self {
            out,
            size,
            theme,
            live: Vec::new(),
            row: 0,
        }
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Draws in other colours from now on.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        if self.theme != theme {
            self.theme = theme;
            self.live.clear();
        }
    }

    /// Takes the terminal's new size. A narrower one has broken the lines that were drawn.
    pub(crate) fn resize(&mut self, size: (usize, usize)) {
        let width = size.0.max(1);
        let before = self.live.iter().take(self.row);
        self.row = before.map(|line| line.width().div_ceil(width).max(1)).sum();
        self.size = size;
        // Nothing of it can be reused.
        self.live.clear();
    }

    /// Writes finished lines, and draws the live part with the cursor in it.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn draw(
        &mut self,
        finished: &[Line],
        live: Vec<Line>,
        cursor: Option<Place>,
    ) -> io::Result<()> {
        if finished.is_empty() && live == self.live && cursor.map(|place| place.row) == Some(self.row) {
            let column = cursor.map(|place| place.column).unwrap_or_default();
            queue!(self.out, MoveToColumn(small(column)), Show)?;
            return self.out.flush();
        }
        queue!(self.out, BeginSynchronizedUpdate, Hide)?;
        self.go_to_top()?;
        // Lines that stay are not drawn again.
        let same = if finished.is_empty() {
            live.iter()
                .zip(&self.live)
                .take_while(|(new, old)| new == old)
                .count()
        } else {
            0
        };
        let same = same.min(live.len().saturating_sub(1));
        if same > 0 {
            queue!(self.out, MoveDown(small(same)))?;
        }
        queue!(self.out, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        for line in finished {
            self.line(line)?;
            queue!(self.out, Print("\r\n"))?;
        }
        for (at, line) in live.iter().enumerate().skip(same) {
            self.line(line)?;
            if at + 1 < live.len() {
                queue!(self.out, Print("\r\n"))?;
            }
        }
        let last = live.len().saturating_sub(1);
        let place = cursor.unwrap_or(Place { row: last, column: 0 });
        if last > place.row {
            queue!(self.out, MoveUp(small(last - place.row)))?;
        }
        queue!(self.out, MoveToColumn(small(place.column)))?;
        if cursor.is_some() {
            queue!(self.out, Show)?;
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.row = place.row.min(last);
        self.live = live;
        self.out.flush()
    }

    /// Takes the live part away, so that the terminal goes on behind the finished lines.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.go_to_top()?;
        queue!(self.out, MoveToColumn(0), Clear(ClearType::FromCursorDown), Show)?;
        self.live.clear();
        self.row = 0;
        self.out.flush()
    }

    /// Writes bytes that are no text, such as a bell.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn signal(&mut self, text: &str) -> io::Result<()> {
        queue!(self.out, Print(text))?;
        self.out.flush()
    }

    fn go_to_top(&mut self) -> io::Result<()> {
        if self.row > 0 {
            queue!(self.out, MoveUp(small(self.row)))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        for span in &line.0 {
            self.style(span.style)?;
            queue!(self.out, Print(&span.text))?;
            if span.style != Style::PLAIN {
                queue!(self.out, SetAttribute(Attribute::Reset))?;
                if self.theme != Theme::Colorless {
                    queue!(self.out, ResetColor)?;
                }
            }
        }
        Ok(())
    }

    fn style(&mut self, style: Style) -> io::Result<()> {
        let attributes = [
            (style.bold, Attribute::Bold),
            (style.dim, Attribute::Dim),
            (style.italic, Attribute::Italic),
            (style.underlined, Attribute::Underlined),
            (style.reversed, Attribute::Reverse),
        ];
        for (_, attribute) in attributes.into_iter().filter(|(is_set, _)| *is_set) {
            queue!(self.out, SetAttribute(attribute))?;
        }
        if let Some(color) = style.color.and_then(|color| self.theme.color(color)) {
            queue!(self.out, SetForegroundColor(color))?;
        }
        Ok(())
    }
}

fn small(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Returns lines as text for a terminal.
pub(crate) fn painted(lines: &[Line], has_colors: bool) -> String {
    let theme = if has_colors { Theme::Dark } else { Theme::Colorless };
    let mut screen = Screen::new(Vec::new(), (0, 0), theme);
    for line in lines {
        // A write to memory succeeds.
        drop(screen.line(line));
        screen.out.push(b'\n');
    }
    String::from_utf8(screen.out).unwrap_or_default()
}
