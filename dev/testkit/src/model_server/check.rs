//! What providers answer a request with 400 for, so that a test does not take what no provider takes.
//!
//! Written from the providers' published descriptions and from errors they are known to give, not from our client.
//! Where several providers speak a wire the strictest rule counts: on `chat`, ids of calls are those that Mistral
//! takes. Pure.

use std::collections::HashSet;

use serde_json::Value;

use super::wire::Wire;

/// Most tools that `OpenAI` takes.
const MAX_TOOLS: usize = 128;
/// Longest name of a tool that every provider takes.
const MAX_NAME: usize = 64;
/// Most marks for its cache that Anthropic takes.
const MAX_CACHE_MARKS: usize = 4;
/// What the top of a tool's schema must not have.
const NOT_AT_THE_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// Whether a request would be taken; otherwise what is said to it.
pub(super) fn check(wire: Wire, body: &Value) -> Result<(), String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("you must provide a model parameter".to_owned());
    }
    tools(wire, body)?;
    match wire {
        Wire::Chat => chat(list(&body["messages"])),
        Wire::Messages => messages(body),
        Wire::Responses => responses(list(&body["input"])),
    }
}

fn tools(wire: Wire, body: &Value) -> Result<(), String> {
    let tools = list(&body["tools"]);
    if wire != Wire::Messages && tools.len() > MAX_TOOLS {
        return Err(format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array with length {} instead.",
            tools.len()
        ));
    }
    let mut names = HashSet::new();
    for tool in tools {
        // A tool of the provider's own.
        let own = tool["type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("web_search"));
        if own && wire != Wire::Chat {
            continue;
        }
        let (tool, schema) = match wire {
            Wire::Chat => (&tool["function"], "parameters"),
            Wire::Messages => (tool, "input_schema"),
            Wire::Responses => (tool, "parameters"),
        };
        let name = name(&tool["name"])?;
        if !names.insert(name) {
            return Err(format!("tools: Tool names must be unique: {name}"));
        }
        schema_at_the_top(&tool[schema])
            .map_err(|why| format!("Invalid schema for function '{name}': {why}"))?;
    }
    Ok(())
}

fn schema_at_the_top(schema: &Value) -> Result<(), String> {
    if schema["type"] != "object" {
        return Err(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'",
            schema["type"]
        ));
    }
    if let Some(name) = NOT_AT_THE_TOP.iter().find(|name| schema.get(**name).is_some()) {
        return Err(format!(
            "schema must have type 'object' and not have '{name}' at the top level"
        ));
    }
    if !schema["properties"].is_object() {
        return Err("In context=(), object schema missing properties".to_owned());
    }
    arrays_have_items(schema)
}

fn arrays_have_items(value: &Value) -> Result<(), String> {
    match value {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "array") && !members.contains_key("items") {
                return Err("array schema missing items".to_owned());
            }
            members.values().try_for_each(arrays_have_items)
        }
        Value::Array(values) => values.iter().try_for_each(arrays_have_items),
        _ => Ok(()),
    }
}

fn chat(messages: &[Value]) -> Result<(), String> {
    let mut open = HashSet::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                return Err(
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                        .to_owned(),
                );
            }
            continue;
        }
        answered(&open)?;
        match role {
            "system" | "developer" | "user" => said(&message["content"])?,
            "assistant" => {
                let calls = list(&message["tool_calls"]);
                if calls.is_empty() && message["content"].as_str().is_none_or(str::is_empty) {
                    return Err("an assistant message must have either content or tool_calls".to_owned());
                }
                for call in calls {
                    let id = call["id"].as_str().unwrap_or_default();
                    if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                        return Err(format!(
                            "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
                        ));
                    }
                    name(&call["function"]["name"])?;
                    arguments(&call["function"]["arguments"])?;
                    open.insert(id);
                }
            }
            other => return Err(format!("there is no role {other:?}")),
        }
    }
    answered(&open)?;
    last_role(messages)
}

fn messages(body: &Value) -> Result<(), String> {
    let thinking = &body["thinking"];
    let most = body["max_tokens"].as_u64().ok_or("max_tokens: Field required")?;
    if thinking["budget_tokens"]
        .as_u64()
        .is_some_and(|budget| budget >= most)
    {
        return Err("`max_tokens` must be greater than `thinking.budget_tokens`".to_owned());
    }
    if body.to_string().matches("\"cache_control\":").count() > MAX_CACHE_MARKS {
        return Err(format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided."
        ));
    }
    let messages = list(&body["messages"]);
    let (mut ids, mut open, mut searches) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut wanted = "user";
    for (message, n) in messages.iter().zip(0..) {
        let place = format!("messages.{n}");
        let role = message["role"].as_str().unwrap_or_default();
        if role != wanted {
            return Err(format!(
                "{place}: roles must alternate, and the first is \"user\""
            ));
        }
        wanted = if role == "user" { "assistant" } else { "user" };
        let mut results_may_come = role == "user";
        for block in list(&message["content"]) {
            match block["type"].as_str().unwrap_or_default() {
                "text" if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                    return Err(format!("{place}: text content blocks must be non-empty"));
                }
                "text" | "image" => results_may_come = false,
                "thinking" | "redacted_thinking" if role == "assistant" => signed(&place, block)?,
                "server_tool_use" if role == "assistant" && block["input"].is_object() => {
                    searches.insert(block["id"].as_str().unwrap_or_default());
                }
                "web_search_tool_result" if role == "assistant" => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    if !searches.remove(id) {
                        return Err(format!(
                            "{place}: there is no `server_tool_use` block with the id {id}"
                        ));
                    }
                }
                "tool_use" if role == "assistant" => {
                    let id = block["id"].as_str().unwrap_or_default();
                    if id.is_empty() || !id.bytes().all(is_taken) {
                        return Err(format!(
                            "{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                        ));
                    }
                    if !ids.insert(id) {
                        return Err(format!("{place}: `tool_use` ids must be unique"));
                    }
                    name(&block["name"])?;
                    if !block["input"].is_object() {
                        return Err(format!("{place}.tool_use.input: Input should be an object"));
                    }
                    open.insert(id);
                }
                "tool_result" => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    if !results_may_come || !open.remove(id) {
                        return Err(format!(
                            "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                        ));
                    }
                }
                other => return Err(format!("{place}: there is no block {other:?} here")),
            }
        }
        if role == "user" && !open.is_empty() {
            return Err(format!(
                "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {open:?}"
            ));
        }
        if list(&message["content"]).is_empty() && message["content"].as_str().is_none_or(str::is_empty) {
            return Err(format!("{place}: all messages must have non-empty content"));
        }
    }
    if thinking["type"] == "enabled" {
        thinks_on(messages)?;
    }
    last_role(messages)
}

/// A Turn that thinks goes on with its thoughts.
fn thinks_on(messages: &[Value]) -> Result<(), String> {
    let (Some(last), Some(before)) = (messages.last(), messages.iter().rev().nth(1)) else {
        return Ok(());
    };
    let in_a_round = list(&last["content"])
        .first()
        .is_some_and(|block| block["type"] == "tool_result");
    let first = &before["content"][0]["type"];
    if in_a_round && first != "thinking" && first != "redacted_thinking" {
        return Err(format!(
            "Expected `thinking` or `redacted_thinking`, but found {first}. When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        ));
    }
    Ok(())
}

fn signed(place: &str, block: &Value) -> Result<(), String> {
    let has = |name: &str| block[name].as_str().is_some_and(|text| !text.is_empty());
    let whole = if block["type"] == "thinking" {
        has("signature") && block["thinking"].is_string()
    } else {
        has("data")
    };
    whole
        .then_some(())
        .ok_or_else(|| format!("{place}: Invalid `signature` in `thinking` block"))
}

fn responses(items: &[Value]) -> Result<(), String> {
    let (mut ids, mut open) = (HashSet::new(), HashSet::new());
    for item in items {
        match item["type"].as_str().unwrap_or("message") {
            "message" => said(&item["content"])?,
            "function_call" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                if !(1..=64).contains(&id.len()) {
                    return Err("Invalid 'input.call_id': string too long or empty. Expected a string with maximum length 64".to_owned());
                }
                if !ids.insert(id) {
                    return Err(format!("Duplicate call_id {id}"));
                }
                name(&item["name"])?;
                arguments(&item["arguments"])?;
                open.insert(id);
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return Err(format!(
                        "No tool call found for function call output with call_id {id}."
                    ));
                }
            }
            "reasoning" => {}
            other => return Err(format!("Invalid value: '{other}'")),
        }
    }
    if let Some(id) = open.into_iter().next() {
        return Err(format!("No tool output found for function call {id}."));
    }
    last_role(items)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_taken(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn name(name: &Value) -> Result<&str, String> {
    let name = name.as_str().unwrap_or_default();
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_taken) {
        Ok(name)
    } else {
        Err(format!(
            "Invalid name {name:?}: string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]{{1,{MAX_NAME}}}$'."
        ))
    }
}

fn arguments(arguments: &Value) -> Result<(), String> {
    let text = arguments.as_str().unwrap_or_default();
    match serde_json::from_str(text) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err("the arguments of a call are no JSON object".to_owned()),
    }
}

/// What somebody said is a text, or a list of parts of which none is an empty text.
fn said(content: &Value) -> Result<(), String> {
    let parts = match content {
        Value::String(_) => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts,
        _ => return Err("Missing required parameter: content".to_owned()),
    };
    let empty = |part: &Value| part["text"].as_str().is_some_and(|text| text.trim().is_empty());
    if parts.iter().any(empty) {
        return Err("text content blocks must be non-empty".to_owned());
    }
    Ok(())
}

fn answered(open: &HashSet<&str>) -> Result<(), String> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. These are without: {open:?}"
    ))
}

fn last_role(messages: &[Value]) -> Result<(), String> {
    match messages.last() {
        None => Err("there is no message".to_owned()),
        Some(last) if last["role"] == "assistant" => {
            Err("This model does not support assistant message prefill. The conversation must end with a user message.".to_owned())
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": { "l": { "type": "array", "items": {} } } })
    }

    fn good(wire: Wire) -> Value {
        match wire {
            Wire::Chat => json!({ "model": "m", "messages": [
                { "role": "system", "content": "s" },
                { "role": "user", "content": "u" },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c00000001", "type": "function", "function": { "name": "t", "arguments": "{}" } }] },
                { "role": "tool", "tool_call_id": "c00000001", "content": "r" },
            ], "tools": [{ "type": "function", "function": { "name": "t", "parameters": schema() } }] }),
            Wire::Messages => {
                json!({ "model": "m", "max_tokens": 2, "thinking": { "type": "enabled", "budget_tokens": 1 }, "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "u" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "", "signature": "s" },
                    { "type": "tool_use", "id": "c1", "name": "t", "input": {} }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "r" }, { "type": "text", "text": "u" }] },
            ], "tools": [{ "name": "t", "input_schema": schema() }] })
            }
            Wire::Responses => json!({ "model": "m", "input": [
                { "role": "user", "content": "u" },
                { "type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c1", "output": "r" },
            ], "tools": [{ "type": "function", "name": "t", "parameters": schema() }] }),
        }
    }

    /// Puts a value into a good request and returns what is said to it.
    fn said_to(wire: Wire, place: &str, value: Value) -> String {
        let mut body = good(wire);
        *body.pointer_mut(place).unwrap() = value;
        check(wire, &body).expect_err(place)
    }

    #[test]
    fn good_requests_are_taken() {
        for wire in [Wire::Chat, Wire::Messages, Wire::Responses] {
            assert_eq!(check(wire, &good(wire)), Ok(()));
        }
    }

    #[test]
    fn names_and_ids_outside_the_pattern_are_refused() {
        for (wire, place, value) in [
            (Wire::Chat, "/messages/2/tool_calls/0/function/name", "a.b"),
            (Wire::Chat, "/messages/2/tool_calls/0/id", "call_1"),
            (Wire::Chat, "/tools/0/function/name", ""),
            (Wire::Messages, "/messages/1/content/1/name", "a.b"),
            (Wire::Messages, "/messages/1/content/1/id", "functions.t:0"),
            (Wire::Responses, "/input/1/name", "a b"),
            (Wire::Responses, "/input/1/call_id", &"x".repeat(65)),
        ] {
            said_to(wire, place, value.into());
        }
    }

    #[test]
    fn results_belong_directly_behind_their_calls() {
        for (wire, place) in [
            (Wire::Chat, "/messages/3/tool_call_id"),
            (Wire::Messages, "/messages/2/content/0/tool_use_id"),
            (Wire::Responses, "/input/2/call_id"),
        ] {
            said_to(wire, place, "other".into());
        }
        let user = json!({ "role": "user", "content": "u" });
        said_to(Wire::Chat, "/messages/3", user.clone());
        said_to(Wire::Responses, "/input/2", user);
        let mut body = good(Wire::Messages);
        body["messages"][2]["content"].as_array_mut().unwrap().reverse();
        assert!(check(Wire::Messages, &body).is_err());
        let twice = good(Wire::Messages)["messages"][1]["content"].clone();
        let said = said_to(
            Wire::Messages,
            "/messages/2",
            json!({ "role": "user", "content": twice }),
        );
        assert!(
            said.contains("no block \"tool_use\"") || said.contains("thinking"),
            "{said}"
        );
    }

    #[test]
    fn one_id_is_one_call() {
        let mut body = good(Wire::Messages);
        let again = body["messages"].as_array().unwrap()[1..].to_vec();
        body["messages"].as_array_mut().unwrap().extend(again);
        assert!(
            check(Wire::Messages, &body)
                .unwrap_err()
                .contains("must be unique")
        );
        let mut body = good(Wire::Responses);
        let again = body["input"].as_array().unwrap()[1..].to_vec();
        body["input"].as_array_mut().unwrap().extend(again);
        assert!(check(Wire::Responses, &body).is_err());
    }

    #[test]
    fn schemas_are_objects_with_properties_and_nothing_else_at_the_top() {
        for (wire, place) in [
            (Wire::Chat, "/tools/0/function/parameters"),
            (Wire::Messages, "/tools/0/input_schema"),
            (Wire::Responses, "/tools/0/parameters"),
        ] {
            for schema in [
                json!({}),
                json!({ "type": "object" }),
                json!({ "type": "object", "properties": {}, "anyOf": [] }),
                json!({ "type": "object", "properties": { "l": { "type": "array" } } }),
            ] {
                said_to(wire, place, schema);
            }
        }
        let many = (0..=MAX_TOOLS).map(|n| json!({ "name": format!("t{n}"), "parameters": schema() }));
        said_to(Wire::Responses, "/tools", many.collect());
    }

    #[test]
    fn the_last_word_is_not_the_models_and_no_text_is_empty() {
        said_to(
            Wire::Chat,
            "/messages",
            json!([{ "role": "assistant", "content": "a" }]),
        );
        said_to(
            Wire::Responses,
            "/input",
            json!([{ "role": "assistant", "content": "a" }]),
        );
        said_to(Wire::Messages, "/messages/0/content/0/text", " ".into());
        said_to(
            Wire::Chat,
            "/messages/1/content",
            json!([{ "type": "text", "text": "" }]),
        );
        said_to(Wire::Messages, "/messages/0/role", "assistant".into());
    }

    #[test]
    fn thoughts_are_signed_and_a_round_of_calls_goes_on_with_them() {
        said_to(Wire::Messages, "/messages/1/content/0/signature", "".into());
        let call = good(Wire::Messages)["messages"][1]["content"][1].clone();
        said_to(Wire::Messages, "/messages/1/content", json!([call]));
        said_to(Wire::Messages, "/max_tokens", 1.into());
    }
}
