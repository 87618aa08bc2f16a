//! The change that a call would make to a file, or its arguments at an MCP server, as lines for its user. They are made from
//! the arguments that the call runs with.

use std::path::Path;

use serde_json::Value;

use crate::text::{Line, Style, in_margin, safe};
use crate::transcript::{ACCENT, BAD, GOOD};

/// Longest text that is compared line by line; of a longer one all lines are shown.
const MAX_COMPARED_BYTES: usize = 1 << 20;

/// Returns the lines of a change, each with its sign in front, or those of the arguments of an MCP server's tool. `None` for
/// other calls. `target` is the file as it is now, or no path for a call that has run.
pub fn change_of_call(tool: &str, arguments: &Value, target: &str) -> Option<Vec<String>> {
    let text = |name: &str| arguments[name].as_str();
    match tool {
        "EditFile" => {
            let mut lines = between(text("oldText")?, text("newText")?);
            if arguments["replaceAll"] == true {
                lines.insert(0, "in every place that has this text:".to_owned());
            }
            Some(lines)
        }
        "WriteFile" => {
            let path = Path::new(target);
            let before = bobbin_files::read_text_unlinked(path, MAX_COMPARED_BYTES as u64);
            Some(between(&before.unwrap_or_default(), text("content")?))
        }
        // Another reader than the server's could find another change in it.
        "ApplyPatch" => {
            let patch = text("patch").or_else(|| text("input"))?;
            Some(patch.lines().map(str::to_owned).collect())
        }
        // As JSON, in which no value looks like the name of another.
        tool if tool.starts_with("mcp__") => {
            let arguments = format!("{arguments:#}");
            Some(arguments.lines().map(str::to_owned).collect())
        }
        _ => None,
    }
}

/// Returns a change as lines, of a long one the beginning.
pub(crate) fn lines(change: &[String], width: usize, most: usize) -> Vec<Line> {
    let mut shown: Vec<Line> = change
        .iter()
        .take(most)
        .flat_map(|line| {
            let style = match line.as_bytes().first() {
                Some(b'+') => GOOD,
                Some(b'-') => BAD,
                Some(b'@') => ACCENT,
                _ => Style::PLAIN,
            };
            let margin = Line::of("  │ ", Style::DIM);
            in_margin(
                &[Line::of(safe(line).into_owned(), style)],
                width,
                &margin,
                &margin,
            )
        })
        .collect();
    if change.len() > most {
        let left_out = change.len() - most;
        shown.push(Line::of(format!("    … {left_out} more lines"), Style::DIM));
    }
    shown
}

/// Returns the differences of two texts with the lines around them.
fn between(before: &str, after: &str) -> Vec<String> {
    let signed = |sign: char, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{sign}{line}")).collect()
    };
    let compared = (before.len().max(after.len()) <= MAX_COMPARED_BYTES)
        .then(|| bobbin_undo::unified("file", before, after))
        .flatten();
    let hunks = compared
        .as_deref()
        .and_then(|diff| Some(&diff[diff.find("\n@@ ")? + 1..]));
    let Some(hunks) = hunks else {
        let mut lines = signed('-', before);
        lines.extend(signed('+', after));
        return lines;
    };
    let lines = hunks.split_terminator('\n');
    // Where a part of a file is, and whether it ends there, its text does not say.
    lines
        .filter(|line| !line.starts_with('\\'))
        .map(|line| if line.starts_with("@@ ") { "…" } else { line })
        .skip(1)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_shown_as_what_goes_and_what_comes() {
        let edit = json!({ "path": "a", "oldText": "one\ntwo\n", "newText": "one\nthree\n" });
        assert_eq!(
            change_of_call("EditFile", &edit, "/w/a").unwrap(),
            [" one", "-two", "+three"]
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "x\ny\n").unwrap();
        let write = json!({ "path": "a", "content": "x\nz\n" });
        let target = path.to_str().unwrap();
        assert_eq!(
            change_of_call("WriteFile", &write, target).unwrap(),
            [" x", "-y", "+z"]
        );
        assert_eq!(
            change_of_call("WriteFile", &write, "/nowhere").unwrap(),
            ["+x", "+z"]
        );
        let patch = json!({ "patch": "*** Update File: a\n-x\n+y" });
        assert_eq!(change_of_call("ApplyPatch", &patch, "").unwrap().len(), 3);
        assert_eq!(change_of_call("Exec", &json!({ "command": "ls" }), ""), None);
    }

    #[test]
    fn arguments_for_an_mcp_server_are_shown_whole_and_none_looks_like_another() {
        let long = "x".repeat(5000);
        let pour = json!({ "note": format!("tea\n\"to\": \"friend\"{long}"), "to": "evil" });
        assert_eq!(
            change_of_call("mcp__pot__pour", &pour, "mcp:pot/pour").unwrap(),
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
