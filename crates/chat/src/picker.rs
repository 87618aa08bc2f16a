//! A list to choose from, filtered by what is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::{Line, Style};
use crate::transcript::ACCENT;

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The value that is chosen.
    pub(crate) value: String,
    /// The text, safe to show.
    pub(crate) label: String,
    /// The facts behind it.
    pub(crate) note: String,
}

/// A list that is shown.
#[derive(Debug, Default)]
pub(crate) struct Picker {
    title: String,
    entries: Vec<Entry>,
    filter: String,
    chosen: usize,
}

/// The effect of a key on a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Stay,
    Close,
    Chosen(String),
}

impl Picker {
    pub(crate) fn new(title: &str, entries: Vec<Entry>, current: Option<&str>) -> Self {
        let chosen = entries
            .iter()
            .position(|entry| Some(entry.value.as_str()) == current);
        Self {
            title: title.to_owned(),
            entries,
            filter: String::new(),
            chosen: chosen.unwrap_or_default(),
        }
    }

    fn found(&self) -> Vec<&Entry> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |entry: &&Entry| {
            let text = format!("{} {} {}", entry.label, entry.note, entry.value).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.entries.iter().filter(fits).collect()
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Step {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.found().len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => return Step::Close,
            KeyCode::Char('c') if control => return Step::Close,
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Char('p') if control => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.chosen = (self.chosen + 1).min(last),
            KeyCode::Char('n') if control => self.chosen = (self.chosen + 1).min(last),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(10),
            KeyCode::PageDown => self.chosen = (self.chosen + 10).min(last),
            KeyCode::Enter => {
                return match self.found().get(self.chosen) {
                    Some(entry) => Step::Chosen(entry.value.clone()),
                    None => Step::Stay,
                };
            }
            KeyCode::Backspace => {
                self.filter.pop();
                self.chosen = 0;
            }
            KeyCode::Char(c) if !control => {
                self.filter.push(c);
                self.chosen = 0;
            }
            _ => {}
        }
        Step::Stay
    }

    /// Returns the value with this number of [`Picker::numbered`].
    pub(crate) fn nth(&self, number: &str) -> Option<String> {
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.entries.get(place).map(|entry| entry.value.clone())
    }

    /// Returns the whole list with numbers.
    pub(crate) fn numbered(&self) -> Vec<Line> {
        let head = format!("{}: type a number; an empty line chooses nothing", self.title);
        let entries = (1..).zip(&self.entries).map(|(number, entry)| {
            Line::of(format!("{number}. {}  {}", entry.label, entry.note), Style::PLAIN)
        });
        [Line::of(head, Style::PLAIN)]
            .into_iter()
            .chain(entries)
            .collect()
    }

    /// Returns the list in so many columns and rows.
    pub(crate) fn lines(&self, width: usize, rows: usize) -> Vec<Line> {
        let found = self.found();
        let mut title = Line::of(format!("{}  ", self.title), Style::BOLD);
        match self.filter.as_str() {
            "" => title.push("type to search", Style::DIM),
            filter => title.push(filter, ACCENT),
        }
        let mut lines = vec![title.cut(width)];
        let room = rows.saturating_sub(2).max(1);
        let first = self.chosen.saturating_sub(room - 1);
        for (at, entry) in found.iter().enumerate().skip(first).take(room) {
            let is_chosen = at == self.chosen;
            let (sign, style) = if is_chosen {
                ("› ", Style::BOLD)
            } else {
                ("  ", Style::PLAIN)
            };
            let line = Line::of(sign, ACCENT).and(entry.label.clone(), style);
            lines.push(line.and(format!("  {}", entry.note), Style::DIM).cut(width));
        }
        if found.is_empty() {
            lines.push(Line::of("  nothing found", Style::DIM));
        }
        let keys = format!(
            "{} of {} · Enter chooses · Esc closes",
            found.len(),
            self.entries.len()
        );
        lines.push(Line::of(keys, Style::DIM).cut(width));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: &str, note: &str) -> Entry {
        Entry {
            value: value.to_owned(),
            label: value.to_owned(),
            note: note.to_owned(),
        }
    }

    #[test]
    fn typed_words_filter_and_enter_chooses() {
        let entries = vec![
            entry("alpha", "1 h"),
            entry("beta", "2 h"),
            entry("gamma beta", "3 h"),
        ];
        let mut picker = Picker::new("Threads", entries, Some("beta"));
        for c in "beta".chars() {
            assert_eq!(picker.key(KeyEvent::from(KeyCode::Char(c))), Step::Stay);
        }
        picker.key(KeyEvent::from(KeyCode::Down));
        let lines: Vec<String> = picker.lines(40, 6).iter().map(Line::text).collect();
        insta::assert_snapshot!(lines.join("\n"));
        let chosen = picker.key(KeyEvent::from(KeyCode::Enter));
        assert_eq!(chosen, Step::Chosen("gamma beta".to_owned()));
    }
}
