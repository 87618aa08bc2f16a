//! Claude Code's conversations: `~/.claude/projects/FOLDER/ID.jsonl`, a line for each message or part of one.

use std::io;
use std::path::{Path, PathBuf};

use bobbin_model::UnixMillis;
use serde_json::Value;

use super::{Conversation, lines, newest, time};

/// Beginnings of texts that Claude Code adds to what a user writes.
const ADDED: [&str; 5] = [
    "<local-command-",
    "<system-reminder>",
    "<ide_",
    "<bash-stdout>",
    "Caveat: The messages ",
];

/// Returns the files of a workspace, newest first.
pub(super) fn files(home: &Path, workspace: &Path) -> Vec<PathBuf> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = workspace.to_string_lossy().chars().map(plain).collect();
    newest(&home.join(".claude/projects").join(name), ".jsonl", 0)
}

/// Reads a file.
pub(super) fn read(file: &Path, workspace: &Path) -> io::Result<Option<Conversation>> {
    let id = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut found = Conversation::new("claude", &id);
    let mut is_elsewhere = false;
    let mut title = (0, String::new());
    let damaged = lines::each(file, |line| {
        // Different folders can have one name there.
        is_elsewhere = line["cwd"]
            .as_str()
            .is_some_and(|cwd| found.turns.is_empty() && Path::new(cwd) != workspace);
        if is_elsewhere {
            return false;
        }
        // Of the titles, the user's counts before a model's.
        for (rank, member) in ["summary", "aiTitle", "customTitle"].iter().enumerate() {
            if let Some(text) = line[member].as_str().filter(|_| rank >= title.0) {
                title = (rank, text.to_owned());
            }
        }
        add(line, &mut found);
        true
    })?;
    if is_elsewhere {
        return Ok(None);
    }
    found.damaged = damaged;
    found.title = Some(title.1);
    // Commands of its own are no Turns.
    found
        .turns
        .retain(|turn| !(turn.input.starts_with('/') && turn.parts.is_empty()));
    Ok(found.said())
}

fn add(line: &Value, found: &mut Conversation) {
    let is = |member: &str| line[member].as_bool() == Some(true);
    if is("isSidechain") || is("isMeta") || is("isCompactSummary") {
        return;
    }
    let at = time(line["timestamp"].as_str());
    let content = &line["message"]["content"];
    match line["type"].as_str() {
        Some("user") => of_user(content, at, found),
        Some("assistant") => {
            for block in content.as_array().into_iter().flatten() {
                of_assistant(block, at, found);
            }
        }
        _ => {}
    }
}

fn of_user(content: &Value, at: UnixMillis, found: &mut Conversation) {
    let mut texts = Vec::new();
    if let Some(text) = content.as_str() {
        texts.push(text);
    }
    for block in content.as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => texts.extend(block["text"].as_str()),
            Some("image") => texts.push("[a picture]"),
            Some("tool_result") => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let success = block["is_error"].as_bool() != Some(true);
                found.result(at, id, &text_of(&block["content"]), success);
            }
            _ => {}
        }
    }
    texts.retain(|text| !ADDED.iter().any(|added| text.trim_start().starts_with(added)));
    if texts
        .iter()
        .any(|text| text.starts_with("[Request interrupted by user"))
    {
        return found.cancel();
    }
    let texts: Vec<String> = texts.into_iter().map(typed).collect();
    found.start(at, &texts.join("\n"));
}

/// Returns what a user typed, for a command with a slash.
fn typed(text: &str) -> String {
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    };
    match part("command-name") {
        Some(name) if text.trim_start().starts_with("<command-") => {
            format!("{name} {}", part("command-args").unwrap_or_default())
                .trim()
                .to_owned()
        }
        _ => text.to_owned(),
    }
}

fn of_assistant(block: &Value, at: UnixMillis, found: &mut Conversation) {
    let text = |member: &str| block[member].as_str().unwrap_or_default();
    match block["type"].as_str() {
        Some("text") => found.message(at, text("text")),
        Some("thinking") => found.reasoning(at, text("thinking")),
        Some("tool_use") => found.call(at, text("id"), text("name"), &block["input"].to_string()),
        _ => {}
    }
}

/// Returns the text of a result: a text, or blocks.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.map(|block| block["text"].as_str().unwrap_or("[a picture]"));
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Part;
    use super::*;

    /// Returns the file of a conversation in `/srv/tea.w`, with lines as Claude Code writes them.
    fn recording() -> String {
        let at = |second: u32| format!("2026-11-27T21:23:{second:02}.500Z");
        let user = |second, content: Value| {
            json!({"type": "user", "cwd": "/srv/tea.w", "timestamp": at(second), "isSidechain": false,
                   "message": {"role": "user", "content": content}})
        };
        let agent = |second, block: Value| json!({"type": "assistant", "timestamp": at(second), "message": {"role": "assistant", "content": [block]}});
        let mut meta = user(1, json!("<local-command-caveat>no</local-command-caveat>"));
        meta["isMeta"] = json!(true);
        let mut side = agent(9, json!({"type": "text", "text": "of a subagent"}));
        side["isSidechain"] = json!(true);
        let lines = [
            json!({"type": "queue-operation", "operation": "enqueue", "timestamp": at(0)}),
            meta,
            user(
                1,
                json!("<command-name>/model</command-name>\n<command-args>default</command-args>"),
            ),
            user(1, json!("<local-command-stdout>Set model</local-command-stdout>")),
            user(
                2,
                json!([{"type": "text", "text": "<system-reminder>x"}, {"type": "text", "text": "Boil"}, {"type": "image"}]),
            ),
            agent(3, json!({"type": "thinking", "thinking": "Hm."})),
            agent(
                4,
                json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "boil"}}),
            ),
            user(
                5,
                json!([{"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": [{"type": "text", "text": "no gas"}]}]),
            ),
            side,
            agent(6, json!({"type": "text", "text": "There is no gas."})),
            user(
                7,
                json!([{"type": "text", "text": "[Request interrupted by user]"}]),
            ),
            user(
                8,
                json!(
                    "<command-message>fi</command-message>\n<command-name>/fi</command-name>\n<command-args>12</command-args>"
                ),
            ),
            agent(9, json!({"type": "text", "text": "Fixed."})),
            json!({"type": "summary", "summary": "Tea"}),
            json!({"type": "custom-title", "customTitle": "My tea"}),
            json!({"type": "ai-title", "aiTitle": "A model's title"}),
        ];
        let mut text: String = lines
            .iter()
            .flat_map(|line| [line.to_string(), "\n".to_owned()])
            .collect();
        text.push_str("{\"type\": \"user\", \"mess");
        text
    }

    #[test]
    fn a_recording_is_read_as_it_was_said() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Path::new("/srv/tea.w");
        let text = recording();
        let folder = dir.path().join(".claude/projects/-srv-tea-w");
        std::fs::create_dir_all(folder.join("deeper")).unwrap();
        std::fs::write(folder.join("a1.jsonl"), &text).unwrap();
        std::fs::write(folder.join("deeper/a2.jsonl"), &text).unwrap();
        let files = files(dir.path(), workspace);
        assert_eq!(files, [folder.join("a1.jsonl")]);
        let found = read(&files[0], workspace).unwrap().unwrap();
        assert_eq!(
            (&*found.id, found.title.as_deref(), found.damaged),
            ("a1", Some("My tea"), 1)
        );
        assert_eq!(
            (found.created_at.0 % 60_000, found.last_active_at.0 % 60_000),
            (1_500, 9_500)
        );
        let turns: Vec<_> = found
            .turns
            .iter()
            .map(|turn| (&*turn.input, turn.is_cancelled))
            .collect();
        assert_eq!(turns, [("Boil\n[a picture]", true), ("/fi 12", false)]);
        let parts: Vec<_> = found.turns[0]
            .parts
            .iter()
            .map(|(_, part)| part.clone())
            .collect();
        assert_eq!(
            parts,
            [
                Part::Reasoning("Hm.".into()),
                Part::Call {
                    id: "c1".into(),
                    tool: "Bash".into(),
                    arguments: "{\"command\":\"boil\"}".into()
                },
                Part::Result {
                    id: "c1".into(),
                    text: "no gas".into(),
                    success: false
                },
                Part::Message("There is no gas.".into()),
            ]
        );
        assert_eq!(
            read(&files[0], Path::new("/srv/tea-w")).unwrap(),
            None,
            "another folder of that name"
        );
    }

    #[test]
    fn a_file_in_which_nothing_was_said_is_no_conversation() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.jsonl");
        std::fs::write(&file, "{\"type\": \"assistant\", \"message\": {\"content\": [{\"type\": \"text\", \"text\": \"x\"}]}}\n").unwrap();
        assert_eq!(read(&file, dir.path()).unwrap(), None);
    }
}
