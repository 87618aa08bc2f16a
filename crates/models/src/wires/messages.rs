//! Anthropic Messages.
//!
//! Roles alternate on this wire: results of calls and the user's next input form one message. Thinking is shown
//! when it comes, but not requested. A reply's signed thinking must be sent back with its calls, so it is taken
//! from the record. If the thinking of a running Turn is lost, the model continues without thinking.

use std::collections::HashMap;

use bobbin_agent_api::model::{Message, ModelRequest, Pictures, Stop, WebPage, WebSearch};
use serde_json::{Map, Value, json};

use super::body::Body;
use super::{Decoder, Fault, Flow};
use crate::ProviderSettings;
use crate::assembler::{Assembler, Counted};
use crate::calls::{CallIds, tool_name};
use crate::conversation::{Said, arguments, event, said, text, value};
use crate::memory::{Recalled, ReplyState};
use crate::schema;

/// Default limit of a reply's tokens for an unknown model: the wire requires a number.
const MAX_OUTPUT_TOKENS: u64 = 8192;
/// The default for Anthropic's models since 3.7, all of which can write this much.
const MAX_OUTPUT_TOKENS_NOW: u64 = 32_000;
/// The default for the first models of the third generation, which can write no more.
const MAX_OUTPUT_TOKENS_THEN: u64 = 4096;

/// The provider's own tool that searches the web.
const SEARCH_TOOL: &str = "web_search_20250305";
/// Its name, which no tool of ours has.
const SEARCH: &str = "web_search";
/// Most searches of one reply: each costs money.
const MAX_SEARCHES: u32 = 5;
/// Type of a block in which the provider calls a tool of its own.
const SEARCH_CALL: &str = "server_tool_use";
/// Type of a block with the results of a search.
const SEARCH_RESULT: &str = "web_search_tool_result";

/// Returns the request's body.
pub(super) fn body<'a>(
    settings: &ProviderSettings,
    model: &str,
    request: &ModelRequest<'a>,
    recalled: &Recalled,
) -> Body<'a> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut ids = CallIds::default();
    for (message, state) in request.messages.iter().zip(&recalled.states) {
        let (role, mut blocks) = blocks(message, request.pictures, state.as_ref(), &mut ids);
        if !request.web_search {
            blocks.retain(|block| !is_search(block));
        }
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    if let Some(last) = messages.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
        cached(last);
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|(role, blocks)| json!({ "role": role, "content": blocks }))
        .collect();
    let instructions = request.instructions;
    let parts = [&instructions.standing, &instructions.current];
    let parts = parts.into_iter().filter(|text| !text.trim().is_empty());
    let mut system: Vec<Value> = parts
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    // The stable part stays cached even when the mode or the day changes.
    if let Some(standing) = system.first_mut() {
        cached(standing);
    }
    let members = json!({
        "model": model,
        "system": system,
        "messages": messages,
        "max_tokens": settings.max_output_tokens.unwrap_or_else(|| max_output_tokens(model)),
        "stream": true,
    });
    let mut body = Body::new(None, members);
    let (tools, _) = schema::taken(settings.wire, request.tools);
    let search = request
        .web_search
        .then(|| json!({ "type": SEARCH_TOOL, "name": SEARCH, "max_uses": MAX_SEARCHES }));
    if !tools.is_empty() || search.is_some() {
        let tool = |tool: &bobbin_agent_api::tool::ToolSpec| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": schema::of_tool(tool),
            })
        };
        body.insert("tools", tools.iter().map(tool).chain(search).collect::<Value>());
    }
    body
}

/// Returns the default limit of a reply's tokens. A model refuses a number over its maximum, and a small number
/// that suits every model is too small for writing a whole file.
pub(super) fn max_output_tokens(model: &str) -> u64 {
    let model = model.to_ascii_lowercase().replace('.', "-");
    let Some((_, version)) = model.split_once("claude-") else {
        return MAX_OUTPUT_TOKENS;
    };
    let is = |starts: &[&str]| starts.iter().any(|start| version.starts_with(start));
    if is(&["3-5", "2", "instant"]) {
        MAX_OUTPUT_TOKENS
    } else if is(&["3-opus", "3-sonnet", "3-haiku"]) {
        MAX_OUTPUT_TOKENS_THEN
    } else {
        MAX_OUTPUT_TOKENS_NOW
    }
}

/// Marks the end of the part that the next request of the Turn repeats, so the provider can cache it.
fn cached(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

/// Returns a message's role and blocks. The wire refuses blocks of blank text.
fn blocks<'a>(
    message: &'a Message,
    pictures: &Pictures,
    state: Option<&ReplyState>,
    ids: &mut CallIds<'a>,
) -> (&'static str, Vec<Value>) {
    let words = |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match message {
        Message::User { parts } => {
            let block = |said: Said<'_>| match said {
                Said::Text(text) => words(&text),
                Said::Picture(picture) => {
                    let source =
                        json!({ "type": "base64", "media_type": picture.media_type, "data": picture.base64 });
                    Some(json!({ "type": "image", "source": source }))
                }
            };
            (
                "user",
                said(parts, pictures).into_iter().filter_map(block).collect(),
            )
        }
        Message::Agent { text, calls } => {
            let mut calls = calls.iter().map(|call| {
                let (id, name) = (ids.next(&call.id), tool_name(&call.tool));
                json!({ "type": "tool_use", "id": id, "name": name, "input": value(arguments(call)) })
            });
            let blocks = match state.filter(|state| !state.blocks.is_empty()) {
                // The signature covers the order of the blocks.
                Some(state) => state
                    .blocks
                    .iter()
                    .filter_map(|block| {
                        if is_call(block) {
                            calls.next()
                        } else {
                            Some(block.clone())
                        }
                    })
                    .collect(),
                None => words(text).into_iter().chain(calls).collect(),
            };
            ("assistant", blocks)
        }
        Message::Result {
            call_id,
            text,
            success,
        } => {
            let Some(id) = ids.of_result(call_id) else {
                return ("user", Vec::new());
            };
            let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            if !success {
                block["is_error"] = true.into();
            }
            ("user", vec![block])
        }
    }
}

/// Removes the request for thinking when a round of calls continues whose thinking is lost: the provider would
/// refuse the request.
pub(super) fn think_only_where_possible(body: &mut Map<String, Value>) {
    let messages = body.get("messages").and_then(Value::as_array);
    let Some([.., before, last]) = messages.map(Vec::as_slice) else {
        return;
    };
    let goes_on = last["content"][0]["type"] == "tool_result";
    let thought = is_thought(&before["content"][0]);
    let thinks = body
        .get("thinking")
        .is_some_and(|thinking| thinking["type"] == "enabled");
    if thinks && goes_on && !thought {
        body.remove("thinking");
    }
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

fn is_search(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some(SEARCH_CALL | SEARCH_RESULT))
}

fn is_thought(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// Reads a reply.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The blocks so far with their numbers, in the form for sending back.
    blocks: Vec<(u64, Value)>,
    /// Whether the blocks came in an order that cannot be followed.
    astray: bool,
    /// Inputs that came whole at the start of a call, by block.
    whole: HashMap<u64, String>,
    /// Inputs of the provider's own calls so far, by block.
    inputs: HashMap<u64, String>,
}

impl Decoder for Messages {
    fn event(&mut self, data: &str, reply: &mut Assembler) -> Result<Flow, Fault> {
        let event = event(data).map_err(Fault::Malformed)?;
        let index = event["index"].as_u64().unwrap_or_default();
        match text(&event, "/type") {
            "message_start" => usage(&event["message"]["usage"], reply),
            "content_block_start" => self.start(index, &event["content_block"], reply)?,
            "content_block_delta" => {
                delta(index, &event["delta"], reply)?;
                self.follow(index, &event["delta"]);
            }
            "content_block_stop" => {
                if let Some(whole) = self.whole.remove(&index) {
                    reply.all_arguments(&index.to_string(), &whole);
                }
                if let Some(input) = self.inputs.remove(&index)
                    && let Some((_, block)) = self.blocks.iter_mut().find(|(at, _)| *at == index)
                {
                    block["input"] = value(&input);
                }
            }
            "message_delta" => {
                usage(&event["usage"], reply);
                match text(&event, "/delta/stop_reason") {
                    "" => {}
                    "max_tokens" => reply.stop(Stop::Length),
                    "refusal" => return Err(Fault::Filtered),
                    "model_context_window_exceeded" => {
                        return Err(Fault::Provider {
                            kind: "context_length_exceeded".to_owned(),
                            said: String::new(),
                        });
                    }
                    _ => reply.stop(Stop::Done),
                }
            }
            "message_stop" if reply.is_stopped() => return Ok(Flow::Over),
            "message_stop" => return Err(Fault::Malformed("it ended without a stop_reason".to_owned())),
            "error" => {
                return Err(Fault::of(&event));
            }
            "" => return Err(Fault::Malformed("an event has no type".to_owned())),
            // `ping`, and events that were added to the format later.
            _ => {}
        }
        Ok(Flow::More)
    }

    fn reply_state(&mut self) -> Option<ReplyState> {
        let blocks = std::mem::take(&mut self.blocks)
            .into_iter()
            .map(|(_, block)| block);
        // The provider sends blank text blocks but refuses them.
        let is_blank = |block: &Value| block["type"] == "text" && text(block, "/text").trim().is_empty();
        let blocks: Vec<Value> = blocks.filter(|block| !is_blank(block)).collect();
        let calls = blocks.iter().filter(|block| is_call(block)).count();
        let wanted =
            !self.astray && calls > 0 && blocks.iter().any(|block| is_thought(block) || is_search(block));
        wanted.then(|| ReplyState {
            calls: vec![Map::new(); calls],
            blocks,
            ..ReplyState::default()
        })
    }
}

impl Messages {
    /// Appends a piece to its block: the last one, because blocks come one after another.
    fn follow(&mut self, index: u64, delta: &Value) {
        let name = match text(delta, "/type") {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => {
                if let Some(input) = self.inputs.get_mut(&index) {
                    input.push_str(text(delta, "/partial_json"));
                }
                return;
            }
            _ => return,
        };
        let last = self.blocks.last_mut().filter(|(at, _)| *at == index);
        let Some((_, block)) = last else {
            self.astray = true;
            return;
        };
        match &mut block[name] {
            Value::String(known) => known.push_str(text(delta, &format!("/{name}"))),
            new => *new = delta[name].clone(),
        }
    }

    fn start(&mut self, index: u64, block: &Value, reply: &mut Assembler) -> Result<(), Fault> {
        match text(block, "/type") {
            "tool_use" => self.blocks.push((index, json!({ "type": "tool_use" }))),
            "text" | "thinking" | "redacted_thinking" | SEARCH_RESULT => {
                self.blocks.push((index, block.clone()));
            }
            SEARCH_CALL => {
                self.blocks.push((index, block.clone()));
                self.inputs.insert(index, String::new());
            }
            _ => {}
        }
        match text(block, "/type") {
            "text" => reply.text(text(block, "/text")),
            "thinking" => reply.reasoning(text(block, "/thinking")),
            "tool_use" => {
                reply.start_call(&index.to_string(), text(block, "/id"), text(block, "/name"))?;
                if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                    self.whole.insert(index, block["input"].to_string());
                }
            }
            SEARCH_RESULT => reply.search(self.search(block)),
            _ => {}
        }
        Ok(())
    }
}

impl Messages {
    /// Returns the search of a result block; the block of its call came before.
    fn search(&self, result: &Value) -> WebSearch {
        let is_call = |block: &Value| block["type"] == SEARCH_CALL && block["id"] == result["tool_use_id"];
        let call = self.blocks.iter().find(|(_, block)| is_call(block));
        let page = |found: &Value| {
            let url = found["url"].as_str()?.to_owned();
            let title = text(found, "/title").to_owned();
            Some(WebPage { url, title })
        };
        let pages = result["content"].as_array().into_iter().flatten();
        WebSearch {
            query: call.map_or_else(String::new, |(_, call)| text(call, "/input/query").to_owned()),
            found: pages.filter_map(page).collect(),
            error: result["content"]["error_code"].as_str().map(str::to_owned),
        }
    }
}

fn delta(index: u64, delta: &Value, reply: &mut Assembler) -> Result<(), Fault> {
    match text(delta, "/type") {
        "text_delta" => reply.text(text(delta, "/text")),
        "thinking_delta" => reply.reasoning(text(delta, "/thinking")),
        "input_json_delta" => {
            // Calls that the provider runs itself have the same form; they have no slot here.
            reply.arguments(&index.to_string(), text(delta, "/partial_json"));
        }
        "" => return Err(Fault::Malformed("a delta has no type".to_owned())),
        _ => {}
    }
    Ok(())
}

/// Records tokens; tokens from a cache count as read.
fn usage(usage: &Value, reply: &mut Assembler) {
    if !usage.is_object() {
        return;
    }
    let cached = usage["cache_read_input_tokens"].as_u64();
    let aside = [usage["cache_creation_input_tokens"].as_u64(), cached];
    let aside: u64 = aside.into_iter().flatten().sum();
    reply.usage(Counted {
        input: usage["input_tokens"]
            .as_u64()
            .map(|input| input.saturating_add(aside)),
        output: usage["output_tokens"].as_u64(),
        cached,
        reasoning: None,
    });
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::model::ModelEvent;
    use bobbin_model::TurnId;

    use super::*;

    #[test]
    fn an_input_may_come_whole_and_unknown_blocks_mean_nothing() {
        let (mut wire, mut reply) = (Messages::default(), Assembler::new(TurnId(7)));
        let events = [
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1 } } }),
            json!({ "type": "ping" }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "server_tool_use", "id": "s" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{}" } }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "a", "name": "x", "input": { "k": 1 } } }),
            json!({ "type": "content_block_stop", "index": 1 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
        ];
        for event in events {
            assert_eq!(wire.event(&event.to_string(), &mut reply), Ok(Flow::More));
        }
        assert_eq!(
            wire.event("{\"type\":\"message_stop\"}", &mut reply),
            Ok(Flow::Over)
        );
        let (pieces, end) = reply.end().unwrap();
        let id = || "a".to_owned();
        assert_eq!(
            pieces,
            [
                ModelEvent::CallStarted {
                    id: id(),
                    tool: "x".into()
                },
                ModelEvent::CallArguments {
                    id: id(),
                    text: "{\"k\":1}".into()
                },
                ModelEvent::CallEnded { id: id() },
            ]
        );
        let tokens = end.usage.unwrap().tokens;
        assert_eq!((tokens.input_tokens, tokens.output_tokens), (7, 9));
    }

    #[test]
    fn a_model_is_asked_for_as_much_as_it_can_write() {
        for (model, tokens) in [
            ("claude-sonnet-4-5", 32_000),
            ("claude-opus-4-1-20250805", 32_000),
            ("anthropic/claude-3.7-sonnet", 32_000),
            ("claude-3-5-haiku-latest", 8192),
            ("claude-3-haiku-20240307", 4096),
            ("deepseek-chat", 8192),
        ] {
            assert_eq!(max_output_tokens(model), tokens, "{model}");
        }
    }

    #[test]
    fn results_and_the_next_words_are_one_message() {
        let result = |id: &str, success| Message::Result {
            call_id: id.into(),
            text: "r".into(),
            success,
        };
        let none = Pictures::default();
        let mut ids = CallIds::default();
        let calls = [ids.next("1"), ids.next("2")];
        let results = [result("1", true), result("2", false)];
        let [first, second] = results
            .each_ref()
            .map(|result| blocks(result, &none, None, &mut ids));
        assert_eq!(
            [&first.1[0]["tool_use_id"], &second.1[0]["tool_use_id"]],
            calls.each_ref()
        );
        assert_eq!((first.0, second.0), ("user", "user"));
        assert_eq!(
            (&first.1[0]["is_error"], &second.1[0]["is_error"]),
            (&Value::Null, &json!(true))
        );
        let blank = Message::Agent {
            text: " ".into(),
            calls: Vec::new(),
        };
        assert!(blocks(&blank, &none, None, &mut CallIds::default()).1.is_empty());
    }
}
