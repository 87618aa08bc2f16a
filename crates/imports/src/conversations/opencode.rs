//! opencode's conversations, as the rows of its database have them.

use bobbin_model::UnixMillis;
use bobbin_store_sqlite::{OpencodeMessage, OpencodeSession};
use serde_json::Value;

use super::Conversation;

/// The start of titles that no one gave.
const NO_TITLE: &str = "New session - ";

pub(super) fn read(session: &OpencodeSession, messages: &[OpencodeMessage]) -> Option<Conversation> {
    let mut found = Conversation::new("opencode", &session.id);
    found.title = Some(session.title.clone()).filter(|title| !title.starts_with(NO_TITLE));
    for message in messages {
        let Ok(data) = serde_json::from_str::<Value>(&message.data) else {
            found.damaged += 1;
            continue;
        };
        let mut parts = Vec::new();
        for part in &message.parts {
            match serde_json::from_str::<Value>(part) {
                Ok(part) => parts.push(part),
                Err(_) => found.damaged += 1,
            }
        }
        let at = UnixMillis(message.at);
        if data["role"] == "user" {
            let own = parts
                .iter()
                .filter(|part| part["synthetic"].as_bool() != Some(true));
            let texts = own.filter_map(|part| match part["type"].as_str() {
                Some("text") => part["text"].as_str(),
                Some("file") => Some("[a file]"),
                _ => None,
            });
            found.start(at, &texts.collect::<Vec<_>>().join("\n"));
            continue;
        }
        for part in &parts {
            of_part(part, at, &mut found);
        }
        if data["error"]["name"] == "MessageAbortedError" {
            found.cancel();
        }
    }
    found.said()
}

fn of_part(part: &Value, at: UnixMillis, found: &mut Conversation) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let start = part["time"]["start"].as_i64().map_or(at, UnixMillis);
    match part["type"].as_str() {
        Some("text") => found.message(start, &text(&part["text"])),
        Some("reasoning") => found.reasoning(start, &text(&part["text"])),
        Some("tool") => {
            let (id, state) = (text(&part["callID"]), &part["state"]);
            let time = |name: &str| state["time"][name].as_i64().map_or(at, UnixMillis);
            found.call(
                time("start"),
                &id,
                &text(&part["tool"]),
                &state["input"].to_string(),
            );
            match state["status"].as_str() {
                Some("completed") => found.result(time("end"), &id, &text(&state["output"]), true),
                Some("error") => found.result(time("end"), &id, &text(&state["error"]), false),
                _ => {}
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Part;
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_said() {
        let message = |at, data: Value, parts: &[Value]| OpencodeMessage {
            at,
            data: data.to_string(),
            parts: parts.iter().map(Value::to_string).collect(),
        };
        let tool = |status: &str| {
            json!({"type": "tool", "tool": "bash", "callID": "c1", "state": {
            "status": status, "input": {"command": "boil"}, "output": "done", "error": "no gas", "time": {"start": 30, "end": 40}}})
        };
        let session = OpencodeSession {
            id: "ses_1".into(),
            title: "New session - 2026-11-27T21:11:28.748Z".into(),
        };
        let mut messages = vec![
            message(
                10,
                json!({"role": "user"}),
                &[
                    json!({"type": "text", "text": "Boil"}),
                    json!({"type": "text", "text": "added", "synthetic": true}),
                ],
            ),
            message(
                20,
                json!({"role": "assistant"}),
                &[
                    json!({"type": "step-start"}),
                    json!({"type": "reasoning", "text": "Hm."}),
                    tool("completed"),
                    tool("error"),
                    tool("running"),
                    json!({"type": "text", "text": "Done.", "time": {"start": 50}}),
                ],
            ),
        ];
        messages[1].parts.push("{".into());
        let found = read(&session, &messages).unwrap();
        assert_eq!(
            (found.shown_title(), found.damaged, found.last_active_at.0),
            ("Boil".to_owned(), 1, 50)
        );
        let parts: Vec<_> = found.turns[0]
            .parts
            .iter()
            .map(|(at, part)| (at.0, part.clone()))
            .collect();
        let call = Part::Call {
            id: "c1".into(),
            tool: "bash".into(),
            arguments: "{\"command\":\"boil\"}".into(),
        };
        let result = |text: &str, success| Part::Result {
            id: "c1".into(),
            text: text.into(),
            success,
        };
        assert_eq!(
            parts,
            [
                (20, Part::Reasoning("Hm.".into())),
                (30, call.clone()),
                (40, result("done", true)),
                (40, call.clone()),
                (40, result("no gas", false)),
                (40, call),
                (50, Part::Message("Done.".into())),
            ]
        );
    }
}
