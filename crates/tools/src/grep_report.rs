//! The results of a search so far, up to its bounds.

use std::fmt::Write as _;
use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};
use serde::Deserialize;

use super::walk::one_line;

/// Most matching lines reported.
const MAX_MATCHES: usize = 500;
/// Most bytes of one line shown.
const MAX_LINE_BYTES: usize = 400;
/// Bytes before the match in the shown part of a longer line.
const BEFORE: usize = 100;
/// Bytes of a report that stay free for the note at its end.
const NOTE_BYTES: usize = 400;

/// The form of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Shows {
    /// Matching lines, as `path:line:text`. Lines around them have `-` for `:`.
    #[default]
    Lines,
    /// The files that have matches.
    Files,
    /// The files that have matches, each with the number of its matching lines.
    Counts,
}

/// The results of a search: lines, or files.
#[derive(Debug)]
pub(super) struct Report {
    shows: Shows,
    /// How many of the first results to skip.
    offset: usize,
    /// How many results were skipped.
    passed: usize,
    text: String,
    /// Most bytes of results.
    max_bytes: usize,
    matches: usize,
    files: usize,
    /// Whether it has no room for more.
    full: bool,
    /// Why there may be more matches.
    pub(super) stopped: Option<&'static str>,
    /// Files that could not be searched.
    pub(super) unreadable: usize,
    /// Hidden files and directories that were skipped.
    pub(super) hidden: usize,
}

impl Report {
    /// Returns an empty report of at most about `max_bytes` bytes, without the first `offset` results.
    pub(super) fn new(shows: Shows, offset: usize, max_bytes: usize) -> Self {
        Self {
            shows,
            offset,
            passed: 0,
            full: false,
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
        self.full
    }

    /// Adds one result, or skips it. Returns whether it was added, skipped or did not fit.
    fn add(&mut self, result: &str) -> Added {
        if self.passed < self.offset {
            self.passed += 1;
            return Added::Passed;
        }
        if self.text.len() + result.len() > self.max_bytes && self.matches > 0 {
            self.full = true;
            return Added::Full;
        }
        self.text.push_str(result);
        self.matches += 1;
        self.full = self.matches >= MAX_MATCHES;
        Added::Shown
    }

    /// Returns a collector for the matches of one file.
    pub(super) fn file<'a>(&'a mut self, shown: &'a str, matcher: &'a RegexMatcher) -> InFile<'a> {
        InFile {
            report: self,
            shown,
            matcher,
            any: false,
            count: 0,
        }
    }

    pub(super) fn into_text(self) -> String {
        let Self {
            shows,
            offset: _,
            passed,
            full,
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
        let results = match shows {
            Shows::Lines => plural(matches, "match", "matches"),
            Shows::Files | Shows::Counts => plural(matches, "file", "files"),
        };
        // Writing to a String cannot fail.
        let _ = match (matches, passed) {
            (0, 0) => write!(text, "[no match"),
            (0, _) => write!(text, "[nothing behind the first {passed}"),
            _ if shows == Shows::Lines => {
                write!(text, "\n[{results} in {}", plural(files, "file", "files"))
            }
            _ => write!(text, "\n[{results} with matches"),
        };
        if matches > 0 && passed > 0 {
            let _ = write!(text, ", behind the first {passed}");
        }
        if full {
            let next = passed + matches;
            let _ = write!(
                text,
                "; stopped: too many, narrow the search or go on with offset {next}"
            );
        } else if let Some(why) = stopped {
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
    /// Its matching lines so far.
    count: usize,
}

/// The outcome of adding a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Added {
    Shown,
    Passed,
    Full,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let report = &mut *self.report;
        match report.shows {
            Shows::Lines => {}
            Shows::Files => {
                report.add(&format!("{}\n", self.shown));
                return Ok(false);
            }
            Shows::Counts => {
                self.count += 1;
                return Ok(true);
            }
        }
        let number = found.line_number().unwrap_or_default();
        // With its line end, `$` would match nowhere.
        let line = found.bytes().trim_ascii_end();
        let at = self.matcher.find(line).ok().flatten();
        let line = around(line, at.map_or(0, |at| at.start()));
        let line = format!("{}:{number}:{line}\n", self.shown);
        if report.add(&line) == Added::Shown && !std::mem::replace(&mut self.any, true) {
            report.files += 1;
        }
        Ok(!report.full)
    }

    fn context(&mut self, _searcher: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        let report = &mut *self.report;
        // Context of a skipped line is skipped too.
        let is_of_passed = match around.kind() {
            SinkContextKind::Before => report.passed < report.offset,
            _ => !self.any,
        };
        if report.shows != Shows::Lines || is_of_passed {
            return Ok(true);
        }
        let number = around.line_number().unwrap_or_default();
        let line = self::around(around.bytes().trim_ascii_end(), 0);
        let line = format!("{}-{number}-{line}\n", self.shown);
        if report.text.len() + line.len() <= report.max_bytes {
            report.text.push_str(&line);
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        if self.any {
            self.report.text.push_str("--\n");
        }
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, _: &SinkFinish) -> Result<(), io::Error> {
        if self.count > 0 {
            self.report.add(&format!("{}: {}\n", self.shown, self.count));
        }
        Ok(())
    }
}

/// Returns a line, or the part of a long line around its match, with the part's first column.
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
