//! Line numbers of the members of a JSON text, for complaints about them. The text must be valid JSON.

use std::collections::HashMap;

/// Deepest members that are noted.
const DEPTH: usize = 4;

/// Line numbers of members, by their path of names.
#[derive(Debug, Default)]
pub(super) struct Lines(HashMap<Vec<String>, usize>);

impl Lines {
    /// Returns the line of a member, from 1; 0 if it is not noted.
    pub(super) fn get(&self, path: &[&str]) -> usize {
        let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
        self.0.get(&path).copied().unwrap_or_default()
    }
}

/// Returns the lines of the members of a JSON text. Of two members of one name the later counts, as in the value.
pub(super) fn of_members(text: &str) -> Lines {
    let mut lines = Lines::default();
    // The current member's name in each enclosing object; `None` for lists, whose members are not noted.
    let mut open: Vec<Option<String>> = Vec::new();
    let (mut line, mut at) = (1, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'\n' => line += 1,
            b'{' => open.push(Some(String::new())),
            b'[' => open.push(None),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                let end = end_of_string(text, at);
                let string = &text[at..end];
                if text[end..].trim_start().starts_with(':')
                    && let Some(Some(name)) = open.last_mut()
                {
                    *name = serde_json::from_str(string).unwrap_or_default();
                    let path: Option<Vec<String>> = open.iter().cloned().collect();
                    if let Some(path) = path.filter(|path| path.len() <= DEPTH) {
                        lines.0.insert(path, line);
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    lines
}

/// Returns the position after the closing quote of the string that starts at `at`.
fn end_of_string(text: &str, at: usize) -> usize {
    let mut is_escaped = false;
    for (offset, byte) in text.bytes().enumerate().skip(at + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return offset + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_on_their_lines() {
        let text =
            "{ \"a\": {\n \"b\\\"\": \"x: {\",\n \"c\": [ { \"d\": 1 } ],\n \"é\"\n : 2 },\n \"a2\": 3 }";
        let lines = of_members(text);
        for (path, line) in [
            (&["a"][..], 1),
            (&["a", "b\""], 2),
            (&["a", "c"], 3),
            (&["a", "c", "d"], 0),
            (&["a", "é"], 4),
            (&["a2"], 6),
        ] {
            assert_eq!(lines.get(path), line, "{path:?}");
        }
    }
}
