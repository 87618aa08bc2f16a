//! The provider searches the web: offered where it is set, shown with its addresses, and not sent back as a call.

use bobbin_model::{ItemBody, Turn, TurnStatus};
use bobbin_models::{ProviderSettings, Wire};
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace};
use serde_json::{Value, json};

use crate::support::{Bench, WIRES, models, settings};

const URL: &str = "https://tea.example/oolong";

fn raw(events: &[Value]) -> Part {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    Part::Raw(events.iter().map(event).collect())
}

/// Returns a search as a provider of this wire streams it, as the blocks or items 0 and 1 of its reply.
fn search(wire: Wire) -> Part {
    match wire {
        Wire::Messages => {
            let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
            let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
            let piece = |text: &str| json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": text } });
            let found = json!({ "type": "web_search_result", "url": URL, "title": "Oolong", "encrypted_content": "RUND", "page_age": null });
            raw(&[
                start(
                    0,
                    json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} }),
                ),
                piece("{\"query\": \"how long"),
                piece(" to steep\"}"),
                stop(0),
                start(
                    1,
                    json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found] }),
                ),
                stop(1),
            ])
        }
        Wire::Responses => {
            let action = json!({ "type": "search", "query": "how long to steep", "sources": [{ "type": "url", "url": URL }] });
            let item = |status: &str| json!({ "id": "ws_1", "type": "web_search_call", "status": status });
            let mut done = item("completed");
            done["action"] = action;
            raw(&[
                json!({ "type": "response.output_item.added", "output_index": 0, "item": item("in_progress") }),
                json!({ "type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1" }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": done }),
            ])
        }
        Wire::ChatCompletions => Part::Text("I cannot search. ".into()),
    }
}

fn look() -> Part {
    Part::Call(ScriptedCall {
        id: "a".into(),
        tool: "FindFiles".into(),
        arguments: json!({}),
    })
}

fn searching(wire: Wire, server: &ModelServer) -> ProviderSettings {
    ProviderSettings {
        web_search: true,
        ..settings(wire, &server.base_url())
    }
}

/// Returns the searches of a Turn: query and result.
fn searches(turn: &Turn) -> Vec<(Value, &str)> {
    let mut found = Vec::new();
    for item in &turn.items {
        match &item.body {
            ItemBody::ToolCall {
                tool_name,
                arguments: Some(arguments),
                call_id,
                ..
            } if tool_name == "WebSearch" => {
                let result = turn.items.iter().find_map(|item| match &item.body {
                    ItemBody::ToolResult {
                        call_id: of, result, ..
                    } if of == call_id => Some(result),
                    _ => None,
                });
                found.push((arguments.decode().unwrap(), result.unwrap().as_str()));
            }
            _ => {}
        }
    }
    found
}

fn offers_search(body: &Value) -> bool {
    let tools = body["tools"].as_array().unwrap();
    tools.iter().any(|tool| {
        tool["type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("web_search"))
    })
}

#[tokio::test]
async fn a_search_is_shown_with_its_addresses_and_is_no_call_of_ours() {
    for wire in WIRES {
        let server = ModelServer::start(Script::of([
            Reply::of([search(wire), Part::Text("Four minutes.".into()), look()]),
            Reply::of([Part::Text("So.".into())]),
        ]))
        .await
        .unwrap();
        let workspace = TestWorkspace::default();
        let bench = Bench::with(&workspace, searching(wire, &server), None).await;
        let turn = bench.run("How long?").await;
        assert_eq!(
            (turn.status, turn.error.clone()),
            (TurnStatus::Completed, None),
            "{wire:?}"
        );
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{wire:?}");
        let can = wire != Wire::ChatCompletions;
        assert_eq!(offers_search(&asked[0].body), can, "{wire:?}");
        let found = searches(&turn);
        assert_eq!(found.len(), usize::from(can), "{wire:?}");
        for (query, result) in &found {
            assert_eq!(*query, json!({ "query": "how long to steep" }));
            assert!(result.contains(URL), "{result}");
        }
        // The provider gets its results in the form of its own wire, and never as a call.
        let again = asked[1].body.to_string();
        assert!(!again.contains("WebSearch"), "{wire:?}: {again}");
        assert_eq!(again.contains("RUND"), wire == Wire::Messages, "{again}");
    }
}

#[tokio::test]
async fn nothing_is_searched_unless_it_is_set() {
    for wire in WIRES {
        let server = ModelServer::start(Script::of([Reply::of([Part::Text("So.".into())])]))
            .await
            .unwrap();
        let workspace = TestWorkspace::default();
        let bench = Bench::with(&workspace, settings(wire, &server.base_url()), None).await;
        bench.run("How long?").await;
        let body = &server.asked()[0].body;
        assert!(
            !offers_search(body) && !body.to_string().contains("web_search"),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_failed_search_says_why() {
    let error = json!({ "type": "web_search_tool_result_error", "error_code": "max_uses_exceeded" });
    let result = json!({ "type": "web_search_tool_result", "tool_use_id": "x", "content": error });
    let block = json!({ "type": "content_block_start", "index": 0, "content_block": result });
    let server = ModelServer::start(Script::of([Reply::of([raw(&[block]), Part::Text("So.".into())])]))
        .await
        .unwrap();
    let workspace = TestWorkspace::default();
    let bench = Bench::with_models(&workspace, models(searching(Wire::Messages, &server)), None).await;
    let turn = bench.run("How long?").await;
    assert_eq!(turn.error, None);
    assert!(searches(&turn)[0].1.contains("max_uses_exceeded"));
}
