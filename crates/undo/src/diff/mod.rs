//! All file changes of a Turn as one unified diff (AppServer protocol 03 §9).
//!
//! Follows the files that tools say they changed, and those that a snapshot saw changed by a command, each from its
//! content before the Turn's first change of it to its content after the last. One [`changes::Changes`] belongs to one run of a Turn; a Turn that is taken up after a crash gets the old
//! contents back out of the recorded diff.
//!
//! Bounds: [`changes::MAX_DIFF_BYTES`] of diff, [`changes::MAX_KEPT_BYTES`] of old contents, a deadline per file.

mod changes;
mod lines;
mod patch;
mod preview;
mod rename;
mod section;

pub use changes::Changes;
pub use preview::preview;

/// Returns the diff of one file's texts; `None` when they are the same.
pub fn unified(path: &str, before: &str, after: &str) -> Option<String> {
    section::section(path, Some(before.as_bytes()), Some(after.as_bytes()))
        .map(|section| section.text.to_string())
}
