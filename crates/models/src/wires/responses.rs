//! `OpenAI` Responses. Nothing is stored at the provider (`store: false`): each request has the whole conversation.
//!
//! Encrypted reasoning that belongs to calls is sent back to the models that sent it. The request asks for
//! encrypted reasoning only if the model's name, an effort, or a `reasoning` in `Body` says that the model reasons: other
//! models refuse the request.

use bobbin_agent_api::model::{Message, ModelRequest, Pictures, Stop, WebPage, WebSearch};
use bobbin_model::InputPart;
use serde_json::{Map, Value, json};

use super::body::{Body, Message as Written};
use super::{Decoder, Fault, Flow};
use crate::ProviderSettings;
use crate::assembler::{Assembler, Counted};
use crate::calls::{CallIds, tool_name};
use crate::conversation::{Said, arguments, data_url, event, said, text};
use crate::memory::{Recalled, ReplyState};
use crate::schema;

/// Type of an item that is a call.
const CALL: &str = "function_call";
/// Type of an item that is reasoning.
const REASONING: &str = "reasoning";
/// Type of an item that is a search of the web.
const SEARCH: &str = "web_search_call";

/// Returns the request's body.
pub(super) fn body<'a>(
    settings: &ProviderSettings,
    model: &str,
    request: &ModelRequest<'a>,
    recalled: &Recalled,
) -> Body<'a> {
    let mut ids = CallIds::default();
    let input: Vec<Written<'a>> = request
        .messages
        .iter()
        .zip(&recalled.states)
        .flat_map(|(said, state)| items(said, state.as_ref(), request.pictures, &mut ids))
        .collect();
    let members = json!({
        "model": model,
        "instructions": request.instructions.whole(),
        "stream": true,
        "store": false,
    });
    let mut body = Body::new(Some(("input", input)), members);
    let (tools, _) = schema::taken(settings.wire, request.tools);
    let search = request.web_search.then(|| json!({ "type": "web_search" }));
    if !tools.is_empty() || search.is_some() {
        let tool = |tool: &bobbin_agent_api::tool::ToolSpec| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": schema::of_tool(tool),
                "strict": false,
            })
        };
        body.insert("tools", tools.iter().map(tool).chain(search).collect::<Value>());
    }
    if let Some(conversation) = request.conversation {
        body.insert("prompt_cache_key", conversation);
    }
    if let Some(most) = settings.max_output_tokens {
        body.insert("max_output_tokens", most);
    }
    let reasons = settings.body.contains_key("reasoning") || request.effort.is_some() || thinks(model);
    let more = [
        (reasons, "reasoning.encrypted_content"),
        (request.web_search, "web_search_call.action.sources"),
    ];
    let more: Vec<&str> = more
        .into_iter()
        .filter_map(|(wanted, name)| wanted.then_some(name))
        .collect();
    if !more.is_empty() {
        body.insert("include", json!(more));
    }
    body
}

/// Whether a model is known to reason.
fn thinks(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let starts = ["gpt-5", "o1", "o3", "o4", "codex"];
    starts.iter().any(|start| model.starts_with(start)) && !model.contains("-chat")
}

fn items<'a>(
    message: &'a Message,
    state: Option<&ReplyState>,
    pictures: &'a Pictures,
    ids: &mut CallIds<'a>,
) -> Vec<Written<'a>> {
    match message {
        Message::User { parts } => vec![users(parts, pictures)],
        Message::Agent { text, calls } => {
            let said = (!text.is_empty()).then(|| Written::Plain {
                role: "assistant",
                content: text.into(),
            });
            let mut calls = calls.iter().map(|call| {
                Written::Other(json!({
                    "type": "function_call",
                    "call_id": ids.next(&call.id),
                    "name": tool_name(&call.tool),
                    "arguments": arguments(call),
                }))
            });
            match state.filter(|state| !state.blocks.is_empty()) {
                // Reasoning comes before the items that resulted from it.
                Some(state) => {
                    let block = |block: &Value| {
                        if is_call(block) {
                            calls.next()
                        } else {
                            Some(Written::Other(block.clone()))
                        }
                    };
                    state.blocks.iter().filter_map(block).collect()
                }
                None => said.into_iter().chain(calls).collect(),
            }
        }
        Message::Result { call_id, text, .. } => {
            let id = ids.of_result(call_id).into_iter();
            let result = |id| json!({ "type": "function_call_output", "call_id": id, "output": text });
            id.map(|id| Written::Other(result(id))).collect()
        }
    }
}

fn users<'a>(parts: &'a [InputPart], pictures: &'a Pictures) -> Written<'a> {
    Written::users(said(parts, pictures), |said| match said {
        Said::Text(text) => json!({ "type": "input_text", "text": text }),
        Said::Picture(picture) => json!({ "type": "input_image", "image_url": data_url(picture) }),
    })
}

/// Reads a reply. A call's slot is its index in the output.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// Kind and place of the last text piece; `None` after a call.
    last: Option<(Prose, PartPosition)>,
    /// The items so far, in the form for sending back.
    blocks: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Reasoning,
}

/// Number of the output item, and of the part in it.
type PartPosition = (Option<u64>, Option<u64>);

impl Responses {
    /// Passes on a piece of text. A new message or part starts a new paragraph, unless a call came between.
    fn prose(&mut self, prose: Prose, event: &Value, reply: &mut Assembler) {
        let piece = text(event, "/delta");
        if piece.is_empty() {
            return;
        }
        let part = event["summary_index"]
            .as_u64()
            .or(event["content_index"].as_u64());
        let place = (event["output_index"].as_u64(), part);
        let is_new_paragraph = matches!(self.last, Some((last, at)) if last == prose && at != place);
        self.last = Some((prose, place));
        let paragraph = if is_new_paragraph { "\n\n" } else { "" };
        let piece = format!("{paragraph}{piece}");
        match prose {
            Prose::Text => reply.text(&piece),
            Prose::Reasoning => reply.reasoning(&piece),
        }
    }

    fn start_call(&mut self, slot: &str, item: &Value, reply: &mut Assembler) -> Result<(), Fault> {
        self.last = None;
        reply.start_call(slot, text(item, "/call_id"), text(item, "/name"))
    }
}

impl Decoder for Responses {
    fn event(&mut self, data: &str, reply: &mut Assembler) -> Result<Flow, Fault> {
        if data.trim() == "[DONE]" {
            return Ok(if reply.is_stopped() {
                Flow::Over
            } else {
                Flow::More
            });
        }
        let event = event(data).map_err(Fault::Malformed)?;
        let slot = event["output_index"].to_string();
        match text(&event, "/type") {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.prose(Prose::Text, &event, reply);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.prose(Prose::Reasoning, &event, reply);
            }
            "response.output_item.added" if text(&event, "/item/type") == "function_call" => {
                self.start_call(&slot, &event["item"], reply)?;
            }
            "response.function_call_arguments.delta" => {
                let known = reply.arguments(&slot, text(&event, "/delta"));
                known
                    .then_some(())
                    .ok_or_else(|| Fault::Malformed("a piece of a call belongs to none".to_owned()))?;
            }
            "response.function_call_arguments.done" => {
                reply.all_arguments(&slot, text(&event, "/arguments"));
            }
            "response.output_item.done" if text(&event, "/item/type") == SEARCH => {
                self.last = None;
                // Reasoning that led to a search cannot go back without it, and the provider has stored neither.
                while self.blocks.pop_if(|block| block["type"] == REASONING).is_some() {}
                reply.search(search(&event["item"]));
            }
            "response.output_item.done" if text(&event, "/item/type") != "function_call" => {
                self.blocks.extend(block(&event["item"]));
            }
            "response.output_item.done" => {
                self.blocks.push(json!({ "type": CALL }));
                let whole = text(&event, "/item/arguments");
                if !reply.all_arguments(&slot, whole) {
                    self.start_call(&slot, &event["item"], reply)?;
                    reply.arguments(&slot, whole);
                }
            }
            "response.completed" => {
                usage(&event, reply);
                reply.stop(Stop::Done);
                return Ok(Flow::Over);
            }
            "response.incomplete" => {
                usage(&event, reply);
                if text(&event, "/response/incomplete_details/reason") == "content_filter" {
                    return Err(Fault::Filtered);
                }
                reply.stop(Stop::Length);
                return Ok(Flow::Over);
            }
            "response.failed" => return Err(Fault::of(&event["response"])),
            "error" => return Err(Fault::of(&event)),
            "" => return Err(Fault::Malformed("an event has no type".to_owned())),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn reply_state(&mut self) -> Option<ReplyState> {
        let blocks = std::mem::take(&mut self.blocks);
        let calls = blocks.iter().filter(|block| is_call(block)).count();
        let wanted = calls > 0 && blocks.iter().any(|block| block["type"] == REASONING);
        wanted.then(|| ReplyState {
            calls: vec![Map::new(); calls],
            blocks,
            ..ReplyState::default()
        })
    }
}

/// Returns the search of an item.
fn search(item: &Value) -> WebSearch {
    let action = &item["action"];
    let opened = action["url"].as_str().map(|url| WebPage {
        url: url.to_owned(),
        title: String::new(),
    });
    let page = |source: &Value| {
        let url = source["url"].as_str()?.to_owned();
        let title = text(source, "/title").to_owned();
        Some(WebPage { url, title })
    };
    let sources = action["sources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(page);
    let queries = action["queries"].as_array().into_iter().flatten();
    let queries: Vec<&str> = queries.filter_map(Value::as_str).collect();
    let query = match text(action, "/query") {
        "" if queries.is_empty() => text(action, "/url").to_owned(),
        "" => queries.join("; "),
        query => query.to_owned(),
    };
    WebSearch {
        query,
        found: sources.chain(opened).collect(),
        error: (text(item, "/status") == "failed").then(|| "it failed".to_owned()),
    }
}

fn is_call(block: &Value) -> bool {
    block["type"] == CALL
}

/// Returns an item in the form for sending back, if it is reasoning that can be decrypted later, or a message. Its
/// id is removed: the provider would look it up, but has stored nothing.
fn block(item: &Value) -> Option<Value> {
    match text(item, "/type") {
        REASONING => {
            let encrypted = item["encrypted_content"].as_str()?;
            let summary = item["summary"].as_array().cloned().unwrap_or_default();
            Some(json!({ "type": REASONING, "summary": summary, "encrypted_content": encrypted }))
        }
        "message" => {
            let parts = item["content"].as_array()?.iter();
            let said: String = parts
                .map(|part| match text(part, "/text") {
                    "" => text(part, "/refusal"),
                    said => said,
                })
                .collect();
            (!said.is_empty()).then(|| json!({ "role": "assistant", "content": said }))
        }
        _ => None,
    }
}

fn usage(event: &Value, reply: &mut Assembler) {
    let usage = &event["response"]["usage"];
    if usage.is_object() {
        reply.usage(Counted {
            input: usage["input_tokens"].as_u64(),
            output: usage["output_tokens"].as_u64(),
            cached: usage["input_tokens_details"]["cached_tokens"].as_u64(),
            reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
        });
    }
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::model::ModelEvent;
    use bobbin_model::TurnId;

    use super::*;

    #[test]
    fn a_call_may_come_whole() {
        let mut reply = Assembler::new(TurnId(7));
        let item = json!({ "type": "function_call", "call_id": "a", "name": "x", "arguments": "{}" });
        let events = [
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.something.new" }),
        ];
        for event in events {
            assert_eq!(
                Responses::default().event(&event.to_string(), &mut reply),
                Ok(Flow::More)
            );
        }
        let end = json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": "max_output_tokens" } } });
        assert_eq!(
            Responses::default().event(&end.to_string(), &mut reply),
            Ok(Flow::Over)
        );
        let (pieces, end) = reply.end().unwrap();
        assert_eq!(pieces.len(), 3);
        assert_eq!(
            pieces[1],
            ModelEvent::CallArguments {
                id: "a".into(),
                text: "{}".into()
            }
        );
        assert_eq!(end.stop, Stop::Length);
    }

    #[test]
    fn messages_and_parts_of_a_summary_are_paragraphs() {
        let said = |kind: &str, item: u64, part: u64, delta: &str| {
            let part_is = if kind == "output_text" {
                "content_index"
            } else {
                "summary_index"
            };
            json!({ "type": format!("response.{kind}.delta"), "output_index": item, part_is: part, "delta": delta })
        };
        let summary = "reasoning_summary_text";
        let call = json!({ "type": "function_call", "call_id": "a", "name": "x" });
        let events = [
            said(summary, 0, 0, "**One**"),
            said(summary, 0, 0, " so"),
            said(summary, 0, 1, "**Two**"),
            said("output_text", 1, 0, "I lo"),
            said("output_text", 1, 0, "ok."),
            said("output_text", 2, 0, "Now."),
            json!({ "type": "response.output_item.added", "output_index": 3, "item": call }),
            said("output_text", 4, 0, "And?"),
        ];
        let (mut wire, mut reply) = (Responses::default(), Assembler::new(TurnId(7)));
        for event in events {
            assert_eq!(wire.event(&event.to_string(), &mut reply), Ok(Flow::More));
        }
        let pieces = reply.take();
        let texts: Vec<&str> = pieces
            .iter()
            .filter_map(|piece| match piece {
                ModelEvent::Text(text) | ModelEvent::Reasoning(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(
            texts,
            ["**One**", " so", "\n\n**Two**", "I lo", "ok.", "\n\nNow.", "And?"]
        );
    }

    #[test]
    fn both_forms_of_an_error_are_read() {
        let expected = Err(Fault::Provider {
            kind: "server_error".into(),
            said: "no".into(),
        });
        let error = json!({ "code": "server_error", "message": "no" });
        for event in [
            json!({ "type": "error", "code": "server_error", "message": "no" }),
            json!({ "type": "error", "error": error }),
            json!({ "type": "response.failed", "response": { "error": error } }),
        ] {
            assert_eq!(
                Responses::default().event(&event.to_string(), &mut Assembler::new(TurnId(7))),
                expected
            );
        }
    }
}
