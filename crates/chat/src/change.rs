//! The change that a call would make to a file, or its arguments at an MCP server, as lines for its user. They are made from
//! the arguments that the call runs with.

use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::screen::painted;
use crate::text::{Line, Style, in_margin, safe};
use crate::transcript::{ACCENT, BAD, GOOD};

/// Longest text that is compared line by line; of a longer one all lines are shown.
const MAX_COMPARED_BYTES: usize = 1 << 20;

/// A line of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// Its number in the file: of a removed line before the change, of others after it. `None` where that is not known.
    pub number: Option<usize>,
    /// The line with its sign in front: `+`, `-` or a blank. Other lines say something about the change.
    pub text: String,
}

impl fmt::Display for ChangeLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(out, "{number:>4} {}", self.text),
            None => out.write_str(&self.text),
        }
    }
}

/// Returns the lines of a change, or those of the arguments of an MCP server's tool. `None` for other calls. `target` is the
/// file as it is before the call.
pub fn change_of_call(tool: &str, arguments: &Value, target: &str) -> Option<Vec<ChangeLine>> {
    let text = |name: &str| arguments[name].as_str();
    let now = || bobbin_files::read_text_unlinked(Path::new(target), MAX_COMPARED_BYTES as u64).ok();
    match tool {
        "EditFile" => {
            let (old, new) = (text("oldText")?, text("newText")?);
            let is_everywhere = arguments["replaceAll"] == true;
            // Another reader than the server's could find another place.
            let whole = now().filter(|now| is_everywhere || now.matches(old).count() == 1);
            let whole = whole.filter(|_| !old.is_empty());
            let in_place = whole.and_then(|now| in_file(&now, &now.replace(old, new)));
            Some(in_place.unwrap_or_else(|| {
                let mut lines = between(old, new);
                if is_everywhere {
                    lines.insert(0, unnumbered("in every place that has this text:"));
                }
                lines
            }))
        }
        "WriteFile" => {
            let (before, after) = (now().unwrap_or_default(), text("content")?);
            Some(in_file(&before, after).unwrap_or_else(|| all_lines(&before, after)))
        }
        // Another reader than the server's could find another change in it.
        "ApplyPatch" => {
            let patch = text("patch").or_else(|| text("input"))?;
            Some(patch.lines().map(unnumbered).collect())
        }
        // As JSON, in which no value looks like the name of another.
        tool if tool.starts_with("mcp__") => {
            let arguments = format!("{arguments:#}");
            Some(arguments.lines().map(unnumbered).collect())
        }
        _ => None,
    }
}

/// Returns the lines of the change that a call has made. Where `file`, as it is now, still has the new text in one place, they
/// have numbers.
pub(crate) fn change_of_done_call(
    tool: &str,
    arguments: &Value,
    file: Option<&Path>,
) -> Option<Vec<ChangeLine>> {
    if let ("EditFile", Some(file)) = (tool, file)
        && let (Some(old), Some(new)) = (arguments["oldText"].as_str(), arguments["newText"].as_str())
        && let Ok(now) = bobbin_files::read_text_unlinked(file, MAX_COMPARED_BYTES as u64)
        && !new.is_empty()
        && now.matches(new).count() == 1
        && let Some(lines) = in_file(&now.replace(new, old), &now)
    {
        return Some(lines);
    }
    change_of_call(tool, arguments, "")
}

/// Returns the lines of a diff in git's form.
pub(crate) fn of_diff(diff: &str) -> Vec<ChangeLine> {
    let mut lines = Vec::new();
    let (mut old, mut new) = (0_usize, 0_usize);
    // Lines of the present hunk that are still to come, before and after the change.
    let mut left = (0_usize, 0_usize);
    let mut is_first = true;
    for line in diff.lines() {
        if left != (0, 0) && !line.starts_with('\\') {
            let sign = line.as_bytes().first().copied().unwrap_or(b' ');
            let number = if sign == b'-' { old } else { new };
            if sign != b'+' {
                old += 1;
                left.0 = left.0.saturating_sub(1);
            }
            if sign != b'-' {
                new += 1;
                left.1 = left.1.saturating_sub(1);
            }
            lines.push(ChangeLine {
                number: Some(number),
                text: line.to_owned(),
            });
        } else if let Some([start, lost, to, got]) = hunk(line) {
            (old, new) = (start, to);
            left = (lost, got);
            if !std::mem::take(&mut is_first) {
                lines.push(unnumbered("…"));
            }
        } else if let Some(rest) = line.strip_prefix("diff --git ") {
            is_first = true;
            let path = rest.rsplit_once(" b/").map_or(rest, |(_, path)| path);
            lines.push(unnumbered(&format!("── {}", path.trim_end_matches('"'))));
        } else if !["index ", "--- ", "+++ ", "\\"]
            .iter()
            .any(|known| line.starts_with(known))
        {
            lines.push(unnumbered(&format!("── {line}")));
        }
    }
    lines
}

/// Reads the line in front of a hunk: where it starts and how many lines it has, before and after the change.
fn hunk(line: &str) -> Option<[usize; 4]> {
    let (before, after) = line.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((old, lost), (new, got)) = (range(before)?, range(after)?);
    Some([old, lost, new, got])
}

fn unnumbered(text: &str) -> ChangeLine {
    ChangeLine {
        number: None,
        text: text.to_owned(),
    }
}

/// Returns a change as lines, of a long one the beginning.
pub(crate) fn lines(change: &[ChangeLine], width: usize, most: usize) -> Vec<Line> {
    let numbers = change.iter().filter_map(|line| line.number).max();
    let digits = numbers.map_or(0, |number| number.to_string().len() + 1);
    let mut shown: Vec<Line> = change
        .iter()
        .take(most)
        .flat_map(|line| {
            let style = match line.text.chars().next() {
                Some('+') => GOOD,
                Some('-') => BAD,
                Some('@' | '─') => ACCENT,
                _ => Style::PLAIN,
            };
            let number = line.number.map(|number| number.to_string()).unwrap_or_default();
            let gutter = |text: &str| match digits {
                0 => Line::of("  │ ", Style::DIM),
                digits => Line::of(format!("  {text:>digits$}│", digits = digits - 1), Style::DIM),
            };
            let text = Line::of(safe(&line.text).into_owned(), style);
            in_margin(&[text], width, &gutter(&number), &gutter(""))
        })
        .collect();
    if change.len() > most {
        let left_out = change.len() - most;
        shown.push(Line::of(format!("    … {left_out} more lines"), Style::DIM));
    }
    shown
}

/// Returns a diff in git's form for a terminal, with line numbers.
pub fn painted_diff(diff: &str, width: usize, has_colors: bool) -> String {
    painted(&lines(&of_diff(diff), width, usize::MAX), has_colors)
}

/// Returns the differences of a file's texts with the lines around them and their numbers. `None` if they cannot be compared.
fn in_file(before: &str, after: &str) -> Option<Vec<ChangeLine>> {
    let compared = (before.len().max(after.len()) <= MAX_COMPARED_BYTES)
        .then(|| bobbin_undo::unified("file", before, after))
        .flatten()?;
    let hunks = &compared[compared.find("\n@@ ")? + 1..];
    Some(of_diff(hunks))
}

/// Returns the differences of two parts of a file. Where they are in it, the texts do not say.
fn between(before: &str, after: &str) -> Vec<ChangeLine> {
    let mut lines = in_file(before, after).unwrap_or_else(|| all_lines(before, after));
    for line in &mut lines {
        line.number = None;
    }
    lines
}

fn all_lines(before: &str, after: &str) -> Vec<ChangeLine> {
    let signed = |sign: char, text: &str| -> Vec<ChangeLine> {
        let lines = text.lines().map(|line| unnumbered(&format!("{sign}{line}")));
        lines.collect()
    };
    let mut lines = signed('-', before);
    lines.extend(signed('+', after));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_shown_as_what_goes_and_what_comes() {
        let edit = json!({ "path": "a", "oldText": "one\ntwo\n", "newText": "one\nthree\n" });
        let shown = |tool: &str, arguments: &Value, target: &str| -> Vec<String> {
            let lines = change_of_call(tool, arguments, target).unwrap();
            lines.iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown("EditFile", &edit, "/w/a"), [" one", "-two", "+three"]);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "x\ny\n").unwrap();
        let write = json!({ "path": "a", "content": "x\nz\n" });
        let target = path.to_str().unwrap();
        let numbered = ["   1  x", "   2 -y", "   2 +z"];
        assert_eq!(shown("WriteFile", &write, target), numbered);
        assert_eq!(shown("WriteFile", &write, "/nowhere"), ["   1 +x", "   2 +z"]);
        let patch = json!({ "patch": "*** Update File: a\n-x\n+y" });
        assert_eq!(change_of_call("ApplyPatch", &patch, "").unwrap().len(), 3);
        assert_eq!(change_of_call("Exec", &json!({ "command": "ls" }), ""), None);
    }

    #[test]
    fn an_edit_has_its_place_in_the_file_before_and_after_it_ran() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let text: Vec<String> = (1..=20).map(|number| format!("line {number}\n")).collect();
        let text = text.concat();
        std::fs::write(&path, &text).unwrap();
        let edit = json!({ "path": "a", "oldText": "line 10\n", "newText": "tea\n" });
        let target = path.to_str().unwrap();
        let before = change_of_call("EditFile", &edit, target).unwrap();
        let shown: Vec<String> = before.iter().map(ToString::to_string).collect();
        assert_eq!(shown[2..5], ["   9  line 9", "  10 -line 10", "  10 +tea"]);
        std::fs::write(&path, text.replace("line 10\n", "tea\n")).unwrap();
        let after = change_of_done_call("EditFile", &edit, Some(&path)).unwrap();
        assert_eq!(after, before);
        std::fs::write(&path, "tea\ntea\n").unwrap();
        let unclear = change_of_done_call("EditFile", &edit, Some(&path)).unwrap();
        assert_eq!(unclear, [unnumbered("-line 10"), unnumbered("+tea")]);
    }

    #[test]
    fn a_diff_of_git_has_names_and_numbers() {
        let diff = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn f\n one\n--- two\n+++ three\n\
                    @@ -9 +9,0 @@\n-nine\n\\ No newline at end of file\ndiff --git a/y b/y\nnew file mode 100644\n";
        let shown: Vec<String> = of_diff(diff).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(shown.join("\n"));
        let lines: Vec<String> = lines(&of_diff(diff), 20, 4).iter().map(Line::text).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn arguments_for_an_mcp_server_are_shown_whole_and_none_looks_like_another() {
        let long = "x".repeat(5000);
        let pour = json!({ "note": format!("tea\n\"to\": \"friend\"{long}"), "to": "evil" });
        let shown = change_of_call("mcp__pot__pour", &pour, "mcp:pot/pour").unwrap();
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "{".to_owned(),
                format!(r#"  "note": "tea\n\"to\": \"friend\"{long}","#),
                r#"  "to": "evil""#.to_owned(),
                "}".to_owned()
            ]
        );
    }

    #[test]
    fn nothing_of_a_change_is_left_out() {
        let content = "line\n".repeat(3000);
        let write = json!({ "content": content });
        assert_eq!(
            change_of_call("WriteFile", &write, "/nowhere").unwrap().len(),
            3000
        );
        let long = "x\n".repeat(MAX_COMPARED_BYTES);
        let write = json!({ "content": long });
        assert_eq!(
            change_of_call("WriteFile", &write, "/nowhere").unwrap().len(),
            MAX_COMPARED_BYTES
        );
    }
}
