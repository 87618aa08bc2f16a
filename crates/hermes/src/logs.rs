//! The log of an extension: its lines on standard error, and events of its life.
//!
//! In memory only, since lines may contain data of patients. Bounded by [`MAX_ENTRIES`].

use std::collections::VecDeque;

use bobbin_model::UnixMillis;
use schemars::JsonSchema;
use serde::Serialize;

/// The most entries of an extension.
pub(crate) const MAX_ENTRIES: usize = 1000;

/// Severity of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "HermesLogLevel")]
pub enum Level {
    /// An error.
    Error,
    /// A warning.
    Warn,
    /// Anything else.
    Info,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogRecord {
    /// Its number, from 1 on.
    pub number: u64,
    /// When it was written.
    pub timestamp: UnixMillis,
    /// Its severity.
    pub level: Level,
    /// The text.
    pub message: String,
}

/// The last entries.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    records: VecDeque<LogRecord>,
    written: u64,
}

impl Ring {
    /// Adds an entry and returns it.
    pub(crate) fn push(&mut self, timestamp: UnixMillis, level: Level, message: String) -> LogRecord {
        if self.records.len() == MAX_ENTRIES {
            self.records.pop_front();
        }
        self.written += 1;
        let record = LogRecord {
            number: self.written,
            timestamp,
            level,
            message,
        };
        self.records.push_back(record.clone());
        record
    }

    /// Returns up to `limit` entries, oldest first: the first entries after the number `after`, or the last entries.
    pub(crate) fn read(&self, after: Option<u64>, limit: usize) -> Vec<LogRecord> {
        let skip = match after {
            Some(after) => self.records.partition_point(|record| record.number <= after),
            None => self.records.len().saturating_sub(limit),
        };
        self.records.iter().skip(skip).take(limit).cloned().collect()
    }
}

/// Names of levels at the start of a line.
const NAMES: [(&str, Level); 4] = [
    ("ERROR", Level::Error),
    ("WARNING", Level::Warn),
    ("WARN", Level::Warn),
    ("INFO", Level::Info),
];

/// Returns the level at the start of a line, as `[ERROR]` or `ERROR:` in upper or lower case, and the rest of the line.
pub(crate) fn level(line: &str) -> (Level, &str) {
    for (name, level) in NAMES {
        for (open, close) in [("[", "]"), ("", ":")] {
            let rest = line.strip_prefix(open).and_then(|rest| {
                let (word, rest) = rest.split_at_checked(name.len())?;
                let same_case = word == name || word == name.to_lowercase();
                rest.strip_prefix(close).filter(|_| same_case)
            });
            if let Some(rest) = rest {
                return (level, rest.trim_start());
            }
        }
    }
    (Level::Info, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaviour_60_a_level_is_read_from_the_start_of_a_line() {
        for (line, read) in [
            ("[ERROR] no", (Level::Error, "no")),
            ("error: no", (Level::Error, "no")),
            ("[warn]no", (Level::Warn, "no")),
            ("WARNING: no", (Level::Warn, "no")),
            ("[WARNING] no", (Level::Warn, "no")),
            ("INFO:", (Level::Info, "")),
            ("[info] no", (Level::Info, "no")),
            ("Error: no", (Level::Info, "Error: no")),
            ("ERROR no", (Level::Info, "ERROR no")),
            ("[ERROR: no", (Level::Info, "[ERROR: no")),
            ("ERRÖR", (Level::Info, "ERRÖR")),
        ] {
            assert_eq!(level(line), read, "{line}");
        }
    }

    #[test]
    fn behaviour_61_the_ring_has_the_last_thousand_entries() {
        let mut ring = Ring::default();
        for number in 0..1500 {
            ring.push(UnixMillis(number), Level::Info, number.to_string());
        }
        let texts = |records: Vec<LogRecord>| -> Vec<String> {
            records.into_iter().map(|record| record.message).collect()
        };
        assert_eq!(ring.read(None, 5000).len(), MAX_ENTRIES);
        assert_eq!(texts(ring.read(None, 2)), ["1498", "1499"]);
        // A cursor that was overtaken goes on with the oldest entry.
        assert_eq!(texts(ring.read(Some(3), 2)), ["500", "501"]);
        assert_eq!(texts(ring.read(Some(1499), 9)), ["1499"]);
        assert!(ring.read(Some(1500), 9).is_empty());
    }
}
