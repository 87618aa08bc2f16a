//! What a person sees. stdout may belong to the protocol, so nothing else in the server prints; the helper that holds commands
//! has a word of its own (`bobbin_sandbox::held`).

use std::io::Write;

/// Writes a line to stdout.
pub(crate) fn say(line: &str) {
    // A closed terminal is no reason to fail.
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

/// Writes text to stdout as it comes.
pub(crate) fn stream(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}

/// Writes a line of progress to stderr.
pub(crate) fn note(line: &str) {
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

/// Writes what went wrong to stderr, marked as ours.
pub(crate) fn complain(line: &str) {
    drop(writeln!(std::io::stderr().lock(), "bobbin: {line}"));
}
