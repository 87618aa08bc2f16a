//! The preview of one call's change of one file, for the user's approval.

use std::path::Path;

use bobbin_model::CallPreview;

use super::section::section;

/// Most bytes of hunks (guess: more than users read before they approve); the rest is cut at a line.
const MAX_BYTES: usize = 64 << 10;

/// Returns the preview of a change, or `None` when nothing would change.
pub fn preview(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Option<CallPreview> {
    let path = path.to_string_lossy();
    let section = section(&path, before, Some(after))?;
    // Binary content has none.
    let hunks = section
        .text
        .find("\n@@ ")
        .map_or("", |at| &section.text[at + 1..]);
    let diff = if hunks.len() > MAX_BYTES {
        let end = hunks[..hunks.floor_char_boundary(MAX_BYTES)].rfind('\n');
        &hunks[..end.unwrap_or(0)]
    } else {
        hunks.trim_end_matches('\n')
    };
    Some(CallPreview {
        path: path.into_owned(),
        diff: diff.to_owned(),
        additions: section.change.additions,
        deletions: section.change.deletions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_hunks_without_names() {
        let path = Path::new("/srv/@@tea");
        let found = preview(path, None, b"hot\n").unwrap();
        assert_eq!((found.additions, found.deletions), (1, 0));
        assert_eq!(found.diff, "@@ -0,0 +1 @@\n+hot");
        let changed = preview(path, Some(b"a\nb\n"), b"a\nc\n").unwrap();
        assert_eq!(changed.diff, "@@ -1,2 +1,2 @@\n a\n-b\n+c");
        assert_eq!(preview(path, Some(b"a"), b"a"), None);
        assert_eq!(preview(path, Some(b"\0"), b"a").unwrap().diff, "");
    }

    #[test]
    fn a_long_one_is_cut_at_a_line_and_counts_all() {
        let after = "some words\n".repeat(20_000);
        let found = preview(Path::new("/x"), None, after.as_bytes()).unwrap();
        assert!(found.diff.len() <= MAX_BYTES && found.diff.ends_with("+some words"));
        assert_eq!(found.additions, 20_000);
    }
}
