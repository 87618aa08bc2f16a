//! The prompt: a text of several lines with a cursor, its history, and pasted texts as chips.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthStr as _;

use crate::pictures;
use crate::screen::Place;
use crate::text::{Line, Style, safe, safe_line};
use crate::transcript::ACCENT;

/// A pasted text of more lines or characters than this becomes a chip.
const CHIP_LINES: usize = 8;
const CHIP_CHARS: usize = 1_000;
/// Entries of the history.
const MAX_HISTORY: usize = 500;

/// The prompt.
#[derive(Debug, Default)]
pub(crate) struct Compose {
    text: String,
    /// Byte position in the text.
    cursor: usize,
    history: Vec<String>,
    /// The entry of the history that is shown, and the text that was there before.
    recalled: Option<(usize, String)>,
    /// Pasted texts, by the chips that stand for them.
    pasted: Vec<(String, String)>,
    /// Pictures that were dropped on the terminal, by their chips.
    pictures: Vec<(String, PathBuf)>,
    /// The text that was cut last.
    cut: String,
}

/// The word that the cursor is in, if a menu can complete it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// `/` and the beginning of a command, at the start of the text.
    Command(String),
    /// `@` and a part of a path.
    File(String),
}

impl Compose {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
        self.recalled = None;
    }

    pub(crate) fn clear(&mut self) {
        self.set("");
        self.pasted.clear();
        self.pictures.clear();
    }

    /// Returns the text with pasted texts in the places of their chips.
    pub(crate) fn whole(&self) -> String {
        let mut text = self.text.clone();
        for (chip, pasted) in &self.pasted {
            text = text.replacen(chip, pasted, 1);
        }
        text
    }

    /// Takes the pictures whose chips are in a text.
    pub(crate) fn take_pictures(&mut self, text: &str) -> Vec<PathBuf> {
        let pictures = self.pictures.drain(..);
        pictures
            .filter(|(chip, _)| text.contains(chip.as_str()))
            .map(|(_, path)| path)
            .collect()
    }

    /// Takes the text, with pasted texts in the places of their chips, and adds it to the history.
    pub(crate) fn take(&mut self) -> String {
        let text = self.whole();
        self.set("");
        self.pasted.clear();
        self.remember(&text);
        text
    }

    /// Adds an entry to the history.
    pub(crate) fn remember(&mut self, text: &str) {
        if !text.trim().is_empty() && self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
            if self.history.len() > MAX_HISTORY {
                self.history.remove(0);
            }
        }
    }

    /// Inserts a text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.recalled = None;
    }

    /// Inserts a pasted text; a long one as a chip.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(path) = pictures::dropped(text) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let chip = format!("[picture {}, {}]", self.pictures.len() + 1, safe_line(&name));
            self.insert(&chip);
            self.pictures.push((chip, path));
            return;
        }
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines <= CHIP_LINES && text.chars().count() <= CHIP_CHARS {
            return self.insert(&text);
        }
        let chip = format!("[pasted text {}, {lines} lines]", self.pasted.len() + 1);
        self.insert(&chip);
        self.pasted.push((chip, text));
    }

    /// Returns what a menu can complete at the cursor.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        let before = &self.text[..self.cursor];
        if let Some(name) = before.strip_prefix('/')
            && !name.contains(char::is_whitespace)
            && !name.contains('/')
        {
            return Some(Wanted::Command(name.to_owned()));
        }
        let word = before.rsplit(char::is_whitespace).next()?;
        word.strip_prefix('@').map(|part| Wanted::File(part.to_owned()))
    }

    /// Replaces the word that [`Compose::wanted`] returned.
    pub(crate) fn complete(&mut self, text: &str) {
        let before = &self.text[..self.cursor];
        let from = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        // The blank may have several bytes.
        let from = before.ceil_char_boundary(from);
        self.text.replace_range(from..self.cursor, text);
        self.cursor = from + text.len();
    }

    /// Takes a key that edits. Returns whether it was one.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('a') if control => self.cursor = self.line_start(),
            KeyCode::Char('e') if control => self.cursor = self.line_end(),
            KeyCode::Char('b') if control => self.cursor = self.left(),
            KeyCode::Char('f') if control => self.cursor = self.right(),
            KeyCode::Char('b') if alt => self.cursor = self.word_left(),
            KeyCode::Char('f') if alt => self.cursor = self.word_right(),
            KeyCode::Char('d') if alt => self.delete(self.cursor, self.word_right()),
            KeyCode::Char('d') if control && !self.is_empty() => self.delete(self.cursor, self.right()),
            KeyCode::Char('h') if control => self.delete(self.left(), self.cursor),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Char('k') if control => {
                let end = match self.line_end() {
                    end if end == self.cursor => self.right(),
                    end => end,
                };
                self.cut(self.cursor, end);
            }
            KeyCode::Char('u') if control => self.cut(self.line_start(), self.cursor),
            KeyCode::Char('w') if control => self.cut(self.word_left(), self.cursor),
            KeyCode::Char('y') if control => {
                let text = self.cut.clone();
                self.insert(&text);
            }
            KeyCode::Char(c) if !control && !alt => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            // A backslash before Enter works in every terminal.
            KeyCode::Enter if self.text[..self.cursor].ends_with('\\') => {
                self.delete(self.cursor - 1, self.cursor);
                self.insert("\n");
            }
            KeyCode::Backspace if alt || control => self.cut(self.word_left(), self.cursor),
            KeyCode::Backspace => self.delete(self.left(), self.cursor),
            KeyCode::Delete => self.delete(self.cursor, self.right()),
            KeyCode::Left if control || alt => self.cursor = self.word_left(),
            KeyCode::Right if control || alt => self.cursor = self.word_right(),
            KeyCode::Left => self.cursor = self.left(),
            KeyCode::Right => self.cursor = self.right(),
            KeyCode::Home => self.cursor = self.line_start(),
            KeyCode::End => self.cursor = self.line_end(),
            KeyCode::Up => return self.up(),
            KeyCode::Down => return self.down(),
            _ => return false,
        }
        true
    }

    fn left(&self) -> usize {
        self.text[..self.cursor]
            .char_indices()
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let next = self.text[self.cursor..].chars().next();
        self.cursor + next.map_or(0, char::len_utf8)
    }

    fn word_left(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| {
            let blank = before[at..].chars().next().map_or(1, char::len_utf8);
            at + blank
        })
    }

    fn word_right(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let blanks = rest.len() - rest.trim_start().len();
        let word = rest[blanks..]
            .find(char::is_whitespace)
            .unwrap_or(rest.len() - blanks);
        self.cursor + blanks + word
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..]
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.recalled = None;
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text[from..to].clone_into(&mut self.cut);
        self.delete(from, to);
    }

    /// Goes up a line, or back in the history.
    fn up(&mut self) -> bool {
        let start = self.line_start();
        if start > 0 {
            let column = self.text[start..self.cursor].chars().count();
            self.cursor = start - 1;
            self.go_to_column(column);
            return true;
        }
        let at = match &self.recalled {
            Some((at, _)) => *at,
            None => self.history.len(),
        };
        if at == 0 {
            return false;
        }
        let before = match self.recalled.take() {
            Some((_, before)) => before,
            None => self.text.clone(),
        };
        self.text.clone_from(&self.history[at - 1]);
        self.cursor = self.text.len();
        self.recalled = Some((at - 1, before));
        true
    }

    /// Goes down a line, or forward in the history.
    fn down(&mut self) -> bool {
        let end = self.line_end();
        if end < self.text.len() {
            let column = self.text[self.line_start()..self.cursor].chars().count();
            self.cursor = end + 1;
            self.go_to_column(column);
            return true;
        }
        let Some((at, before)) = self.recalled.take() else {
            return false;
        };
        if let Some(next) = self.history.get(at + 1) {
            self.text.clone_from(next);
            self.recalled = Some((at + 1, before));
        } else {
            self.text = before;
        }
        self.cursor = self.text.len();
        true
    }

    fn go_to_column(&mut self, column: usize) {
        let start = self.line_start();
        let line = &self.text[start..self.line_end()];
        self.cursor = start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    }

    /// Returns the prompt as lines of so many columns, and the place of the cursor in them. Of a long one, `rows` lines around
    /// the cursor.
    pub(crate) fn lines(&self, width: usize, rows: usize, hint: &str) -> (Vec<Line>, Place) {
        let room = width.saturating_sub(3).max(1);
        let starts = row_starts(&self.text, room);
        let row = starts.partition_point(|start| *start <= self.cursor) - 1;
        let first = row.saturating_sub(rows.saturating_sub(1));
        let shown = starts.iter().enumerate().skip(first).take(rows);
        let mut lines: Vec<Line> = shown
            .map(|(at, start)| {
                let sign = if at == 0 { "› " } else { "  " };
                let end = starts.get(at + 1).copied().unwrap_or(self.text.len());
                let text = self.text[*start..end].trim_end_matches(['\n', ' ']);
                Line::of(sign, ACCENT).and(safe(text), Style::PLAIN)
            })
            .collect();
        if self.is_empty()
            && let Some(line) = lines.first_mut()
        {
            line.push(hint, Style::DIM);
            *line = std::mem::take(line).cut(width);
        }
        let place = Place {
            row: row - first,
            column: safe(&self.text[starts[row]..self.cursor]).width() + 2,
        };
        (lines, place)
    }
}

/// Returns where the rows of a text start, of so many columns each. A row ends between words where it can; the blank stays in it,
/// also beyond the last column.
fn row_starts(text: &str, room: usize) -> Vec<usize> {
    let (mut starts, mut column) = (vec![0], 0);
    // The place behind the row's last blank.
    let mut word = None;
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        if c == '\n' {
            starts.push(next);
            (column, word) = (0, None);
            continue;
        }
        let columns = safe(c.encode_utf8(&mut [0; 4])).width();
        if c == ' ' && column <= room {
            word = Some(next);
        } else if column + columns > room && column > 0 {
            let start = word.take().unwrap_or(at);
            starts.push(start);
            column = safe(&text[start..at]).width();
        }
        column += columns;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(compose: &mut Compose, keys: &[(KeyCode, KeyModifiers)]) {
        for (code, modifiers) in keys {
            compose.key(KeyEvent::new(*code, *modifiers));
        }
    }

    fn key(code: KeyCode) -> (KeyCode, KeyModifiers) {
        (code, KeyModifiers::NONE)
    }

    fn control(c: char) -> (KeyCode, KeyModifiers) {
        (KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    #[test]
    fn words_and_lines_are_edited_by_the_usual_keys() {
        let mut compose = Compose::default();
        compose.insert("one two\nthree");
        press(&mut compose, &[control('w')]);
        assert_eq!(compose.text(), "one two\n");
        press(&mut compose, &[control('y'), key(KeyCode::Up), control('k')]);
        assert_eq!(compose.text(), "one t\nthree");
        press(&mut compose, &[control('u'), key(KeyCode::Char('x'))]);
        assert_eq!(compose.text(), "x\nthree");
    }

    #[test]
    fn the_history_gives_back_the_text_that_was_there() {
        let mut compose = Compose::default();
        for text in ["first", "second"] {
            compose.set(text);
            assert_eq!(compose.take(), text);
        }
        compose.set("draft");
        press(&mut compose, &[key(KeyCode::Up), key(KeyCode::Up)]);
        assert_eq!(compose.text(), "first");
        assert!(
            !compose.key(KeyEvent::from(KeyCode::Up)),
            "there is nothing older"
        );
        press(&mut compose, &[key(KeyCode::Down), key(KeyCode::Down)]);
        assert_eq!(compose.text(), "draft");
    }

    #[test]
    fn a_long_paste_is_a_chip_and_is_sent_whole() {
        let mut compose = Compose::default();
        let long = "line\n".repeat(20);
        compose.insert("see ");
        compose.paste(&long);
        assert_eq!(compose.text(), "see [pasted text 1, 20 lines]");
        assert_eq!(compose.take(), format!("see {long}"));
        compose.paste("short\r\ntext");
        assert_eq!(compose.text(), "short\ntext");
    }

    #[test]
    fn commands_and_files_are_completed() {
        let mut compose = Compose::default();
        compose.insert("/re");
        assert_eq!(compose.wanted(), Some(Wanted::Command("re".to_owned())));
        compose.complete("/review ");
        assert_eq!(compose.wanted(), None);
        compose.insert("@src/ma");
        assert_eq!(compose.wanted(), Some(Wanted::File("src/ma".to_owned())));
        compose.complete("@src/main.rs ");
        assert_eq!(compose.text(), "/review @src/main.rs ");
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_in_the_next_row() {
        let mut compose = Compose::default();
        compose.insert("abcdefgh");
        let (lines, place) = compose.lines(8, 5, "");
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(texts, ["› abcde", "  fgh"]);
        assert_eq!(place, Place { row: 1, column: 5 });
        let (lines, place) = compose.lines(8, 1, "");
        assert_eq!(lines[0].text(), "  fgh");
        assert_eq!(place.row, 0);
    }

    #[test]
    fn a_row_ends_between_words_and_the_cursor_is_where_the_text_is() {
        let mut compose = Compose::default();
        compose.insert("boil the 世界 kettle\n\u{1b}ok");
        let shown = |compose: &Compose| {
            let (lines, place) = compose.lines(13, 9, "");
            let texts: Vec<String> = lines
                .iter()
                .map(|line| line.text().trim_end().to_owned())
                .collect();
            (texts, place.row, place.column)
        };
        let rows = ["› boil the", "  世界", "  kettle", r"  \u{1b}ok"].map(str::to_owned);
        assert_eq!(shown(&compose), (rows.to_vec(), 3, 10));
        let mut places = Vec::new();
        for _ in 0..22 {
            compose.key(KeyEvent::from(KeyCode::Left));
            let (_, row, column) = shown(&compose);
            places.push((row, column));
        }
        assert_eq!(places[..4], [(3, 9), (3, 8), (3, 2), (2, 8)]);
        assert_eq!(places[10..15], [(1, 6), (1, 4), (1, 2), (0, 10), (0, 9)]);
        // A blank beyond the last column is in its row, and a word that has no room is broken.
        for (text, rows) in [
            ("abcdefghij  k", vec![0, 11]),
            ("abcdefghijkl m", vec![0, 10]),
            ("", vec![0]),
        ] {
            assert_eq!(row_starts(text, 10), rows, "{text}");
        }
    }
}
