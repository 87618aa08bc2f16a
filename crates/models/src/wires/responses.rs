//! `OpenAI` Responses. Nothing is kept at the provider (`store: false`): the whole conversation is sent.

use bobbin_engine::{Message, ModelRequest, Stop};
use serde_json::{Value, json};

use super::{Decoder, Fault, Flow};
use crate::ProviderSettings;
use crate::assembler::Assembler;
use crate::calls::{CallIds, tool_name};
use crate::conversation::{arguments, event, text, user_text};
use crate::schema;

/// Returns the request's body.
pub(super) fn body(settings: &ProviderSettings, model: &str, request: &ModelRequest<'_>) -> Value {
    let mut ids = CallIds::default();
    let input: Vec<Value> = request
        .messages
        .iter()
        .flat_map(|said| items(said, &mut ids))
        .collect();
    let mut body = json!({
        "model": model,
        "instructions": request.instructions.whole(),
        "input": input,
        "stream": true,
        "store": false,
    });
    let (tools, _) = schema::taken(settings.wire, request.tools);
    if !tools.is_empty() {
        let tool = |tool: &bobbin_core::tool::ToolSpec| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": schema::of_tool(tool),
                "strict": false,
            })
        };
        body["tools"] = tools.iter().map(tool).collect();
    }
    if let Some(most) = settings.max_output_tokens {
        body["max_output_tokens"] = most.into();
    }
    body
}

fn items<'a>(message: &'a Message, ids: &mut CallIds<'a>) -> Vec<Value> {
    match message {
        Message::User { parts } => vec![json!({ "role": "user", "content": user_text(parts) })],
        Message::Agent { text, calls } => {
            let said = (!text.is_empty()).then(|| json!({ "role": "assistant", "content": text }));
            let calls = calls.iter().map(|call| {
                json!({
                    "type": "function_call",
                    "call_id": ids.begin(&call.id),
                    "name": tool_name(&call.tool),
                    "arguments": arguments(call),
                })
            });
            said.into_iter().chain(calls).collect()
        }
        Message::Result { call_id, text, .. } => {
            let id = ids.of_result(call_id).into_iter();
            id.map(|id| json!({ "type": "function_call_output", "call_id": id, "output": text }))
                .collect()
        }
    }
}

/// Reads a reply. A call's slot is its place in the output.
#[derive(Debug)]
pub(super) struct Responses;

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
            "response.output_text.delta" | "response.refusal.delta" => reply.text(text(&event, "/delta")),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                reply.reasoning(text(&event, "/delta"));
            }
            "response.output_item.added" if text(&event, "/item/type") == "function_call" => {
                reply.begin(&slot, text(&event, "/item/call_id"), text(&event, "/item/name"));
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
            "response.output_item.done" if text(&event, "/item/type") == "function_call" => {
                let whole = text(&event, "/item/arguments");
                if !reply.all_arguments(&slot, whole) {
                    reply.begin(&slot, text(&event, "/item/call_id"), text(&event, "/item/name"));
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
            "response.failed" => return Err(fault(&event, "/response/error")),
            "error" if event.get("error").is_some_and(Value::is_object) => {
                return Err(fault(&event, "/error"));
            }
            "error" => return Err(fault(&event, "")),
            "" => return Err(Fault::Malformed("an event has no type".to_owned())),
            _ => {}
        }
        Ok(Flow::More)
    }
}

fn fault(event: &Value, place: &str) -> Fault {
    Fault::Provider {
        kind: text(event, &format!("{place}/code")).to_owned(),
        said: text(event, &format!("{place}/message")).to_owned(),
    }
}

fn usage(event: &Value, reply: &mut Assembler) {
    let usage = &event["response"]["usage"];
    if usage.is_object() {
        reply.usage(usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64());
    }
}

#[cfg(test)]
mod tests {
    use bobbin_engine::ModelEvent;
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
            assert_eq!(Responses.event(&event.to_string(), &mut reply), Ok(Flow::More));
        }
        let end = json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": "max_output_tokens" } } });
        assert_eq!(Responses.event(&end.to_string(), &mut reply), Ok(Flow::Over));
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
                Responses.event(&event.to_string(), &mut Assembler::new(TurnId(7))),
                expected
            );
        }
    }
}
