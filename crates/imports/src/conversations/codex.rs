//! Codex's conversations: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`.
//!
//! Messages of the user are in events, without the texts that Codex adds. All else is in the items that its model got.

use std::io;
use std::path::{Path, PathBuf};

use bobbin_model::UnixMillis;
use serde_json::Value;

use super::{Conversation, lines, newest, time};

/// Returns the files of all folders, newest first.
pub(super) fn files(home: &Path) -> Vec<PathBuf> {
    newest(&home.join(".codex/sessions"), ".jsonl", 3)
}

/// Reads a file.
pub(super) fn read(file: &Path, workspace: &Path) -> io::Result<Option<Conversation>> {
    let mut found: Option<Conversation> = None;
    let damaged = lines::each(file, |line| {
        let payload = &line["payload"];
        let at = time(line["timestamp"].as_str());
        match (&mut found, line["type"].as_str()) {
            (None, Some("session_meta")) => {
                let is_here = payload["cwd"]
                    .as_str()
                    .is_some_and(|cwd| Path::new(cwd) == workspace);
                // A subagent is a part of another conversation.
                let is_own = payload["source"].get("subagent").is_none();
                let id = payload["id"].as_str().filter(|_| is_here && is_own);
                found = id.map(|id| Conversation::new("codex", id));
                found.is_some()
            }
            (None, _) => false,
            (Some(found), Some("event_msg")) => {
                of_event(payload, at, found);
                true
            }
            (Some(found), Some("response_item")) => {
                of_item(payload, at, found);
                true
            }
            (Some(_), _) => true,
        }
    })?;
    Ok(found.and_then(|mut found| {
        found.damaged = damaged;
        found.said()
    }))
}

fn of_event(event: &Value, at: UnixMillis, found: &mut Conversation) {
    match event["type"].as_str() {
        Some("user_message") => {
            let pictures = ["images", "local_images"].iter();
            let pictures = pictures.filter_map(|name| event[name].as_array()).flatten();
            let text = event["message"].as_str().unwrap_or_default();
            let text = std::iter::once(text).chain(pictures.map(|_| "[a picture]"));
            found.start(at, &text.collect::<Vec<_>>().join("\n"));
        }
        Some("turn_aborted") => found.cancel(),
        Some("thread_rolled_back") => {
            let turns = event["num_turns"].as_u64().unwrap_or_default();
            found.roll_back(usize::try_from(turns).unwrap_or(usize::MAX));
        }
        Some("thread_name_updated") => found.title = event["thread_name"].as_str().map(str::to_owned),
        _ => {}
    }
}

fn of_item(item: &Value, at: UnixMillis, found: &mut Conversation) {
    let text = |member: &str| item[member].as_str().unwrap_or_default();
    match item["type"].as_str() {
        Some("message") if text("role") == "assistant" => found.message(at, &text_of(&item["content"])),
        Some("reasoning") => {
            let parts = [&item["summary"], &item["content"]].map(text_of);
            found.reasoning(at, parts.join("\n").trim());
        }
        Some("function_call") => found.call(at, text("call_id"), text("name"), text("arguments")),
        Some("custom_tool_call") => found.call(at, text("call_id"), text("name"), text("input")),
        Some("local_shell_call") => found.call(at, text("call_id"), "shell", &item["action"].to_string()),
        Some("web_search_call") => found.call(at, text("id"), "web_search", &item["action"].to_string()),
        Some("function_call_output" | "custom_tool_call_output") => {
            let output = &item["output"];
            let content = output.get("content").unwrap_or(output);
            let failed = output["success"].as_bool() == Some(false);
            found.result(at, text("call_id"), &text_of(content), !failed);
        }
        _ => {}
    }
}

/// Returns the text of a content: a text, or parts with texts.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.map(|part| part["text"].as_str().unwrap_or("[a picture]"));
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Part;
    use super::*;

    #[test]
    fn a_recording_is_read_as_it_was_said() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Path::new("/srv/tea");
        let line = |kind: &str, payload: Value| json!({"timestamp": "2026-11-27T21:23:16.031Z", "type": kind, "payload": payload});
        let event = |payload| line("event_msg", payload);
        let item = |payload| line("response_item", payload);
        let lines = [
            line(
                "session_meta",
                json!({"id": "01a2", "cwd": "/srv/tea", "source": "cli"}),
            ),
            item(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>"}]}),
            ),
            item(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Boil"}]}),
            ),
            event(
                json!({"type": "user_message", "message": "Boil", "images": ["data:"], "local_images": []}),
            ),
            item(
                json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "content": null, "encrypted_content": "x"}),
            ),
            item(
                json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"boil\"}", "call_id": "c1"}),
            ),
            item(json!({"type": "function_call_output", "call_id": "c1", "output": "no gas"})),
            item(
                json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c2"}),
            ),
            item(
                json!({"type": "custom_tool_call_output", "call_id": "c2", "output": {"content": "no", "success": false}}),
            ),
            item(
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "There is no gas."}]}),
            ),
            event(json!({"type": "agent_message", "message": "There is no gas."})),
            event(json!({"type": "turn_aborted", "reason": "interrupted"})),
            event(json!({"type": "user_message", "message": "Undone"})),
            event(json!({"type": "thread_rolled_back", "num_turns": 1})),
            line("compacted", json!({"message": "x"})),
        ];
        let text: String = lines
            .iter()
            .flat_map(|line| [line.to_string(), "\n".to_owned()])
            .collect();
        let folder = dir.path().join(".codex/sessions/2026/11/27");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("rollout-x-01a2.jsonl"), &text).unwrap();
        let files = files(dir.path());
        let found = read(&files[0], workspace).unwrap().unwrap();
        assert_eq!((&*found.id, found.turn_count(), found.damaged), ("01a2", 1, 0));
        assert_eq!(found.created_at, UnixMillis(1_795_814_596_031));
        let turn = &found.turns[0];
        assert_eq!((&*turn.input, turn.is_cancelled), ("Boil\n[a picture]", true));
        let parts: Vec<_> = turn.parts.iter().map(|(_, part)| part.clone()).collect();
        assert_eq!(
            parts,
            [
                Part::Reasoning("Hm.".into()),
                Part::Call {
                    id: "c1".into(),
                    tool: "exec_command".into(),
                    arguments: "{\"cmd\":\"boil\"}".into()
                },
                Part::Result {
                    id: "c1".into(),
                    text: "no gas".into(),
                    success: true
                },
                Part::Call {
                    id: "c2".into(),
                    tool: "apply_patch".into(),
                    arguments: "*** Begin".into()
                },
                Part::Result {
                    id: "c2".into(),
                    text: "no".into(),
                    success: false
                },
                Part::Message("There is no gas.".into()),
            ]
        );
        assert_eq!(read(&files[0], Path::new("/srv")).unwrap(), None);
        let of_subagent = text.replace("\"cli\"", "{\"subagent\":\"review\"}");
        std::fs::write(&files[0], of_subagent).unwrap();
        assert_eq!(read(&files[0], workspace).unwrap(), None);
    }
}
