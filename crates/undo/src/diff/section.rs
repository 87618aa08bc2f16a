//! One file's part of the diff.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bobbin_model::FileChange;
use bobbin_model::turn::FileChangeStatus;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::lines::lines;
use crate::objects::{Digest, ObjectKind};

/// Unchanged lines shown around a change (as in git).
const CONTEXT_LINES: usize = 3;
/// Time after which a file's diff is allowed to be longer than needed.
const MAX_TIME: Duration = Duration::from_millis(300);

/// The part of the diff for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// Header and hunks, or a note about binary content.
    pub(super) text: Arc<str>,
    /// The file's entry.
    pub(super) change: FileChange,
}

/// Returns the section of a file, or `None` if the file is unchanged. `path` is relative to the workspace, or absolute
/// for a file outside of it.
pub(super) fn section(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<Section> {
    if before == after {
        return None;
    }
    let status = match (before, after) {
        (None, _) => FileChangeStatus::Added,
        (_, None) => FileChangeStatus::Deleted,
        _ => FileChangeStatus::Modified,
    };
    let mut change = FileChange {
        path: path.to_owned(),
        old_path: None,
        status,
        additions: 0,
        deletions: 0,
    };
    let mut text = head(path, status);
    write_content(&mut text, &mut change, [path, path], before, after);
    Some(Section {
        text: text.into(),
        change,
    })
}

/// Returns the lines before a file's ids, in git's form. The mode is that of a usual file.
fn head(path: &str, status: FileChangeStatus) -> String {
    let [old, new] = ["a/", "b/"].map(|prefix| named(prefix, path));
    let mode = match status {
        FileChangeStatus::Added => "new file mode 100644\n",
        FileChangeStatus::Deleted => "deleted file mode 100644\n",
        FileChangeStatus::Modified | FileChangeStatus::Renamed => "",
    };
    format!("diff --git {old} {new}\n{mode}")
}

/// Writes the ids, the names and the hunks.
fn write_content(
    text: &mut String,
    change: &mut FileChange,
    [old_path, path]: [&str; 2],
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) {
    let id = |content: Option<&[u8]>| {
        content.map_or_else(
            || "0".repeat(40),
            |content| Digest::of(ObjectKind::Blob, content).to_string(),
        )
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "index {}..{}", id(before), id(after));
    let (old_name, _) = names(old_path, change.status);
    let (_, new_name) = names(path, change.status);
    let (Some(old), Some(new)) = (as_text(before), as_text(after)) else {
        let _ = writeln!(text, "Binary files {old_name} and {new_name} differ");
        return;
    };
    // As in git, an empty file has no names.
    if !(old.is_empty() && new.is_empty()) {
        let _ = write!(text, "--- {old_name}\n+++ {new_name}\n");
        write_hunks(text, change, &lines(old), &lines(new));
    }
}

/// Returns the section of a file whose old or new content is too large for the diff.
pub(super) fn omitted(path: &str, status: FileChangeStatus) -> Section {
    let (old_name, new_name) = names(path, status);
    Section {
        text: format!(
            "{}Binary files {old_name} and {new_name} differ\n",
            head(path, status)
        )
        .into(),
        change: FileChange {
            path: path.to_owned(),
            old_path: None,
            status,
            additions: 0,
            deletions: 0,
        },
    }
}

/// Returns the section of a renamed file; `alike` is the percentage of common lines.
pub(super) fn renamed(old_path: &str, path: &str, before: &[u8], after: &[u8], alike: u32) -> Section {
    let mut change = FileChange {
        path: path.to_owned(),
        old_path: Some(old_path.to_owned()),
        status: FileChangeStatus::Renamed,
        additions: 0,
        deletions: 0,
    };
    let mut text = format!(
        "diff --git {} {}\nsimilarity index {alike}%\nrename from {}\nrename to {}\n",
        named("a/", old_path),
        named("b/", path),
        quoted(old_path),
        quoted(path)
    );
    if before != after {
        write_content(
            &mut text,
            &mut change,
            [old_path, path],
            Some(before),
            Some(after),
        );
    }
    Section {
        text: text.into(),
        change,
    }
}

fn names(path: &str, status: FileChangeStatus) -> (String, String) {
    let named = |prefix| named(prefix, path);
    let nothing = || "/dev/null".to_owned();
    match status {
        FileChangeStatus::Added => (nothing(), named("b/")),
        FileChangeStatus::Modified | FileChangeStatus::Renamed => (named("a/"), named("b/")),
        FileChangeStatus::Deleted => (named("a/"), nothing()),
    }
}

fn named(prefix: &str, path: &str) -> String {
    // A path outside the workspace is shown unchanged.
    let prefix = if path.starts_with('/') { "" } else { prefix };
    quoted(&format!("{prefix}{path}"))
}

/// Quotes a path as git does if it would break the header line.
fn quoted(path: &str) -> String {
    if !path.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        return path.to_owned();
    }
    let mut text = String::from('"');
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            // Writing to a String cannot fail.
            c if c.is_ascii_control() => drop(write!(text, "\\{:03o}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Returns content as text; a missing file is an empty one.
fn as_text(content: Option<&[u8]>) -> Option<&str> {
    let content = content.unwrap_or_default();
    if content.contains(&0) {
        None
    } else {
        std::str::from_utf8(content).ok()
    }
}

fn write_hunks(text: &mut String, change: &mut FileChange, old: &[&str], new: &[&str]) {
    let deadline = Instant::now() + MAX_TIME;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    for hunk in group_diff_ops(ops, CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "@@ -{} +{} @@", span(&old_range), span(&new_range));
        for op in &hunk {
            if let DiffOp::Equal { .. } = op {
                write_lines(text, ' ', &old[op.old_range()]);
            } else {
                change.deletions += write_lines(text, '-', &old[op.old_range()]);
                change.additions += write_lines(text, '+', &new[op.new_range()]);
            }
        }
    }
}

/// Returns a range of lines in the form of a hunk header: an empty one names the line before it.
fn span(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

fn write_lines(text: &mut String, mark: char, lines: &[&str]) -> u64 {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
    lines.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the section of a file `x` without its first line and its ids.
    fn text(before: Option<&str>, after: Option<&str>) -> String {
        let section = section("x", before.map(str::as_bytes), after.map(str::as_bytes));
        let Some(section) = section else {
            return String::new();
        };
        let rest = section.text.strip_prefix("diff --git a/x b/x\n").unwrap();
        let is_id = |line: &&str| line.starts_with("index ");
        rest.split_inclusive('\n').filter(|line| !is_id(line)).collect()
    }

    fn numbered(range: std::ops::RangeInclusive<u64>, line: impl Fn(u64) -> u64) -> String {
        let lines: Vec<String> = range.map(|n| line(n).to_string()).collect();
        lines.join("\n") + "\n"
    }

    #[test]
    fn a_change_is_shown_as_the_protocol_shows_it() {
        let section = section("boil.txt", Some(b"90\n"), Some(b"100\n")).unwrap();
        assert_eq!(
            &*section.text,
            "diff --git a/boil.txt b/boil.txt\n\
             index d61f00d8cad3920809f4d992ac3031b3f32e7f10..29d6383b52c1352e92a45875b5bb206f89139643\n\
             --- a/boil.txt\n+++ b/boil.txt\n@@ -1 +1 @@\n-90\n+100\n"
        );
        assert_eq!((section.change.additions, section.change.deletions), (1, 1));
    }

    #[test]
    fn files_come_and_go_against_nothing() {
        assert_eq!(
            text(None, Some("a\nb\n")),
            "new file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        );
        assert_eq!(
            text(Some("a\n"), None),
            "deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        );
        assert_eq!(text(None, Some("")), "new file mode 100644\n");
        assert_eq!(text(Some("same"), Some("same")), "");
    }

    #[test]
    fn a_missing_last_newline_is_marked() {
        assert_eq!(
            text(Some("a"), Some("a\n")),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
    }

    #[test]
    fn context_is_three_lines_and_far_changes_are_two_hunks() {
        let old = numbered(1..=20, |n| n);
        let new = old.replace("2\n3\n", "2\nx\n").replace("18\n", "y\n");
        let text = text(Some(&old), Some(&new));
        assert!(
            text.contains("@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+x\n 4\n 5\n 6\n@@ -15,6 +15,6 @@\n 15\n"),
            "{text}"
        );
    }

    #[test]
    fn binary_content_is_a_note() {
        let section = section("x", Some(b"a\0"), Some(b"b")).unwrap();
        assert!(section.text.ends_with("\nBinary files a/x and b/x differ\n"));
    }

    #[test]
    fn odd_names_are_quoted_and_outside_ones_are_absolute() {
        let odd = section("a\n\"b", None, Some(b"")).unwrap();
        let name = "a\\n\\\"b\"\n";
        assert!(
            odd.text
                .starts_with(&format!("diff --git \"a/a\\n\\\"b\" \"b/{name}")),
            "{}",
            odd.text
        );
        let outside = section("/etc/x", Some(b""), Some(b"a\n")).unwrap();
        assert!(outside.text.contains("\n--- /etc/x\n+++ /etc/x\n"));
    }

    #[test]
    fn huge_inputs_do_not_take_for_ever() {
        let old = numbered(0..=60_000, |n| n * 7919 % 65_537);
        let new = numbered(0..=60_000, |n| n * 104_729 % 65_537);
        let began = Instant::now();
        assert!(!text(Some(&old), Some(&new)).is_empty());
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
