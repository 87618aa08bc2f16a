//! A list to choose from, filtered by what is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthStr as _;

use crate::text::{Line, Style};
use crate::transcript::ACCENT;

/// Columns that a label has at least beside a long note.
const LABEL: usize = 24;

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
    /// Entries that the server found for the filter.
    found_elsewhere: Vec<Entry>,
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
            found_elsewhere: Vec::new(),
            chosen: chosen.unwrap_or_default(),
        }
    }

    /// Returns the list with a filter that its user can change.
    pub(crate) fn filtered(mut self, filter: &str) -> Self {
        filter.clone_into(&mut self.filter);
        self.chosen = 0;
        self
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Adds what the server found for a filter, unless the filter has changed meanwhile.
    pub(crate) fn add(&mut self, filter: &str, entries: Vec<Entry>) {
        if self.filter == filter {
            self.found_elsewhere = entries;
        }
    }

    fn change_filter(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.filter);
        self.found_elsewhere.clear();
        self.chosen = 0;
    }

    fn found(&self) -> Vec<&Entry> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |entry: &&Entry| {
            let text = format!("{} {} {}", entry.label, entry.note, entry.value).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let mut found: Vec<&Entry> = self.entries.iter().filter(fits).collect();
        for entry in &self.found_elsewhere {
            if !found.iter().any(|known| known.value == entry.value) {
                found.push(entry);
            }
        }
        found
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
            KeyCode::Backspace => self.change_filter(|filter| {
                filter.pop();
            }),
            KeyCode::Char(c) if !control => self.change_filter(|filter| filter.push(c)),
            _ => {}
        }
        Step::Stay
    }

    /// Returns the value with this number of [`Picker::numbered`].
    pub(crate) fn nth(&self, number: &str) -> Option<String> {
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.found().get(place).map(|entry| entry.value.clone())
    }

    /// Returns the whole list with numbers.
    pub(crate) fn numbered(&self) -> Vec<Line> {
        let head = format!("{}: type a number; an empty line chooses nothing", self.title);
        let entries = (1..).zip(self.found()).map(|(number, entry)| {
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
            // A long label leaves room for what is noted about it.
            let room = width.saturating_sub(4);
            let room = room.saturating_sub(entry.note.width()).max(LABEL.min(room / 2));
            let mut line = Line::of(sign, ACCENT);
            line.0.extend(Line::of(entry.label.clone(), style).cut(room).0);
            lines.push(line.and(format!("  {}", entry.note), Style::DIM).cut(width));
        }
        if found.is_empty() {
            lines.push(Line::of("  nothing found", Style::DIM));
        }
        let all = self.entries.len().max(found.len());
        let keys = format!("{} of {all} · Enter chooses · Esc closes", found.len());
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

    #[test]
    fn a_long_label_leaves_room_for_its_note() {
        let note = "2 h ago · 3 turns · cli";
        let entries = vec![entry(&"long title ".repeat(10), note), entry("short", note)];
        let picker = Picker::new("Threads", entries, None);
        for (width, shown) in [
            (40, "› long title long t…  2 h ago · 3 turns…".to_owned()),
            (60, format!("› long title long title long title…  {note}")),
            (200, format!("› {} {note}", "long title ".repeat(10))),
        ] {
            let lines: Vec<String> = picker.lines(width, 6).iter().map(Line::text).collect();
            assert_eq!(lines[1], shown.replace("title  2", "title   2"));
            assert_eq!(lines[2], format!("  short  {note}"));
        }
    }

    #[test]
    fn numbers_are_those_of_what_the_filter_leaves() {
        let entries = vec![entry("tea", ""), entry("milk", ""), entry("green tea", "")];
        let picker = Picker::new("Model", entries, None).filtered("tea");
        assert_eq!(picker.numbered().len(), 3);
        assert_eq!(picker.nth("2").as_deref(), Some("green tea"));
        assert_eq!(picker.nth("3"), None);
    }

    #[test]
    fn what_the_server_found_follows_for_its_filter_only() {
        let mut picker = Picker::new("Threads", vec![entry("tea", ""), entry("milk", "")], None);
        picker.key(KeyEvent::from(KeyCode::Char('t')));
        picker.add("te", vec![entry("late", "")]);
        assert_eq!(picker.found().len(), 1, "it is of another filter");
        picker.add("t", vec![entry("tea", "a"), entry("milk", "with tea")]);
        let found: Vec<&str> = picker.found().iter().map(|entry| entry.value.as_str()).collect();
        assert_eq!(found, ["tea", "milk"]);
        picker.key(KeyEvent::from(KeyCode::Down));
        assert_eq!(
            picker.key(KeyEvent::from(KeyCode::Enter)),
            Step::Chosen("milk".to_owned())
        );
        picker.key(KeyEvent::from(KeyCode::Char('e')));
        assert_eq!(picker.found().len(), 1);
    }
}
