//! The change of a file as the protocol shows it: texts before and after, one pair for each hunk. Pure.

use bobbin_acp_wire::{Location, ToolCallContent};
use bobbin_model::CallPreview;

/// Returns the parts of a call's content that show its change of a file, and the places of the change.
///
/// A preview has hunks only, so the texts are those of the hunks, with their context. The texts of a new file are whole.
pub(super) fn shown(preview: &CallPreview) -> (Vec<ToolCallContent>, Vec<Location>) {
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    let mut hunk: Option<Hunk> = None;
    for line in preview.diff.split_inclusive('\n') {
        if let Some(start) = line.strip_prefix("@@ ") {
            parts.extend(hunk.take().map(|hunk| hunk.part(&preview.path)));
            let next = Hunk::at(start);
            places.push(Location {
                path: preview.path.clone(),
                line: Some(next.line),
            });
            hunk = Some(next);
        } else if let Some(hunk) = &mut hunk {
            hunk.line(line);
        }
    }
    parts.extend(hunk.map(|hunk| hunk.part(&preview.path)));
    if places.is_empty() {
        places.push(Location {
            path: preview.path.clone(),
            line: None,
        });
    }
    (parts, places)
}

/// One hunk so far.
struct Hunk {
    /// The first line after the change, from 1.
    line: u32,
    /// Whether there was no text before.
    is_new: bool,
    old: String,
    new: String,
    /// The sides of the last line: before, after.
    last: (bool, bool),
}

impl Hunk {
    /// Starts a hunk from its head without the `@@ `, such as `-1,2 +1,3 @@`.
    fn at(head: &str) -> Self {
        let mut words = head.split(' ');
        let (old, new) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let first = |range: &str| range.split(',').next().and_then(|line| line.parse().ok());
        let line: u32 = new.strip_prefix('+').and_then(first).unwrap_or(1);
        Self {
            line: line.max(1),
            is_new: old == "-0,0",
            old: String::new(),
            new: String::new(),
            last: (false, false),
        }
    }

    fn line(&mut self, line: &str) {
        let (sides, text) = match line.as_bytes().first() {
            Some(b'-') => ((true, false), &line[1..]),
            Some(b'+') => ((false, true), &line[1..]),
            Some(b' ') => ((true, true), &line[1..]),
            // "No newline at end of file" is about the line before it.
            Some(b'\\') => return self.without_end(),
            _ => ((true, true), line),
        };
        // The last line of a diff may come without its end.
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{text}{end}");
        if sides.0 {
            self.old.push_str(&text);
        }
        if sides.1 {
            self.new.push_str(&text);
        }
        self.last = sides;
    }

    fn without_end(&mut self) {
        let cut = |text: &mut String| {
            if text.ends_with('\n') {
                text.pop();
            }
        };
        if self.last.0 {
            cut(&mut self.old);
        }
        if self.last.1 {
            cut(&mut self.new);
        }
    }

    fn part(self, path: &str) -> ToolCallContent {
        ToolCallContent::Diff {
            path: path.to_owned(),
            old_text: (!self.is_new).then_some(self.old),
            new_text: self.new,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(diff: &str) -> (Vec<ToolCallContent>, Vec<Location>) {
        shown(&CallPreview {
            path: "/w/a.txt".to_owned(),
            diff: diff.to_owned(),
            additions: 0,
            deletions: 0,
        })
    }

    fn part(old: Option<&str>, new: &str) -> ToolCallContent {
        ToolCallContent::Diff {
            path: "/w/a.txt".to_owned(),
            old_text: old.map(str::to_owned),
            new_text: new.to_owned(),
        }
    }

    fn place(line: Option<u32>) -> Location {
        Location {
            path: "/w/a.txt".to_owned(),
            line,
        }
    }

    #[test]
    fn each_hunk_is_a_pair_of_texts_with_its_place() {
        let (parts, places) = of("@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n@@ -9 +9,2 @@\n nine\n+ten\n");
        assert_eq!(
            parts,
            [
                part(Some("one\ntwo\n"), "one\nzwei\n"),
                part(Some("nine\n"), "nine\nten\n")
            ]
        );
        assert_eq!(places, [place(Some(1)), place(Some(9))]);
    }

    #[test]
    fn a_new_file_has_no_text_before() {
        let (parts, places) = of("@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n");
        assert_eq!(parts, [part(None, "one\ntwo")]);
        assert_eq!(places, [place(Some(1))]);
    }

    #[test]
    fn a_line_without_an_end_is_cut_on_its_own_side() {
        let (parts, _) = of("@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+one\n");
        assert_eq!(parts, [part(Some("one"), "one\n")]);
    }

    #[test]
    fn the_last_line_of_a_diff_has_its_end() {
        let (parts, _) = of("@@ -0,0 +1 @@\n+one");
        assert_eq!(parts, [part(None, "one\n")]);
    }

    #[test]
    fn a_file_that_is_no_text_is_only_named() {
        assert_eq!(of(""), (Vec::new(), vec![place(None)]));
    }
}
