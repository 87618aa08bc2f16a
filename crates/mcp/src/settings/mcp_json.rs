//! `.mcp.json` of a folder: the MCP servers that a project declares for any agent.
//!
//! The form is `{"mcpServers": {NAME: {…}}}`. Unknown members are reported with their line and left out; an
//! unreadable file stops nothing. A server runs only once its user trusts it, independent of other trust in the
//! folder.

use std::collections::BTreeMap;
use std::path::Path;

use bobbin_agent_api::tool_server::{ServerAccess, ToolServerConfig};
use bobbin_settings::{Entries, MAX_FILE_BYTES, nearest};
use serde_json::{Map, Value, json};

use super::lines;
use super::section::{self, McpServer, SECTION};

/// Name of the file in a folder.
pub(super) const FILE: &str = ".mcp.json";
/// Most complaints that are shown of a file.
const MAX_COMPLAINTS: usize = 20;
/// Members that an entry can have.
const MEMBERS: &[&str] = &[
    "type", "command", "args", "env", "cwd", "url", "headers", "disabled", "enabled",
];

/// Returns the servers of a folder's file, and warnings. Blocks on the disk.
pub(super) fn read(root: &Path) -> (Vec<ToolServerConfig>, Vec<String>) {
    let path = root.join(FILE);
    match bobbin_files::read_text_unlinked(&path, MAX_FILE_BYTES) {
        Ok(text) => {
            let (servers, mut complaints) = of_text(text.trim_start_matches('\u{feff}'));
            if complaints.len() > MAX_COMPLAINTS {
                let more = complaints.len() - MAX_COMPLAINTS;
                complaints.truncate(MAX_COMPLAINTS);
                complaints.push((0, format!("{more} more")));
            }
            let complaints = complaints.into_iter().map(|(line, what)| match line {
                0 => format!("{}: {what}", path.display()),
                line => format!("{}:{line}: {what}", path.display()),
            });
            (servers, complaints.collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Default::default(),
        Err(error) => (
            Vec::new(),
            vec![format!("{}: the file cannot be read: {error}", path.display())],
        ),
    }
}

/// A line, or 0 if it is not known, and the mistake there.
type Complaint = (usize, String);

fn of_text(text: &str) -> (Vec<ToolServerConfig>, Vec<Complaint>) {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            return (
                Vec::new(),
                vec![(error.line(), "this is not valid JSON".to_owned())],
            );
        }
    };
    let Value::Object(members) = value else {
        return (Vec::new(), vec![(1, "this is not an object".to_owned())]);
    };
    let lines = lines::of_members(text);
    let mut complaints = Vec::new();
    let mut found = Vec::new();
    for (name, value) in members {
        match value {
            Value::Object(entries) if name == "mcpServers" => {
                for (name, entry) in entries {
                    found.extend(server(name, entry, &lines, &mut complaints));
                }
            }
            _ if name == "mcpServers" => {
                complaints.push((lines.get(&[&name]), "mcpServers is not an object".to_owned()));
            }
            _ => complaints.push((
                lines.get(&[&name]),
                format!("{name} is not known; there is mcpServers"),
            )),
        }
    }
    (found, complaints)
}

fn server(
    name: String,
    entry: Value,
    lines: &lines::Lines,
    complaints: &mut Vec<Complaint>,
) -> Option<ToolServerConfig> {
    let line = lines.get(&["mcpServers", &name]);
    let Value::Object(members) = entry else {
        complaints.push((
            line,
            format!("the MCP server {name} is not used: it is not an object"),
        ));
        return None;
    };
    let mut known = Map::new();
    for (member, value) in members {
        if MEMBERS.contains(&member.as_str()) {
            known.insert(member, value);
            continue;
        }
        let hint = nearest(MEMBERS.iter().copied(), &member);
        let hint = hint.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let line = lines.get(&["mcpServers", &name, &member]);
        complaints.push((
            line,
            format!("{member} of {name} is not known and left out{hint}"),
        ));
    }
    if known.get("type").is_some_and(|kind| kind == "sse") {
        let why = "it is reached over SSE, which the protocol has given up for streamable HTTP (\"http\")";
        complaints.push((line, format!("the MCP server {name} is not used: {why}")));
        return None;
    }
    // The check needs a scheme, and the variable may contain it, so the check sees a placeholder.
    let url = known
        .get_mut("url")
        .filter(|url| url.as_str().is_some_and(|url| url.starts_with("${")));
    let url = url.map(|url| std::mem::replace(url, json!("https://filled.in")));
    let checked =
        bobbin_settings::section::<Entries<McpServer>>(SECTION, json!(BTreeMap::from([(name, known)])));
    let mut warnings = Vec::new();
    let found = match checked {
        Ok(checked) => {
            warnings.extend(checked.warnings);
            section::read(checked.file, &mut warnings).pop()
        }
        Err(error) => {
            warnings.push(format!("{error:#}"));
            None
        }
    };
    complaints.extend(warnings.into_iter().map(|warning| (line, warning)));
    let mut found = found?;
    if let (ServerAccess::Http { url, .. }, Some(Value::String(variable))) = (&mut found.access, url) {
        *url = variable;
    }
    Some(found)
}

/// Part of a text of a definition.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    /// `${NAME}` or `${NAME:-otherwise}`.
    Variable(&'a str, Option<&'a str>),
}

fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("${").map(|at| at + from) {
        let Some((part, rest)) = variable(&text[at + 2..]) else {
            from = at + 2;
            continue;
        };
        parts.push(Part::Text(&text[..at]));
        parts.push(part);
        (text, from) = (rest, 0);
    }
    parts.push(Part::Text(text));
    parts
}

fn variable(text: &str) -> Option<(Part<'_>, &str)> {
    let (inner, rest) = text.split_once('}')?;
    let (name, otherwise) = match inner.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (inner, None),
    };
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    is_name.then_some((Part::Variable(name, otherwise), rest))
}

/// Returns the names of the variables in a text.
pub(super) fn variables(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Variable(name, _) => Some(name),
        Part::Text(_) => None,
    })
}

/// Returns a text with the values of its variables.
///
/// # Errors
/// The name of a variable that is not set and has no default.
pub(super) fn filled_in(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut whole = String::new();
    for part in parts(text) {
        match part {
            Part::Text(text) => whole.push_str(text),
            Part::Variable(name, otherwise) => {
                let value = variable(name).or_else(|| otherwise.map(ToOwned::to_owned));
                whole.push_str(&value.ok_or_else(|| name.to_owned())?);
            }
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_and_what_is_not_known_is_named_with_its_line() {
        let text = r#"{
  "inputs": [],
  "mcpServers": {
    "pantry": {
      "type": "stdio",
      "command": "npx", "args": ["-y", "pantry"],
      "alwaysAllow": ["pour"],
      "arg": [],
      "env": { "SHELF": 2, "TOKEN": "${PANTRY_TOKEN}" }
    },
    "cellar": { "type": "http", "url": "${CELLAR:-https://cellar.example}/mcp", "headers": { "X-Shelf": "2" } },
    "old": { "type": "sse", "url": "https://old.example/sse" },
    "odd": { "type": "pigeon", "command": "x" },
    "seven": 7
  }
}"#;
        let (servers, complaints) = of_text(text);
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["cellar", "pantry"]);
        let expected = [
            (2, "inputs is not known"),
            (7, "alwaysAllow of pantry is not known and left out"),
            (8, "did you mean args?"),
            (12, "SSE"),
            (13, "pigeon"),
            (14, "not an object"),
        ];
        let mut complaints = complaints;
        complaints.sort();
        assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
        for ((line, what), (expected_line, expected)) in complaints.iter().zip(expected) {
            assert!(
                *line == expected_line && what.contains(expected),
                "{line}: {what}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_object_is_said_with_its_line() {
        for (text, line) in [
            ("{\n  \"mcpServers\": {,}\n}", 2),
            ("[]", 1),
            ("{\n\"mcpServers\": []}", 2),
        ] {
            let (servers, complaints) = of_text(text);
            assert!(servers.is_empty());
            assert_eq!(complaints[0].0, line, "{complaints:?}");
        }
    }

    #[test]
    fn variables_are_filled_in_once() {
        let set = |name: &str| (name == "A").then(|| "${B}".to_owned());
        for (text, filled, names) in [
            ("plain", Ok("plain"), vec![]),
            ("x${A}y${A}", Ok("x${B}y${B}"), vec!["A", "A"]),
            ("${B:-other}/mcp", Ok("other/mcp"), vec!["B"]),
            ("${A:-other}", Ok("${B}"), vec!["A"]),
            ("${B:-}", Ok(""), vec!["B"]),
            ("${B}", Err("B"), vec!["B"]),
            ("$A ${ A} ${} ${A", Ok("$A ${ A} ${} ${A"), vec![]),
            ("${é}${A}", Ok("${é}${B}"), vec!["A"]),
        ] {
            let found = filled_in(text, &set);
            assert_eq!(found.as_deref().map_err(String::as_str), filled, "{text}");
            assert_eq!(variables(text).collect::<Vec<_>>(), names, "{text}");
        }
    }
}
