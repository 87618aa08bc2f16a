//! All file changes of a Turn as one unified diff (AppServer protocol 03 §9).
//!
//! Follows the files that tools report as changed, and those that a snapshot found changed by a command. The diff leads
//! from the content before the Turn's first change to the content after its last. One [`changes::Changes`] belongs to
//! one run of a Turn; a Turn resumed after a crash recovers the old contents from the recorded diff.
//!
//! Bounds: [`changes::MAX_DIFF_BYTES`] of diff, [`changes::MAX_STORED_BYTES`] of old contents, a deadline per file.

mod changes;
mod lines;
mod patch;
mod preview;
mod rename;
mod section;

pub use changes::Changes;
pub use preview::preview;

/// Returns the diff between two texts of one file; `None` if they are the same.
pub fn unified(path: &str, before: &str, after: &str) -> Option<String> {
    section::section(path, Some(before.as_bytes()), Some(after.as_bytes()))
        .map(|section| section.text.to_string())
}
