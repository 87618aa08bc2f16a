//! Patches over several files, as models write them. Pure: maps text to the new content of each file.
//!
//! The module reads two forms: `*** Begin Patch`, and unified diffs, including git's headers. Both become
//! [`FilePatch`]es. [`place`] finds the place of a hunk. It accepts differences in blanks that `patch` refuses, but never
//! chooses between two places that fit equally. If a patch cannot be read or placed, the error for the model names the part
//! and the reason. Bounded by [`MAX_PATCH_BYTES`] and [`MAX_FILES`].

mod envelope;
mod place;
mod unified;

pub(crate) use place::patched;

/// Longest patch.
pub(crate) const MAX_PATCH_BYTES: usize = 1 << 20;
/// Most files in one patch.
const MAX_FILES: usize = 200;

/// The part of a patch for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The file, as the patch names it.
    pub(crate) path: String,
    /// The change.
    pub(crate) action: Action,
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Creates it with this content.
    Add(String),
    /// Deletes it.
    Delete,
    /// Changes its content, and its name if `to` is set.
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
    /// Earlier lines of the file, outermost first: the text after `@@` in the first form.
    pub(crate) anchors: Vec<String>,
    /// Line, from 1, at which the hunk was when the patch was made; unified diffs only.
    pub(crate) line: Option<usize>,
    /// Its lines, without line ends.
    pub(crate) lines: Vec<(Mark, String)>,
    /// The hunk ends with the file.
    pub(crate) at_end: bool,
    /// The file ends without a line end.
    pub(crate) no_newline: bool,
}

/// A change of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The line stays.
    Context,
    /// The line is removed.
    Remove,
    /// The line is added.
    Add,
}

/// Returns the files that a patch changes, the new names of renamed ones too; none if it cannot be read.
pub fn patch_paths(text: &str) -> Vec<String> {
    let files = read(text).unwrap_or_default().into_iter();
    let names = files.flat_map(|file| {
        let to = match file.action {
            Action::Update { to, .. } => to,
            Action::Add(_) | Action::Delete => None,
        };
        std::iter::once(file.path).chain(to)
    });
    names.collect()
}

/// Reads a patch of either form.
///
/// # Errors
/// The text is no patch; the sentence names the place and the reason.
pub(crate) fn read(text: &str) -> Result<Vec<FilePatch>, String> {
    if text.len() > MAX_PATCH_BYTES {
        return Err(format!(
            "a patch has at most {MAX_PATCH_BYTES} bytes; make several"
        ));
    }
    let lines: Vec<&str> = text.lines().collect();
    let files = match lines.iter().position(|line| line.trim() == envelope::FIRST) {
        Some(at) => envelope::read(&lines[at + 1..])?,
        None => unified::read(&lines)?,
    };
    match files.len() {
        0 => Err(
            "the patch changes no file; it starts with \"*** Begin Patch\", or is a unified diff with --- and +++ lines"
                .to_owned(),
        ),
        count if count > MAX_FILES => Err(format!("a patch changes at most {MAX_FILES} files; make several")),
        _ => Ok(files),
    }
}

#[cfg(test)]
mod tests;
