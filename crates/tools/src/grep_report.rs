//! The results of a search so far, up to its bounds.

use std::fmt::Write as _;
use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkMatch};

use super::walk::one_line;

/// Most matching lines reported.
const MAX_MATCHES: usize = 500;
/// Most bytes of one line shown.
const MAX_LINE_BYTES: usize = 400;
/// Bytes before the match in what is shown of a longer line.
const BEFORE: usize = 100;
/// Bytes of a report that stay free for what it says at its end.
const NOTE_BYTES: usize = 400;

/// Why a search stopped.
const TOO_MANY: &str = "too many matches, narrow the search";

/// Matching lines, as `path:line:text`.
#[derive(Debug)]
pub(super) struct Report {
    text: String,
    /// Most bytes of matching lines.
    max_bytes: usize,
    matches: usize,
    files: usize,
    /// Why there may be more matches.
    pub(super) stopped: Option<&'static str>,
    /// Files that could not be searched.
    pub(super) unreadable: usize,
    /// Hidden files and directories that were skipped.
    pub(super) hidden: usize,
}

impl Report {
    /// Returns an empty report of at most about `max_bytes` bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes: max_bytes.saturating_sub(NOTE_BYTES),
            matches: 0,
            files: 0,
            stopped: None,
            unreadable: 0,
            hidden: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.stopped.is_some()
    }

    /// Returns a collector for the matches of one file.
    pub(super) fn file<'a>(&'a mut self, shown: &'a str, matcher: &'a RegexMatcher) -> InFile<'a> {
        InFile {
            report: self,
            shown,
            matcher,
            any: false,
        }
    }

    pub(super) fn into_text(self) -> String {
        let Self {
            mut text,
            matches,
            files,
            stopped,
            unreadable,
            hidden,
            max_bytes: _,
        } = self;
        let plural =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        if matches == 0 {
            text.push_str("[no match");
        } else {
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "\n[{} in {}",
                plural(matches, "match", "matches"),
                plural(files, "file", "files")
            );
        }
        if let Some(why) = stopped {
            let _ = write!(text, "; stopped: {why}");
        }
        if unreadable > 0 {
            let _ = write!(
                text,
                "; {} could not be searched",
                plural(unreadable, "file", "files")
            );
        }
        if hidden > 0 {
            // Writing to a String cannot fail.
            let _ = write!(text, "; {hidden} hidden not looked at");
        }
        text.push(']');
        text
    }
}

/// Collects the matches of one file.
pub(super) struct InFile<'a> {
    report: &'a mut Report,
    shown: &'a str,
    matcher: &'a RegexMatcher,
    any: bool,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let report = &mut *self.report;
        let number = found.line_number().unwrap_or_default();
        // With its line end, `$` would match nowhere.
        let line = found.bytes().trim_ascii_end();
        let at = self.matcher.find(line).ok().flatten();
        let line = around(line, at.map_or(0, |at| at.start()));
        let line = format!("{}:{number}:{line}\n", self.shown);
        if report.text.len() + line.len() > report.max_bytes && report.matches > 0 {
            report.stopped = Some(TOO_MANY);
            return Ok(false);
        }
        report.text.push_str(&line);
        report.matches += 1;
        if !std::mem::replace(&mut self.any, true) {
            report.files += 1;
        }
        if report.matches >= MAX_MATCHES {
            report.stopped = Some(TOO_MANY);
        }
        Ok(report.stopped.is_none())
    }
}

/// Returns a line, or the part of a long one around its match with the column where that part begins.
fn around(line: &[u8], at: usize) -> String {
    if line.len() <= MAX_LINE_BYTES {
        return one_line(&String::from_utf8_lossy(line));
    }
    let begins = |at: &usize| line[*at] & 0b1100_0000 != 0b1000_0000;
    let wanted = at.saturating_sub(BEFORE).min(line.len() - MAX_LINE_BYTES);
    let first = (0..=wanted).rev().find(begins).unwrap_or(0);
    let end = first + MAX_LINE_BYTES;
    let last = (first..=end.min(line.len() - 1)).rev().find(begins);
    let last = if end >= line.len() {
        line.len()
    } else {
        last.unwrap_or(end)
    };
    let shown = one_line(&String::from_utf8_lossy(&line[first..last]));
    let column = line[..first]
        .iter()
        .filter(|byte| *byte & 0b1100_0000 != 0b1000_0000)
        .count()
        + 1;
    let (before, after) = (first > 0, last < line.len());
    format!(
        "{}{shown}{}{}",
        if before { "[…] " } else { "" },
        if after { " […]" } else { "" },
        if before {
            format!(" [column {column} on]")
        } else {
            String::new()
        },
    )
}
