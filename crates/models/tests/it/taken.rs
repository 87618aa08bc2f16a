//! Providers accept the later requests of a Thread, whatever models or tool servers have written into it.

use std::sync::Arc;

use bobbin_agent_api::tool::{
    Effect, PreparedCall, Tool, ToolEnvironment, ToolRefusal, ToolSource, ToolSpec,
};
use bobbin_model::{ItemBody, Json, TurnStatus};
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace};
use serde_json::{Value, json};

use crate::support::{Bench, WIRES, models, settings};

fn call(id: &str, tool: &str) -> Part {
    Part::Call(ScriptedCall {
        id: id.into(),
        tool: tool.into(),
        arguments: json!({ "path": "a.txt" }),
    })
}

#[tokio::test]
async fn names_and_ids_that_no_provider_takes_do_not_stop_a_thread() {
    let long = "x".repeat(100);
    for wire in WIRES {
        let calls = [
            call("functions.shell:0", "multi_tool_use.parallel"),
            call(&long, "größe lesen"),
            call("call_0", "ReadFile"),
            call("", "工具"),
        ];
        let answer = Reply::of([Part::Text("So.".into())]);
        let server = ModelServer::start(Script::of([
            Reply::of(calls),
            answer.clone(),
            // A server that counts calls from 0 in every reply.
            Reply::of([call("call_0", "ReadFile")]),
            answer,
        ]))
        .await
        .unwrap();
        let workspace = TestWorkspace::default();
        let bench = Bench::of(&workspace, wire, &server).await;
        let turn = bench.run("Look.").await;
        assert_eq!(
            (turn.status, turn.error),
            (TurnStatus::Completed, None),
            "{wire:?}"
        );
        let recorded: Vec<(&str, &str)> = turn
            .items
            .iter()
            .filter_map(|item| match &item.body {
                ItemBody::ToolCall {
                    tool_name, call_id, ..
                } => Some((call_id.as_str(), tool_name.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(
            recorded[..3],
            [
                ("functions.shell:0", "multi_tool_use.parallel"),
                (long.as_str(), "größe lesen"),
                ("call_0", "ReadFile"),
            ],
            "the record has what the model wrote"
        );
        let again = bench.run("And again.").await;
        assert_eq!(
            (again.status, again.error),
            (TurnStatus::Completed, None),
            "{wire:?}"
        );
        // The last request starts with the one before it, so a cache stays valid.
        let asked = server.asked();
        let [before, last] = [&asked[2], &asked[3]].map(|asked| {
            let list = asked.body.get("messages").unwrap_or(&asked.body["input"]);
            without_marks(list.as_array().unwrap())
        });
        assert_eq!(last[..before.len()], before, "{wire:?}");
    }
}

/// Returns messages without the marks of a cache, which are on the last one only.
fn without_marks(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for block in messages
        .iter_mut()
        .filter_map(|message| message.get_mut("content")?.as_array_mut())
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        block.remove("cache_control");
    }
    messages
}

/// A tool of another program; it is listed, not called.
struct Foreign(ToolSpec);

impl Tool for Foreign {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, _: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Err(ToolRefusal::Unusable("it is not called".to_owned()))
    }
}

/// Tools with these schemas.
struct Listed(Vec<Value>);

impl ToolSource for Listed {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |(schema, n): (&Value, usize)| -> Arc<dyn Tool> {
            Arc::new(Foreign(ToolSpec {
                name: format!("mcp__s__t{n}").into(),
                description: "".into(),
                input_schema: Json::of(schema).unwrap(),
                effect: Effect::Reads,
            }))
        };
        self.0.iter().zip(0..).map(tool).collect()
    }
}

#[tokio::test]
async fn a_tool_servers_schemas_and_their_number_do_not_stop_a_thread() {
    let schemas = vec![
        json!({ "type": "object" }),
        json!({}),
        json!({ "anyOf": [{ "type": "object", "properties": { "a": { "type": "array" } } }, { "type": "null" }] }),
    ];
    let many = [schemas.clone(), vec![json!({ "type": "object" }); 150]].concat();
    for wire in WIRES {
        for (schemas, is_many) in [(&schemas, false), (&many, true)] {
            let server = ModelServer::start(Script::of([
                Reply::of([call("c", "ReadFile")]),
                Reply::of([Part::Text("So.".into())]),
            ]))
            .await
            .unwrap();
            let workspace = TestWorkspace::default();
            let models = models(settings(wire, &server.base_url()));
            let source = Arc::new(Listed(schemas.clone()));
            let bench = Bench::with_source(&workspace, models, None, Some(source)).await;
            let turn = bench.run("Look.").await;
            assert_eq!(
                (turn.status, turn.error),
                (TurnStatus::Completed, None),
                "{wire:?}"
            );
            let notes = turn.items.iter().filter(
                |item| matches!(&item.body, ItemBody::Error { code, fatal: false, .. } if code == "tools_left_out"),
            );
            let told = is_many && wire != bobbin_models::Wire::Messages;
            assert_eq!(notes.count(), usize::from(told), "{wire:?}: once a turn");
        }
    }
}
