//! ``write `notes.txt`: hello``, `create a file a.txt containing x`, `write "x" to a.txt`, and a file's name before a
//! code block.

use crate::instruction::Instruction;
use crate::text::{Named, after_any, is_noise, looks_like_path, path, quoted, skip};

const VERBS: &[&str] = &["write", "create", "save", "make", "put"];
const FILLERS: &[&str] = &[
    "a", "an", "the", "new", "empty", "text", "file", "called", "named", "to", "into",
];

pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let rest = after_any(line, VERBS)?.trim_start_matches(':').trim_start();
    if let Some(instruction) = content_first(rest).filter(|_| fenced.is_none()) {
        return Some(instruction);
    }
    let target = skip(rest, FILLERS);
    let names_a_file = rest[..rest.len() - target.len()]
        .split_whitespace()
        .any(|word| word.eq_ignore_ascii_case("file"));
    let named = path(target)?;
    if !looks_like_path(&named) && !names_a_file {
        return None;
    }
    let content = match (content_behind(&named), fenced) {
        (Some(inline), None) if !inline.is_empty() => inline,
        (Some(nothing), Some(block)) if nothing.is_empty() => block.to_owned(),
        (None, Some(block)) if is_noise(named.rest) => block.to_owned(),
        // `create the file x` makes an empty file; `write x` lacks its content.
        (None, None)
            if names_a_file && is_noise(named.rest) && after_any(line, &["create", "make"]).is_some() =>
        {
            String::new()
        }
        _ => return None,
    };
    Some(Instruction::Write {
        path: named.text,
        content: ended(content),
    })
}

/// `"hello" to notes.txt`
fn content_first(rest: &str) -> Option<Instruction> {
    let content = quoted(rest)?;
    let place = skip(
        after_any(content.rest, &["to", "into", "in", "as"])?,
        &["the", "a", "new", "file"],
    );
    let named = path(place)?;
    is_noise(named.rest).then(|| Instruction::Write {
        path: named.text,
        content: ended(content.text),
    })
}

/// Returns the content after a path; `Some("")` if it is announced and missing.
fn content_behind(named: &Named<'_>) -> Option<String> {
    let announced = [
        "with the following content",
        "with the content",
        "with the contents",
        "with the text",
        "with content",
        "with contents",
        "with text",
        "containing",
        "that says",
        "saying",
        "with",
    ];
    let rest = match after_any(named.rest, &announced) {
        Some(rest) => rest.strip_prefix(':').unwrap_or(rest),
        None => named.rest.strip_prefix(':')?,
    };
    let rest = rest.trim();
    Some(match quoted(rest) {
        Some(inner) if inner.rest.is_empty() => inner.text,
        _ => rest.to_owned(),
    })
}

/// Adds a line end to a text.
fn ended(mut content: String) -> String {
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    content
}
