//! Without a script, the prompt says what to do, one line at a time:
//!
//! | line | effect |
//! |---|---|
//! | `say TEXT` | text |
//! | `think TEXT` | reasoning |
//! | `stream N` | text of N pieces |
//! | `call TOOL {JSON}` | a call; the arguments may be left out |
//! | `error STATUS TEXT` | an error with that status |
//! | `pause MS`, `stall`, `cut` | waits, goes silent, breaks the connection off |
//! | anything else | says what was asked |
//!
//! Attached content, in a `<context>`, is no instruction.
//!
//! After results of calls it says what they were.

use serde_json::{Value, json};

use super::script::{ErrorPart, Part, Reply, ScriptedCall, Usage};

/// Most characters of a result that are repeated.
const SHOWN: usize = 200;
/// Most pieces of one `stream`.
const MAX_STREAM: usize = 100_000;

/// Returns the reply to a request's body, whatever its wire. `bytes` is how long it was; `request` numbers requests, to make
/// ids of calls.
pub(super) fn reply(body: &Value, bytes: usize, request: usize) -> Reply {
    let usage = Some(Usage {
        input: bytes as u64 / 4,
        output: 8,
        ..Usage::default()
    });
    let mut results = Vec::new();
    let mut prompt = String::new();
    let messages = ["messages", "input"]
        .iter()
        .find_map(|name| body[name].as_array());
    for message in messages.into_iter().flatten().rev() {
        if message["type"] == "function_call_output" {
            results.push(text(&message["output"]));
        } else if message["role"] == "tool" {
            results.push(text(&message["content"]));
        } else if message["role"] == "user" {
            let blocks = message["content"].as_array().into_iter().flatten();
            let found = blocks.filter(|block| block["type"] == "tool_result");
            results.extend(found.map(|block| text(&block["content"])));
            if results.is_empty() {
                prompt = text(&message["content"]);
            }
            break;
        } else {
            break;
        }
    }
    let parts = if results.is_empty() {
        let mut parts = Vec::new();
        let mut attached = false;
        for (line, n) in prompt.lines().zip(1..) {
            attached |= line.starts_with("<context ");
            if attached {
                attached = line != "</context>";
                continue;
            }
            match step(line.trim(), request, n) {
                Ok(part) => parts.extend(part),
                Err(error) => return *error,
            }
        }
        parts
    } else {
        results.reverse();
        let shown = results
            .iter()
            .map(|result| result.chars().take(SHOWN).collect::<String>());
        vec![Part::Text(format!(
            "The results: {}",
            shown.collect::<Vec<_>>().join(" | ")
        ))]
    };
    Reply {
        usage,
        ..Reply::of(parts)
    }
}

fn step(line: &str, request: usize, n: usize) -> Result<Option<Part>, Box<Reply>> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    Ok(Some(match word {
        "" => return Ok(None),
        "say" => Part::Text(rest.to_owned()),
        "think" => Part::Reasoning(rest.to_owned()),
        "stream" => {
            let count = rest.parse::<usize>().unwrap_or(10).min(MAX_STREAM);
            let pieces: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            Part::Text(pieces.join(" "))
        }
        "call" => {
            let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
            let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            Part::Call(ScriptedCall {
                id: format!("c{request:05}n{n:02}"),
                tool: tool.to_owned(),
                arguments,
            })
        }
        "error" => {
            let (status, message) = rest.split_once(' ').unwrap_or((rest, "as the prompt asked"));
            let error = ErrorPart {
                kind: "scripted_error".to_owned(),
                message: message.to_owned(),
            };
            return Err(Box::new(Reply {
                status: Some(status.parse().unwrap_or(500)),
                error: Some(error),
                ..Reply::default()
            }));
        }
        "pause" => Part::PauseMs(rest.parse().unwrap_or(1000)),
        "stall" => Part::Stall,
        "cut" => Part::Cut,
        _ => Part::Text(format!("You said: {line}\n")),
    }))
}

/// Returns a content's text, whether it is one or a list of blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.concat()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_count_on_every_wire() {
        let bodies = [
            json!({ "messages": [{ "role": "system", "content": "s" }, { "role": "user", "content": "say a\ncall t {\"x\":1}" }] }),
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "say a\ncall t {\"x\":1}" }] }] }),
            json!({ "input": [{ "role": "user", "content": "say a\ncall t {\"x\":1}" }] }),
        ];
        let call = ScriptedCall {
            id: "c00004n02".into(),
            tool: "t".into(),
            arguments: json!({ "x": 1 }),
        };
        for body in bodies {
            assert_eq!(
                reply(&body, 0, 4).parts,
                [Part::Text("a".into()), Part::Call(call.clone())]
            );
        }
    }

    #[test]
    fn results_are_repeated() {
        let bodies = [
            json!({ "messages": [{ "role": "user", "content": "call t" }, { "role": "assistant" }, { "role": "tool", "content": "r" }] }),
            json!({ "messages": [{ "role": "user", "content": [{ "type": "tool_result", "content": "r" }] }] }),
            json!({ "input": [{ "role": "user", "content": "x" }, { "type": "function_call_output", "output": "r" }] }),
        ];
        for body in bodies {
            assert_eq!(reply(&body, 0, 1).parts, [Part::Text("The results: r".into())]);
        }
    }
}
