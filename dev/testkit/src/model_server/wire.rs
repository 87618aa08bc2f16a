//! How each wire writes a reply: written from the providers' published descriptions, not from our client.

use serde_json::{Value, json};

use super::script::{ErrorPart, Part, Reply, ScriptedCall};

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Chat,
    Messages,
    Responses,
}

/// A step of a stream on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Send(String),
    PauseMs(u64),
    Stall,
    Cut,
}

impl Wire {
    /// Finds the wire by the end of a request's path.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        [
            ("/chat/completions", Self::Chat),
            ("/messages", Self::Messages),
            ("/responses", Self::Responses),
        ]
        .into_iter()
        .find_map(|(end, wire)| path.ends_with(end).then_some(wire))
    }

    /// Returns the body of an answer that is an error.
    pub(super) fn error(self, error: &ErrorPart) -> String {
        let ErrorPart { kind, message } = error;
        let body = match self {
            Self::Chat | Self::Responses => {
                json!({ "error": { "message": message, "type": kind, "code": kind, "param": null } })
            }
            Self::Messages => json!({ "type": "error", "error": { "type": kind, "message": message } }),
        };
        body.to_string()
    }

    /// Returns a reply's stream.
    pub(super) fn steps(self, reply: &Reply, model: &Value) -> Vec<Step> {
        let mut writer = Writer {
            wire: self,
            steps: Vec::new(),
            index: 0,
            calls: 0,
        };
        writer.begin(reply, model);
        for part in &reply.parts {
            match part {
                Part::Text(text) => writer.prose(text, Prose::Text),
                Part::Reasoning(text) => writer.prose(text, Prose::Reasoning),
                Part::Call(call) => writer.calls(std::slice::from_ref(call)),
                Part::Calls(calls) => writer.calls(calls),
                Part::Comment(text) => writer.steps.push(Step::Send(format!(": {text}\n\n"))),
                Part::Raw(text) => writer.steps.push(Step::Send(text.clone())),
                Part::PauseMs(millis) => writer.steps.push(Step::PauseMs(*millis)),
                Part::Error(error) => {
                    writer.error(error);
                    return writer.steps;
                }
                Part::Stall => {
                    writer.steps.push(Step::Stall);
                    return writer.steps;
                }
                Part::Cut => {
                    writer.steps.push(Step::Cut);
                    return writer.steps;
                }
                Part::Close => return writer.steps,
            }
        }
        writer.end(reply);
        writer.steps
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Reasoning,
}

struct Writer {
    wire: Wire,
    steps: Vec<Step>,
    /// Number of the next block or output item.
    index: usize,
    calls: usize,
}

impl Writer {
    fn send(&mut self, event: &Value) {
        let text = match (self.wire, event["type"].as_str()) {
            (Wire::Messages | Wire::Responses, Some(name)) => format!("event: {name}\ndata: {event}\n\n"),
            _ => format!("data: {event}\n\n"),
        };
        self.steps.push(Step::Send(text));
    }

    fn chunk(&mut self, delta: &Value, finish: Option<&str>) {
        self.send(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        }));
    }

    fn begin(&mut self, reply: &Reply, model: &Value) {
        match self.wire {
            Wire::Chat => self.chunk(&json!({ "role": "assistant", "content": "" }), None),
            Wire::Messages => {
                let usage = reply.usage.unwrap_or_default();
                let input = usage.input.saturating_sub(usage.cached);
                let usage = json!({ "input_tokens": input, "cache_read_input_tokens": usage.cached, "output_tokens": 0 });
                let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage });
                self.send(&json!({ "type": "message_start", "message": message }));
                self.send(&json!({ "type": "ping" }));
            }
            Wire::Responses => {
                let response = json!({ "id": "resp_1", "status": "in_progress", "model": model });
                self.send(&json!({ "type": "response.created", "response": response }));
                self.send(&json!({ "type": "response.in_progress", "response": response }));
            }
        }
    }

    fn prose(&mut self, text: &str, prose: Prose) {
        let index = self.index;
        self.index += 1;
        let thinks = prose == Prose::Reasoning;
        match self.wire {
            Wire::Chat => {
                let name = if thinks { "reasoning_content" } else { "content" };
                for word in text.split_inclusive(' ') {
                    self.chunk(&json!({ name: word }), None);
                }
            }
            Wire::Messages => {
                let (kind, field) = if thinks {
                    ("thinking", "thinking")
                } else {
                    ("text", "text")
                };
                let block = json!({ "type": kind, field: "" });
                self.send(&json!({ "type": "content_block_start", "index": index, "content_block": block }));
                for word in text.split_inclusive(' ') {
                    let delta = json!({ "type": format!("{kind}_delta"), field: word });
                    self.send(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
                }
                if thinks {
                    let delta = json!({ "type": "signature_delta", "signature": "c2lnbmVk" });
                    self.send(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
                }
                self.send(&json!({ "type": "content_block_stop", "index": index }));
            }
            Wire::Responses => {
                let id = format!("item_{index}");
                let kind = if thinks { "reasoning" } else { "message" };
                let name = if thinks {
                    "response.reasoning_summary_text"
                } else {
                    "response.output_text"
                };
                let item = json!({ "id": id, "type": kind });
                self.send(
                    &json!({ "type": "response.output_item.added", "output_index": index, "item": item }),
                );
                for word in text.split_inclusive(' ') {
                    self.send(&json!({ "type": format!("{name}.delta"), "item_id": id, "output_index": index, "delta": word }));
                }
                self.send(&json!({ "type": format!("{name}.done"), "item_id": id, "output_index": index, "text": text }));
                self.send(
                    &json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
                );
            }
        }
    }

    fn calls(&mut self, calls: &[ScriptedCall]) {
        let first = (self.index, self.calls);
        self.index += calls.len();
        self.calls += calls.len();
        let pieces: Vec<Vec<String>> = calls.iter().map(|call| halves(&call.text())).collect();
        match self.wire {
            Wire::Chat => {
                for (call, n) in calls.iter().zip(first.1..) {
                    let function = json!({ "name": call.tool, "arguments": "" });
                    let call = json!({ "index": n, "id": call.id, "type": "function", "function": function });
                    self.chunk(&json!({ "tool_calls": [call] }), None);
                }
                for (n, piece) in alternating(&pieces) {
                    let call = json!({ "index": first.1 + n, "function": { "arguments": piece } });
                    self.chunk(&json!({ "tool_calls": [call] }), None);
                }
            }
            Wire::Messages => {
                for ((call, pieces), index) in calls.iter().zip(&pieces).zip(first.0..) {
                    let block = json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": {} });
                    self.send(
                        &json!({ "type": "content_block_start", "index": index, "content_block": block }),
                    );
                    for piece in pieces {
                        let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                        self.send(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
                    }
                    self.send(&json!({ "type": "content_block_stop", "index": index }));
                }
            }
            Wire::Responses => {
                let item = |call: &ScriptedCall, arguments: &str| json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments });
                for (call, index) in calls.iter().zip(first.0..) {
                    self.send(&json!({ "type": "response.output_item.added", "output_index": index, "item": item(call, "") }));
                }
                for (n, piece) in alternating(&pieces) {
                    let index = first.0 + n;
                    self.send(&json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": piece }));
                }
                for (call, index) in calls.iter().zip(first.0..) {
                    let text = call.text();
                    self.send(&json!({ "type": "response.function_call_arguments.done", "output_index": index, "arguments": text }));
                    self.send(&json!({ "type": "response.output_item.done", "output_index": index, "item": item(call, &text) }));
                }
            }
        }
    }

    fn error(&mut self, error: &ErrorPart) {
        let ErrorPart { kind, message } = error;
        match self.wire {
            Wire::Chat => self.send(&json!({ "error": { "message": message, "type": kind, "code": kind } })),
            Wire::Messages => {
                self.send(&json!({ "type": "error", "error": { "type": kind, "message": message } }));
            }
            Wire::Responses => {
                let response = json!({ "status": "failed", "error": { "code": kind, "message": message } });
                self.send(&json!({ "type": "response.failed", "response": response }));
            }
        }
    }

    fn end(&mut self, reply: &Reply) {
        let called = self.calls > 0;
        match self.wire {
            Wire::Chat => {
                let reason = match (reply.length, called) {
                    (true, _) => "length",
                    (false, true) => "tool_calls",
                    (false, false) => "stop",
                };
                self.chunk(&json!({}), Some(reason));
                if let Some(usage) = reply.usage {
                    let usage = json!({
                        "prompt_tokens": usage.input,
                        "prompt_tokens_details": { "cached_tokens": usage.cached },
                        "completion_tokens": usage.output,
                        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
                    });
                    self.send(&json!({ "object": "chat.completion.chunk", "choices": [], "usage": usage }));
                }
                self.steps.push(Step::Send("data: [DONE]\n\n".to_owned()));
            }
            Wire::Messages => {
                let reason = match (reply.length, called) {
                    (true, _) => "max_tokens",
                    (false, true) => "tool_use",
                    (false, false) => "end_turn",
                };
                let output = reply.usage.map_or(0, |usage| usage.output);
                self.send(&json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": output } }));
                self.send(&json!({ "type": "message_stop" }));
            }
            Wire::Responses => {
                let usage = reply.usage.map(|usage| {
                    json!({
                        "input_tokens": usage.input,
                        "input_tokens_details": { "cached_tokens": usage.cached },
                        "output_tokens": usage.output,
                        "total_tokens": usage.input + usage.output,
                        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
                    })
                });
                let event = if reply.length {
                    let details = json!({ "reason": "max_output_tokens" });
                    json!({ "type": "response.incomplete", "response": { "id": "r1", "status": "incomplete", "incomplete_details": details, "usage": usage } })
                } else {
                    json!({ "type": "response.completed", "response": { "id": "r1", "status": "completed", "usage": usage } })
                };
                self.send(&event);
            }
        }
    }
}

/// Cuts a text into two pieces, at a character.
fn halves(text: &str) -> Vec<String> {
    let (left, right) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [left, right]
        .into_iter()
        .filter(|piece| !piece.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns pieces of several texts by turns, each with the number of its text.
fn alternating(texts: &[Vec<String>]) -> Vec<(usize, &str)> {
    let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..longest).flat_map(|round| {
        texts
            .iter()
            .enumerate()
            .map(move |(n, pieces)| (n, pieces.get(round)))
    });
    rounds
        .filter_map(|(n, piece)| Some((n, piece?.as_str())))
        .collect()
}
