//! Findings of linters as lines that editors and users read: file, line, column, code, text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

/// The result of an action that reports findings by file.
#[derive(Deserialize)]
struct Findings {
    messages: BTreeMap<String, Vec<Finding>>,
}

#[derive(Deserialize)]
struct Finding {
    range: Range,
    message: String,
    code: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Range {
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u64,
    character: u64,
}

/// Returns a result as lines of findings, if it is one of findings. Paths are shown from `root`.
pub fn findings(result: &str, root: &Path) -> Option<String> {
    let Findings { messages } = serde_json::from_str(result).ok()?;
    let mut text = String::new();
    for (file, findings) in messages {
        let path = file.strip_prefix("file://").unwrap_or(&file);
        let shown = bobbin_files::shown(root, Path::new(path));
        for Finding {
            range,
            message,
            code,
            source,
        } in findings
        {
            let (line, column) = (range.start.line + 1, range.start.character + 1);
            // Further lines of a message are hints, which the action's own text has.
            let first = message.lines().next().unwrap_or_default();
            let code = code.map_or_else(String::new, |code| format!("{code} "));
            let source = source.map_or_else(String::new, |source| format!(" ({source})"));
            let _infallible = writeln!(text, "{shown}:{line}:{column}: {code}{first}{source}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_have_file_line_column_and_code() {
        let result = r#"{"messages":{"file:///ws/a.py":[{"range":{"start":{"line":0,"character":7},"end":{"line":0,"character":9}},"message":"`os` imported but unused\n\nhelp: remove it","code":"F401","source":"Ruff"}],"file:///ws/b.py":[]}}"#;
        let text = findings(result, Path::new("/ws"));
        assert_eq!(
            text.as_deref(),
            Some("a.py:1:8: F401 `os` imported but unused (Ruff)\n")
        );
        assert_eq!(findings(r#"{"changed":true}"#, Path::new("/ws")), None);
    }
}
