//! The change that a call makes to a file, or its arguments at an MCP server, from the arguments that the call runs with.

use std::path::Path;

use crate::cells::Call;
use crate::text::{Line, Style, in_margin, safe};
use crate::transcript::{ACCENT, BAD, GOOD};

/// Longest text that is compared line by line, in bytes; of a longer one all lines are shown.
const MAX_COMPARED_BYTES: usize = 1 << 20;

/// Returns the lines of a change, each with its sign in front, or those of the arguments of an MCP server's tool. `None` for
/// other calls.
pub(crate) fn of_call(call: &Call) -> Option<Vec<String>> {
    before(call, None)
}

/// As [`of_call`] before the call has run: the file is still as it was.
pub(crate) fn before(call: &Call, target: Option<&Path>) -> Option<Vec<String>> {
    let text = |name: &str| call.arguments[name].as_str();
    match call.tool.as_str() {
        "EditFile" => {
            let mut lines = between(text("oldText")?, text("newText")?);
            if call.arguments["replaceAll"] == true {
                lines.insert(0, "in every place that has this text:".to_owned());
            }
            Some(lines)
        }
        "WriteFile" => {
            let file = target
                .and_then(|path| bobbin_files::read_text_unlinked(path, MAX_COMPARED_BYTES as u64).ok());
            Some(between(&file.unwrap_or_default(), text("content")?))
        }
        // Another reader than the server's could find another change in it.
        "ApplyPatch" => {
            Some(call.patch().lines().map(str::to_owned).collect()).filter(|lines: &Vec<_>| !lines.is_empty())
        }
        // As JSON, in which no value looks like the name of another.
        tool if tool.starts_with("mcp__") && target.is_some() => {
            let arguments = format!("{:#}", call.arguments);
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
    // Where a part of a file is, its text does not say.
    lines
        .map(|line| if line.starts_with("@@ ") { "…" } else { line })
        .skip(1)
        .map(str::to_owned)
        .collect()
}
