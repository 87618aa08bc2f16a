//! Cuts text into lines at `\n` only: a lone `\r` is part of its line, as for `patch` and git.

/// Returns the lines, each with its `\n`; the last may have none.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
