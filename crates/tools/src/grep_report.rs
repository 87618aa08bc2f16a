//! The results of a search so far, up to its bounds.

use std::fmt::Write as _;
use std::io;

use grep_searcher::{Searcher, Sink, SinkMatch};

use super::walk::one_line;
use bobbin_agent_api::cut::head;

/// Most matching lines reported.
const MAX_MATCHES: usize = 500;
/// Most bytes of one line shown.
const MAX_LINE_BYTES: usize = 400;
/// Most bytes reported.
const MAX_BYTES: usize = 64 << 10;

/// Matching lines, as `path:line:text`.
#[derive(Debug, Default)]
pub(super) struct Report {
    text: String,
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
    pub(super) fn is_full(&self) -> bool {
        self.stopped.is_some()
    }

    /// Returns a collector for the matches of one file.
    pub(super) fn file<'a>(&'a mut self, shown: &'a str) -> InFile<'a> {
        InFile {
            report: self,
            shown,
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
    any: bool,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let report = &mut *self.report;
        let line = String::from_utf8_lossy(found.bytes());
        let line = one_line(line.trim_end());
        let (line, whole) = head(&line, MAX_LINE_BYTES);
        let number = found.line_number().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(
            report.text,
            "{}:{number}:{line}{}",
            self.shown,
            if whole { "" } else { " […]" }
        );
        report.matches += 1;
        if !std::mem::replace(&mut self.any, true) {
            report.files += 1;
        }
        if report.matches >= MAX_MATCHES || report.text.len() >= MAX_BYTES {
            report.stopped = Some("too many matches, narrow the search");
        }
        Ok(report.stopped.is_none())
    }
}
