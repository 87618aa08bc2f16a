//! Parses a recorded diff: splits it into sections by file, and reverts a section on a file.
//!
//! Reads only the output of `section`. Anything else, and any content that does not fit, is `None`.

use super::lines::lines;

/// Splits a diff into sections, one per changed file.
pub(super) fn split(diff: &str) -> Option<Vec<&str>> {
    let mut sections = Vec::new();
    let mut rest = diff;
    while !rest.is_empty() {
        let length = section_length(rest)?;
        let (section, more) = rest.split_at(length);
        sections.push(section);
        rest = more;
    }
    Some(sections)
}

/// Returns the length of the first section of `text`, in bytes.
fn section_length(text: &str) -> Option<usize> {
    let mut length = head(text)?;
    let all = lines(&text[length..]);
    let mut at = 0;
    while let Some(hunk) = all.get(at).and_then(|line| Hunk::head(line)) {
        let body = hunk.body(all.get(at + 1..)?)?;
        let taken = &all[at..=at + body];
        length += taken.iter().map(|line| line.len()).sum::<usize>();
        at += taken.len();
    }
    Some(length)
}

/// Returns the length of what precedes the hunks of the first section, in bytes.
fn head(text: &str) -> Option<usize> {
    const STARTS: [&str; 8] = [
        NEW,
        "deleted file mode ",
        "similarity index ",
        "rename ",
        "index ",
        "--- ",
        "+++ ",
        BINARY,
    ];
    let mut all = text.split_inclusive('\n');
    let first = all.next().filter(|line| line.starts_with("diff --git "))?;
    let rest = all.take_while(|line| STARTS.iter().any(|start| line.starts_with(start)));
    Some(first.len() + rest.map(str::len).sum::<usize>())
}

const NEW: &str = "new file mode ";
const BINARY: &str = "Binary files ";

/// The earlier state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Past {
    NotThere,
    Content(Vec<u8>),
}

/// Returns the state of a file before its section was made, from its present state.
pub(super) fn take_back(section: &str, now: Option<&[u8]>) -> Option<Past> {
    let (head, hunks) = section.split_at(head(section)?);
    let says = |start| head.lines().any(|line| line.starts_with(start));
    if says(BINARY) {
        return None;
    }
    let now = now.unwrap_or_default();
    if hunks.is_empty() {
        if says(NEW) {
            return now.is_empty().then_some(Past::NotThere);
        }
        return Some(Past::Content(now.to_vec()));
    }
    let now = std::str::from_utf8(now).ok()?;
    let (now, hunks) = (lines(now), lines(hunks));
    let mut before = String::new();
    let mut seen = 0;
    let mut at = 0;
    while at < hunks.len() {
        let hunk = Hunk::head(hunks[at])?;
        let body = hunk.body(&hunks[at + 1..])?;
        let start = if hunk.new_count == 0 {
            hunk.new_start
        } else {
            hunk.new_start.checked_sub(1)?
        };
        before.extend(now.get(seen..start)?.iter().copied());
        seen = start;
        for (mark, line) in marked(&hunks[at + 1..=at + body]) {
            if mark != '-' {
                if *now.get(seen)? != line {
                    return None;
                }
                seen += 1;
            }
            if mark != '+' {
                before.push_str(line);
            }
        }
        at += body + 1;
    }
    before.extend(now.get(seen..)?.iter().copied());
    if says(NEW) {
        return before.is_empty().then_some(Past::NotThere);
    }
    Some(Past::Content(before.into_bytes()))
}

/// Numbers of a hunk's header.
struct Hunk {
    old_count: usize,
    new_start: usize,
    new_count: usize,
}

impl Hunk {
    fn head(line: &str) -> Option<Self> {
        let (old, new) = line
            .strip_prefix("@@ -")?
            .strip_suffix(" @@\n")?
            .split_once(" +")?;
        let span = |text: &str| -> Option<(usize, usize)> {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        let (_, old_count) = span(old)?;
        let (new_start, new_count) = span(new)?;
        Some(Self {
            old_count,
            new_start,
            new_count,
        })
    }

    /// Returns how many of these lines belong to this hunk, notes on missing newlines included.
    fn body(&self, lines: &[&str]) -> Option<usize> {
        let (mut old, mut new, mut at) = (self.old_count, self.new_count, 0);
        while old > 0 || new > 0 {
            match lines.get(at)?.chars().next()? {
                ' ' => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
                '-' => old = old.checked_sub(1)?,
                '+' => new = new.checked_sub(1)?,
                '\\' => {}
                _ => return None,
            }
            at += 1;
        }
        let note = usize::from(lines.get(at).is_some_and(|line| line.starts_with('\\')));
        Some(at + note)
    }
}

/// Returns a hunk's lines with their marks, each with its newline, unless a note says that it has none.
fn marked<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = (char, &'a str)> {
    lines.iter().enumerate().filter_map(|(at, line)| {
        let mark = line.chars().next().filter(|mark| *mark != '\\')?;
        let has_note = lines.get(at + 1).is_some_and(|next| next.starts_with('\\'));
        let text = &line[1..];
        Some((
            mark,
            if has_note {
                text.strip_suffix('\n').unwrap_or(text)
            } else {
                text
            },
        ))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff::section::section;

    fn content() -> impl Strategy<Value = Option<String>> {
        let line = prop::sample::select(vec![
            "a",
            "b",
            "",
            "-- a",
            "++ b",
            "@@ -1 +1 @@",
            "\\ x",
            "a\r",
            "\ré",
        ]);
        let text = (prop::collection::vec(line, 0..12), any::<bool>())
            .prop_map(|(lines, ended)| lines.join("\n") + if ended { "\n" } else { "" });
        prop_oneof![1 => Just(None), 9 => text.prop_map(Some)]
    }

    proptest! {
        #[test]
        fn a_section_taken_back_gives_what_was_before(before in content(), after in content()) {
            let before = before.map(String::into_bytes);
            let after = after.map(String::into_bytes);
            if let Some(section) = section("x", before.as_deref(), after.as_deref()) {
                let past = before.map_or(Past::NotThere, Past::Content);
                prop_assert_eq!(take_back(&section.text, after.as_deref()), Some(past));
            }
        }

        #[test]
        fn a_diff_is_cut_into_the_sections_it_was_made_of(files in prop::collection::vec((content(), content()), 0..5)) {
            let texts: Vec<String> = files
                .iter()
                .filter_map(|(before, after)| {
                    section("x", before.as_deref().map(str::as_bytes), after.as_deref().map(str::as_bytes))
                })
                .map(|section| section.text.to_string())
                .collect();
            let diff = texts.concat();
            prop_assert_eq!(split(&diff), Some(texts.iter().map(String::as_str).collect()));
        }

        #[test]
        fn any_text_is_read_without_harm(text in "[-+ @0-9,ab\\\\\n]{0,60}", now in "[ab\n]{0,10}") {
            drop(split(&text));
            drop(take_back(&text, Some(now.as_bytes())));
        }
    }

    #[test]
    fn content_that_does_not_fit_is_not_taken_back() {
        let section = section("x", Some(b"a\n"), Some(b"b\n")).unwrap();
        assert_eq!(take_back(&section.text, Some(b"c\n")), None);
        assert_eq!(
            take_back(
                "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
                Some(b"c\n")
            ),
            None
        );
    }
}
