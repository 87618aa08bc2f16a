//! What the user sees. stdout may belong to the protocol, so nothing else in the server prints; the helper that holds commands
//! has a word of its own (`bobbin_sandbox::held`).
//!
//! Everything goes through [`visible()`]: text of models, files and servers can stand in any line. Only a script that reads
//! an answer from stdout gets it byte for byte.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use bobbin_model::{Lines, visible};
use serde::Serialize;

/// Writes a line to stdout.
pub(crate) fn say(line: &str) {
    // A closed terminal is no reason to fail.
    drop(writeln!(
        std::io::stdout().lock(),
        "{}",
        visible(line, Lines::One)
    ));
}

/// Writes a value to stdout as a line of JSON, which means the same to a program and paints nothing.
pub(crate) fn data(value: &impl Serialize) {
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

/// Writes text to stdout as it comes; to a program byte for byte.
pub(crate) fn stream(text: &str) {
    let mut out = std::io::stdout().lock();
    let shown = if out.is_terminal() {
        visible(text, Lines::Keep)
    } else {
        text.into()
    };
    drop(out.write_all(shown.as_bytes()));
    drop(out.flush());
}

/// Writes a line of progress to stderr.
pub(crate) fn note(line: &str) {
    drop(writeln!(
        std::io::stderr().lock(),
        "{}",
        visible(line, Lines::One)
    ));
}

/// Writes a question of several lines to stderr; the answer is typed behind it.
pub(crate) fn ask(question: &str) {
    let mut err = std::io::stderr().lock();
    drop(err.write_all(visible(question, Lines::Keep).as_bytes()));
    drop(err.flush());
}

/// Writes what went wrong to stderr, marked as ours.
pub(crate) fn complain(line: &str) {
    drop(writeln!(
        std::io::stderr().lock(),
        "bobbin: {}",
        visible(line, Lines::One)
    ));
}
