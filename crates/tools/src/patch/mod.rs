//! Patches as models write them, over several files. Pure: text in, what each file becomes out.
//!
//! Two forms are read: the one that begins with `*** Begin Patch`, and unified diffs, git's headers included. Both
//! become [`FilePatch`]es; [`place`] finds where a hunk belongs, more tolerantly than `patch` where only blanks differ,
//! and never where two places fit equally. A patch that cannot be read or placed is an error that says which part and
//! why, fit for a model. Bounded by [`MAX_PATCH_BYTES`] and [`MAX_FILES`].

mod begin;
mod place;
mod unified;

pub(crate) use place::patched;

/// Longest patch.
pub(crate) const MAX_PATCH_BYTES: usize = 1 << 20;
/// Most files in one.
const MAX_FILES: usize = 200;

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The file, as the patch names it.
    pub(crate) path: String,
    /// What happens to it.
    pub(crate) action: Action,
}

/// What happens to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is made, with this content.
    Add(String),
    /// It goes.
    Delete,
    /// Its content changes, and its name where there is another.
    Update {
        /// The new name.
        to: Option<String>,
        /// The changes, in the order of the file.
        hunks: Vec<Hunk>,
    },
}

/// One place of a file that changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hunk {
    /// Lines that stand above it, outermost first: what follows `@@` in the first form.
    pub(crate) anchors: Vec<String>,
    /// Line, from 1, at which it was when the patch was made: in a unified diff.
    pub(crate) line: Option<usize>,
    /// Its lines, without line ends.
    pub(crate) lines: Vec<(Mark, String)>,
    /// It ends with the file.
    pub(crate) at_end: bool,
    /// The file ends without a line end behind it.
    pub(crate) no_newline: bool,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It comes.
    Add,
}

/// Reads a patch of either form.
///
/// # Errors
/// It is none; the sentence says where and why.
pub(crate) fn read(text: &str) -> Result<Vec<FilePatch>, String> {
    if text.len() > MAX_PATCH_BYTES {
        return Err(format!(
            "a patch has at most {MAX_PATCH_BYTES} bytes; make several"
        ));
    }
    let lines: Vec<&str> = text.lines().collect();
    let files = match lines.iter().position(|line| line.trim() == begin::BEGIN) {
        Some(at) => begin::read(&lines[at + 1..])?,
        None => unified::read(&lines)?,
    };
    match files.len() {
        0 => Err(
            "the patch changes no file; it begins with \"*** Begin Patch\", or is a unified diff with --- and +++ lines"
                .to_owned(),
        ),
        count if count > MAX_FILES => Err(format!("a patch changes at most {MAX_FILES} files; make several")),
        _ => Ok(files),
    }
}

#[cfg(test)]
mod tests;
