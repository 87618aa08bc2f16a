//! Reads the conversation that a client sends with a Turn (AppServer protocol 03 §2.1 `messages`).
//!
//! The protocol leaves its shape open. Bobbin's is `{role, content, toolCalls?, toolCallId?}`. The spellings of the
//! Chat Completions wire are accepted too, because clients have them at hand. A part without text becomes `[TYPE: not
//! shown]`. Pure.

use std::sync::Arc;

use bobbin_model::{GivenCall, GivenMessage, InputPart, Json, input};
use bobbin_native_wire::RpcError;
use serde::Deserialize;
use serde_json::Value;

/// A message as the client sends it.
#[derive(Debug, Deserialize)]
struct Said {
    role: String,
    #[serde(default)]
    content: Option<Value>,
    #[serde(default, alias = "tool_calls", rename = "toolCalls")]
    tool_calls: Option<Vec<Call>>,
    #[serde(default, alias = "tool_call_id", rename = "toolCallId")]
    tool_call_id: Option<String>,
}

/// A call of a message: `{id, name, arguments}` or `{id, function: {name, arguments}}`.
#[derive(Debug, Deserialize)]
struct Call {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Option<Value>,
}

/// Reads a conversation. A last message that equals the input is left out, because the Turn has it.
///
/// # Errors
/// -32602, naming the first message that cannot be read.
pub(crate) fn read(
    messages: &[bobbin_model::Json],
    said: &[InputPart],
) -> Result<Arc<[GivenMessage]>, RpcError> {
    let read: Result<Vec<GivenMessage>, RpcError> = messages
        .iter()
        .enumerate()
        .map(|(at, raw)| {
            message(raw).map_err(|why| RpcError::invalid_params(format!("'messages[{at}]' {why}.")))
        })
        .collect();
    let mut read = read?;
    let same = |last: &GivenMessage| matches!(last, GivenMessage::User { text } if text.trim() == input::display_text(said).trim());
    if read.last().is_some_and(same) {
        read.pop();
    }
    Ok(read.into())
}

fn message(raw: &bobbin_model::Json) -> Result<GivenMessage, String> {
    let said: Said = raw
        .decode()
        .map_err(|_| "must be an object with a 'role' and a 'content'".to_owned())?;
    let text = text(said.content)?;
    match said.role.as_str() {
        "system" | "developer" => Ok(GivenMessage::System { text }),
        "user" => Ok(GivenMessage::User { text }),
        "assistant" => {
            let calls: Result<Vec<GivenCall>, String> = said
                .tool_calls
                .unwrap_or_default()
                .into_iter()
                .map(call)
                .collect();
            Ok(GivenMessage::Agent { text, calls: calls? })
        }
        "tool" => match said.tool_call_id.filter(|id| !id.is_empty()) {
            Some(call_id) => Ok(GivenMessage::Result { call_id, text }),
            None => Err("must have a 'toolCallId', as its role is \"tool\"".to_owned()),
        },
        _ => Err("must have the role \"system\", \"user\", \"assistant\" or \"tool\"".to_owned()),
    }
}

fn text(content: Option<Value>) -> Result<String, String> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => {
            let parts: Option<Vec<String>> = parts.iter().map(part).collect();
            Ok(parts
                .ok_or("has a part of its 'content' without a 'type'")?
                .join("\n"))
        }
        Some(_) => Err("must have a text or a list of parts as its 'content'".to_owned()),
    }
}

fn part(part: &Value) -> Option<String> {
    let kind = part.get("type")?.as_str()?;
    let text = part.get("text").and_then(Value::as_str);
    Some(text.map_or_else(|| format!("[{kind}: not shown]"), str::to_owned))
}

fn call(call: Call) -> Result<GivenCall, String> {
    let (tool, arguments) = match (call.name, call.function) {
        (Some(name), _) => (name, call.arguments),
        (None, Some(function)) => (function.name, function.arguments),
        (None, None) => return Err("has a call without a 'name'".to_owned()),
    };
    if call.id.is_empty() || tool.is_empty() {
        return Err("has a call without an 'id' or a 'name'".to_owned());
    }
    let arguments = match arguments {
        None | Some(Value::Null) => None,
        // Chat Completions writes an object as text.
        Some(Value::String(text)) => Json::object(&text),
        Some(object @ Value::Object(_)) => Json::of(&object).ok(),
        Some(_) => return Err("has a call whose 'arguments' are no object".to_owned()),
    };
    Ok(GivenCall {
        id: call.id,
        tool,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_all(messages: Value, said: &str) -> Result<Arc<[GivenMessage]>, RpcError> {
        let messages: Vec<bobbin_model::Json> = serde_json::from_value(messages).unwrap();
        let text = said.to_owned();
        read(&messages, &[InputPart::Text { text }])
    }

    #[test]
    fn both_spellings_are_one_conversation() {
        let ours = json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": "Hi" }, { "type": "image_url" }] },
            { "role": "assistant", "content": null, "toolCalls": [{ "id": "1", "name": "boil", "arguments": { "cups": 2 } }] },
            { "role": "tool", "toolCallId": "1", "content": "hot" },
            { "role": "assistant", "content": "Done." },
        ]);
        let theirs = json!([
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": "Hi" }, { "type": "image_url" }] },
            { "role": "assistant", "tool_calls": [
                { "id": "1", "type": "function", "function": { "name": "boil", "arguments": "{\"cups\":2}" } },
            ] },
            { "role": "tool", "tool_call_id": "1", "content": "hot" },
            { "role": "assistant", "content": "Done.", "refusal": null },
        ]);
        let read = read_all(ours, "Next").unwrap();
        assert_eq!(read, read_all(theirs, "Next").unwrap());
        assert_eq!(
            read[1],
            GivenMessage::User {
                text: "Hi\n[image_url: not shown]".into()
            }
        );
        assert_eq!(read.len(), 5);
    }

    #[test]
    fn the_input_itself_is_not_said_twice() {
        let history = json!([{ "role": "user", "content": "Hi" }, { "role": "user", "content": "Next " }]);
        assert_eq!(read_all(history.clone(), "Next").unwrap().len(), 1);
        assert_eq!(read_all(history, "Other").unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_message_is_refused_by_its_index() {
        for bad in [
            json!("hi"),
            json!({ "content": "x" }),
            json!({ "role": "ghost", "content": "x" }),
            json!({ "role": "user", "content": 7 }),
            json!({ "role": "user", "content": ["x"] }),
            json!({ "role": "tool", "content": "x" }),
            json!({ "role": "assistant", "toolCalls": [{ "id": "1" }] }),
            json!({ "role": "assistant", "toolCalls": [{ "id": "", "name": "t" }] }),
            json!({ "role": "assistant", "toolCalls": [{ "id": "1", "name": "t", "arguments": [] }] }),
        ] {
            let error = read_all(json!([{ "role": "user", "content": "u" }, bad]), "x").unwrap_err();
            assert!(
                error.code == -32602 && error.detail().starts_with("'messages[1]'"),
                "{bad}: {error:?}"
            );
        }
    }
}
