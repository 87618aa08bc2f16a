//! `OpenAI` Chat Completions, and servers with the same format: vLLM, Ollama, llama.cpp, gateways.
//!
//! The standard has no member for reasoning: `reasoning_content` and `reasoning` are both read. `index` identifies
//! a call. Some servers give every call the index 0 and a different `id`; some omit the index.

use bobbin_agent_api::model::{Message, ModelRequest, Pictures, Stop};
use bobbin_model::InputPart;
use serde_json::{Map, Value, json};

use super::back::{self, Back};
use super::body::{Body, Message as Written};
use super::{Decoder, Fault, Flow};
use crate::ProviderSettings;
use crate::assembler::{Assembler, Counted, MAX_CALLS};
use crate::calls::{CallIds, tool_name};
use crate::conversation::{Said, arguments, data_url, event, said, text};
use crate::memory::{Recalled, ReplyState};
use crate::schema;

/// Returns the request's body.
pub(super) fn body<'a>(
    settings: &ProviderSettings,
    model: &str,
    request: &ModelRequest<'a>,
    recalled: &Recalled,
) -> Body<'a> {
    let mut messages = vec![Written::Plain {
        role: "system",
        content: request.instructions.whole().into(),
    }];
    let mut ids = CallIds::default();
    let back = Back::of(&settings.base_url, model, recalled.thinks);
    for (said, state) in request.messages.iter().zip(&recalled.states) {
        let is_agents = matches!(said, Message::Agent { .. });
        messages.extend(message(said, request.pictures, &mut ids).map(|written| {
            if is_agents {
                back.write(written, state.as_ref())
            } else {
                written
            }
        }));
    }
    let members = json!({
        "model": model,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    let mut body = Body::new(Some(("messages", messages)), members);
    let (tools, _) = schema::taken(settings.wire, request.tools);
    if !tools.is_empty() {
        let tool = |tool: &bobbin_agent_api::tool::ToolSpec| {
            let function = json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": schema::of_tool(tool),
            });
            json!({ "type": "function", "function": function })
        };
        body.insert("tools", tools.iter().map(tool).collect::<Value>());
    }
    if let Some(most) = settings.max_output_tokens {
        body.insert(length_member(&settings.base_url, model), most);
    }
    body
}

/// Returns the name of the member that limits a reply's tokens. `OpenAI` uses a new name and refuses the older one
/// for reasoning models. Most other servers know only the older name, and some refuse unknown members.
fn length_member(base_url: &str, model: &str) -> &'static str {
    let host = back::host(base_url);
    let model = model.rsplit('/').next().unwrap_or(model);
    let theirs = host == "api.openai.com" || host.ends_with(".azure.com");
    if theirs
        || ["gpt-5", "o1", "o3", "o4"]
            .iter()
            .any(|start| model.starts_with(start))
    {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

fn message<'a>(message: &'a Message, pictures: &'a Pictures, ids: &mut CallIds<'a>) -> Option<Written<'a>> {
    Some(Written::Other(match message {
        Message::User { parts } => return Some(users(parts, pictures)),
        Message::Agent { text, calls } if calls.is_empty() => {
            return Some(Written::Plain {
                role: "assistant",
                content: text.into(),
            });
        }
        Message::Agent { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let function = json!({ "name": tool_name(&call.tool), "arguments": arguments(call) });
                    json!({ "id": ids.next(&call.id), "type": "function", "function": function })
                })
                .collect();
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        Message::Result { call_id, text, .. } => {
            json!({ "role": "tool", "tool_call_id": ids.of_result(call_id)?, "content": text })
        }
    }))
}

fn users<'a>(parts: &'a [InputPart], pictures: &'a Pictures) -> Written<'a> {
    Written::users(said(parts, pictures), |said| match said {
        Said::Text(text) => json!({ "type": "text", "text": text }),
        Said::Picture(picture) => json!({ "type": "image_url", "image_url": { "url": data_url(picture) } }),
    })
}

/// Reads a reply.
#[derive(Debug, Default)]
pub(super) struct Chat {
    /// Slot, id and name so far of each call. A call starts once its name is known.
    calls: Vec<Known>,
    /// Reasoning as `reasoning_content`: servers that send this accept it back, and some require it.
    reasoning: String,
    /// Reasoning details from the provider behind a gateway, in pieces, with signatures.
    details: Vec<Value>,
}

#[derive(Debug)]
struct Known {
    slot: String,
    index: Option<u64>,
    id: String,
    has_started: bool,
    /// Arguments that came before the name.
    early: String,
    /// Data that the provider wants back with the call.
    extra: Option<Value>,
}

impl Decoder for Chat {
    fn event(&mut self, data: &str, reply: &mut Assembler) -> Result<Flow, Fault> {
        if data.trim() == "[DONE]" {
            if !reply.is_stopped() {
                return Err(Fault::Malformed("it ended without a finish_reason".to_owned()));
            }
            return Ok(Flow::Over);
        }
        let chunk = event(data).map_err(Fault::Malformed)?;
        // Some gateways put the error into the choice.
        for place in [&chunk, &chunk["choices"][0]] {
            if place.get("error").is_some_and(|error| !error.is_null()) {
                return Err(Fault::of(place));
            }
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            reply.usage(Counted {
                input: usage["prompt_tokens"].as_u64(),
                output: usage["completion_tokens"].as_u64(),
                // DeepSeek has a member of its own.
                cached: usage["prompt_tokens_details"]["cached_tokens"]
                    .as_u64()
                    .or(usage["prompt_cache_hit_tokens"].as_u64()),
                reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
            });
        }
        let Some(choice) = chunk.pointer("/choices/0") else {
            return Ok(Flow::More);
        };
        let delta = &choice["delta"];
        let thought = text(delta, "/reasoning_content");
        self.reasoning.push_str(thought);
        for piece in delta["reasoning_details"].as_array().into_iter().flatten() {
            back::add_detail(&mut self.details, piece);
        }
        reply.reasoning(if thought.is_empty() {
            text(delta, "/reasoning")
        } else {
            thought
        });
        reply.text(text(delta, "/content"));
        reply.text(text(delta, "/refusal"));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, reply)?;
        }
        match text(choice, "/finish_reason") {
            "" => {}
            "length" => reply.stop(Stop::Length),
            "content_filter" => return Err(Fault::Filtered),
            "error" => return Err(Fault::of(&Value::Null)),
            _ => {
                if self.calls.iter().any(|call| !call.has_started) {
                    return Err(Fault::Malformed("a call has no name".to_owned()));
                }
                reply.stop(Stop::Done);
            }
        }
        Ok(Flow::More)
    }

    fn reply_state(&mut self) -> Option<ReplyState> {
        let mut members = Map::new();
        if !self.details.is_empty() {
            members.insert(
                "reasoning_details".to_owned(),
                std::mem::take(&mut self.details).into(),
            );
        } else if !self.reasoning.is_empty() {
            let reasoning = std::mem::take(&mut self.reasoning);
            members.insert("reasoning_content".to_owned(), reasoning.into());
        }
        let extra = |call: &mut Known| {
            let extra = call.extra.take().into_iter();
            extra.map(|extra| ("extra_content".to_owned(), extra)).collect()
        };
        let calls: Vec<Map<_, _>> = self.calls.iter_mut().map(extra).collect();
        let wanted = !members.is_empty() || calls.iter().any(|call| !call.is_empty());
        (wanted && !calls.is_empty()).then(|| ReplyState {
            members,
            calls,
            ..ReplyState::default()
        })
    }
}

impl Chat {
    fn call(&mut self, delta: &Value, reply: &mut Assembler) -> Result<(), Fault> {
        let (id, name) = (text(delta, "/id"), text(delta, "/function/name"));
        let position = self.position(delta["index"].as_u64(), id, name)?;
        let call = &mut self.calls[position];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if let Some(extra) = delta.get("extra_content").filter(|extra| extra.is_object()) {
            call.extra = Some(extra.clone());
        }
        if !call.has_started && !name.is_empty() {
            call.has_started = true;
            reply.start_call(&call.slot, &call.id, name)?;
            reply.arguments(&call.slot, &std::mem::take(&mut call.early));
        }
        let piece = match &delta["function"]["arguments"] {
            Value::String(piece) => piece.clone(),
            Value::Object(whole) if !whole.is_empty() => delta["function"]["arguments"].to_string(),
            _ => String::new(),
        };
        if call.has_started {
            reply.arguments(&call.slot, &piece);
        } else {
            call.early.push_str(&piece);
        }
        Ok(())
    }

    /// Finds the call that a piece belongs to, or adds one.
    fn position(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, Fault> {
        let known = self.calls.iter().rposition(|call| match index {
            // A new id together with a name starts a new call, whatever the index is.
            Some(_) if !id.is_empty() && !name.is_empty() && !call.id.is_empty() => {
                call.id == id && call.index == index
            }
            Some(_) => call.index == index,
            None if !id.is_empty() => call.id == id,
            None => true,
        });
        if let Some(known) = known.filter(|_| index.is_some() || !id.is_empty() || name.is_empty()) {
            return Ok(known);
        }
        if id.is_empty() && name.is_empty() && index.is_none() {
            return Err(Fault::Malformed("a piece of a call belongs to none".to_owned()));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(Fault::too_many_calls());
        }
        self.calls.push(Known {
            slot: self.calls.len().to_string(),
            index,
            id: id.to_owned(),
            has_started: false,
            early: String::new(),
            extra: None,
        });
        Ok(self.calls.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::model::ModelEvent;
    use bobbin_model::TurnId;

    use super::*;

    fn read(events: &[Value]) -> Result<Vec<String>, Fault> {
        let (mut chat, mut reply) = (Chat::default(), Assembler::new(TurnId(7)));
        for event in events {
            chat.event(&event.to_string(), &mut reply)?;
        }
        let (pieces, _) = reply.end().unwrap();
        Ok(pieces
            .into_iter()
            .map(|piece| match piece {
                ModelEvent::Text(text) => format!("t {text}"),
                ModelEvent::Reasoning(text) => format!("r {text}"),
                ModelEvent::CallStarted { id, tool } => format!("b {id} {tool}"),
                ModelEvent::CallArguments { id, text } => format!("a {id} {text}"),
                ModelEvent::CallEnded { id } => format!("e {id}"),
                ModelEvent::Note { text, .. } | ModelEvent::Waiting(text) => format!("n {text}"),
                ModelEvent::ProviderState(state) => format!("k {}", state.get()),
                ModelEvent::WebSearch(search) => format!("w {}", search.query),
            })
            .collect())
    }

    fn calls(calls: &Value) -> Value {
        json!({ "choices": [{ "delta": { "tool_calls": calls } }] })
    }

    fn stop() -> Value {
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] })
    }

    #[test]
    fn a_replys_length_has_the_name_that_its_server_knows() {
        for (base_url, model, member) in [
            ("https://api.openai.com/v1", "gpt-4o", "max_completion_tokens"),
            (
                "https://x.openai.azure.com/openai/v1?api-version=1",
                "mine",
                "max_completion_tokens",
            ),
            (
                "https://openrouter.ai/api/v1",
                "openai/gpt-5.2",
                "max_completion_tokens",
            ),
            ("http://127.0.0.1:11434/v1", "gpt-oss:20b", "max_tokens"),
            ("https://api.mistral.ai/v1", "mistral-medium", "max_tokens"),
            ("https://api.openai.com.example/v1", "m", "max_tokens"),
            ("", "", "max_tokens"),
        ] {
            assert_eq!(length_member(base_url, model), member, "{base_url} {model}");
        }
    }

    #[test]
    fn pieces_of_several_calls_may_alternate() {
        let pieces = read(&[
            calls(&json!([{ "index": 0, "id": "a", "function": { "name": "x", "arguments": "" } }])),
            calls(&json!([{ "index": 1, "id": "b", "function": { "name": "y", "arguments": "{" } }])),
            calls(
                &json!([{ "index": 0, "function": { "arguments": "{}" } }, { "index": 1, "function": { "arguments": "}" } }]),
            ),
            stop(),
        ]);
        assert_eq!(
            pieces.unwrap(),
            ["b a x", "b b y", "a b {", "a a {}", "a b }", "e a", "e b"]
        );
    }

    #[test]
    fn servers_that_number_calls_badly_are_understood() {
        let whole = |index: Value, id: &str| json!({ "index": index, "id": id, "function": { "name": "x", "arguments": "{}" } });
        let expected = ["b a x", "a a {}", "b b x", "a b {}", "e a", "e b"];
        for index in [json!(0), Value::Null] {
            let events = [
                calls(&json!([whole(index.clone(), "a")])),
                calls(&json!([whole(index, "b")])),
                stop(),
            ];
            assert_eq!(read(&events).unwrap(), expected);
        }
        let nameless =
            |id: &str| calls(&json!([{ "id": id, "function": { "name": "x", "arguments": {"k": 1} } }]));
        let pieces = read(&[nameless(""), nameless(""), stop()]).unwrap();
        assert_eq!(
            pieces,
            [
                "b call_7 x",
                "a call_7 {\"k\":1}",
                "b call_7_2 x",
                "a call_7_2 {\"k\":1}",
                "e call_7",
                "e call_7_2"
            ]
        );
    }

    #[test]
    fn a_repeated_id_in_every_piece_is_one_call() {
        let piece = |text: &str| {
            calls(&json!([{ "index": 0, "id": "a", "function": { "name": "x", "arguments": text } }]))
        };
        assert_eq!(
            read(&[piece("{"), piece("}"), stop()]).unwrap(),
            ["b a x", "a a {", "a a }", "e a"]
        );
    }

    #[test]
    fn arguments_may_come_before_the_name() {
        let pieces = read(&[
            calls(&json!([{ "index": 0, "id": "a", "function": { "arguments": "{" } }])),
            calls(&json!([{ "index": 0, "function": { "name": "x", "arguments": "}" } }])),
            stop(),
        ]);
        assert_eq!(pieces.unwrap(), ["b a x", "a a {", "a a }", "e a"]);
        let unnamed = calls(&json!([{ "index": 0, "id": "a", "function": { "arguments": "{" } }]));
        assert!(matches!(read(&[unnamed, stop()]), Err(Fault::Malformed(_))));
    }

    #[test]
    fn calls_without_end_are_refused_whether_they_have_names_or_not() {
        // As many calls as fit in one event.
        let many = |function: Value| -> Value {
            let call = |n: u32| json!({ "index": n, "id": format!("c{n}"), "function": function });
            calls(&(0..60_000).map(call).collect())
        };
        let too_many = Err(Fault::Malformed("it has more than 128 calls".to_owned()));
        assert_eq!(read(&[many(json!({ "arguments": "" }))]), too_many);
        assert_eq!(read(&[many(json!({ "name": "x" }))]), too_many);
    }

    #[test]
    fn unknown_members_and_empty_choices_mean_nothing() {
        let pieces = read(&[
            json!({ "object": "x", "choices": [] , "usage": null}),
            json!({ "choices": [{ "delta": { "content": "hi", "annotations": [1] }, "logprobs": null }] }),
            json!({ "choices": [{ "delta": { "reasoning": "hm", "content": null } }] }),
            json!({ "choices": [{ "finish_reason": "stop" }] }),
        ]);
        assert_eq!(pieces.unwrap(), ["t hi", "r hm"]);
    }

    #[test]
    fn errors_in_the_stream_are_told() {
        let error = json!({ "error": { "message": "no", "type": "server_error", "code": null } });
        let fault = read(&[error]).unwrap_err();
        assert_eq!(
            fault,
            Fault::Provider {
                kind: "server_error".into(),
                said: "no".into()
            }
        );
        let raw = json!({ "raw": "slow down" });
        let error = json!({ "message": "Provider returned error", "code": 429, "metadata": raw });
        for event in [
            json!({ "error": error, "choices": [{ "delta": {}, "finish_reason": "error" }] }),
            json!({ "choices": [{ "error": error, "delta": {}, "finish_reason": "error" }] }),
        ] {
            assert_eq!(
                read(&[event]).unwrap_err(),
                Fault::Provider {
                    kind: "429".into(),
                    said: "Provider returned error: slow down".into()
                }
            );
        }
        let bare = json!({ "choices": [{ "delta": {}, "finish_reason": "error" }] });
        assert!(matches!(read(&[bare]), Err(Fault::Provider { .. })));
        let filtered = json!({ "choices": [{ "delta": {}, "finish_reason": "content_filter" }] });
        assert_eq!(read(&[filtered]).unwrap_err(), Fault::Filtered);
    }
}
