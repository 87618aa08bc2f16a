//! The newest lines that the adapter of a channel has written, without secrets.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Most lines of a channel. A line has at most 1 KiB, so a channel has at most 1 MiB.
pub(crate) const MAX_LINES: usize = 1000;
/// Longest line; the rest of it is dropped.
const MAX_LINE: usize = 1024;
/// Shortest value that is masked: a shorter one is part of any text.
const SHORTEST: usize = 4;
/// The text that replaces a secret.
const MASK: &str = "***";

/// The lines, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<VecDeque<String>>>);

impl Logs {
    /// Returns a sink for lines that masks these values.
    pub(crate) fn sink(&self, secrets: Vec<String>) -> impl FnMut(&str) + Send + 'static {
        let lines = self.0.clone();
        move |line| {
            let is_long = |secret: &&String| secret.len() >= SHORTEST;
            let mut line = line.to_owned();
            for secret in secrets.iter().filter(is_long) {
                line = line.replace(secret.as_str(), MASK);
            }
            line.truncate(line.floor_char_boundary(MAX_LINE));
            let mut lines = lines.lock();
            if lines.len() == MAX_LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    /// Returns the newest lines, oldest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<String> {
        let lines = self.0.lock();
        lines
            .iter()
            .skip(lines.len().saturating_sub(count))
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_stay_without_secrets() {
        let logs = Logs::default();
        let mut sink = logs.sink(vec!["sesame".to_owned(), "7".to_owned()]);
        for line in 0..MAX_LINES + 2 {
            sink(&format!("line {line}, the word is sesame"));
        }
        let newest = logs.newest(2);
        assert_eq!(
            newest,
            ["line 1000, the word is ***", "line 1001, the word is ***"]
        );
        assert_eq!(logs.newest(usize::MAX).len(), MAX_LINES);
        sink(&"é".repeat(MAX_LINE));
        assert!(logs.newest(1)[0].len() <= MAX_LINE);
    }
}
