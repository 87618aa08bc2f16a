//! Caches of providers are useful: each request of a Turn starts with the previous one.

use std::fmt::Write as _;

use bobbin_models::Wire;
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace};
use serde_json::{Value, json};

use crate::support::{Bench, WIRES};

const ROUNDS: usize = 30;

/// Returns a request's messages and its other members, without the marks of caches.
fn parts(wire: Wire, mut body: Value) -> (Vec<String>, String) {
    unmark(&mut body);
    let name = if wire == Wire::Responses {
        "input"
    } else {
        "messages"
    };
    let messages = body.as_object_mut().unwrap().remove(name).unwrap();
    let messages = messages.as_array().unwrap().iter().map(Value::to_string);
    (messages.collect(), body.to_string())
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(unmark);
        }
        Value::Array(values) => values.iter_mut().for_each(unmark),
        _ => {}
    }
}

#[tokio::test]
async fn each_request_begins_with_the_one_before_on_every_wire() {
    for wire in WIRES {
        let read = |round: usize| {
            let call = ScriptedCall {
                id: format!("c{round}"),
                tool: "ReadFile".into(),
                arguments: json!({ "path": "tea.txt", "offset": round + 1, "limit": 5 }),
            };
            Reply::of([Part::Text(format!("Part {round}.")), Part::Call(call)])
        };
        let replies = (0..ROUNDS).map(read);
        let done = Reply::of([Part::Text("Done.".into())]);
        let server = ModelServer::start(Script::of(replies.chain([done])))
            .await
            .unwrap();
        let workspace = TestWorkspace::default();
        let lines = (0..100).fold(String::new(), |mut lines, line| {
            writeln!(lines, "{line} leaves of tea").unwrap();
            lines
        });
        std::fs::write(workspace.path().join("tea.txt"), lines).unwrap();
        Bench::of(&workspace, wire, &server).await.run("Read it.").await;
        let asked = server.asked();
        assert_eq!(asked.len(), ROUNDS + 1, "{wire:?}");
        for pair in asked.windows(2) {
            let (before, after) = (&pair[0].body, &pair[1].body);
            if wire == Wire::Messages {
                let last = after
                    .pointer("/messages")
                    .and_then(Value::as_array)
                    .and_then(|all| all.last());
                let block = last.and_then(|last| last["content"].as_array()?.last());
                assert_eq!(block.unwrap()["cache_control"]["type"], "ephemeral");
                assert_eq!(after["system"][0]["cache_control"]["type"], "ephemeral");
            }
            let (before, same) = parts(wire, before.clone());
            let (after, others) = parts(wire, after.clone());
            assert_eq!(others, same, "{wire:?}");
            assert_eq!(after[..before.len()], before, "{wire:?}");
            let bytes = |messages: &[String]| messages.iter().map(String::len).sum::<usize>();
            let known = same.len() + bytes(&before);
            let all = same.len() + bytes(&after);
            assert!(known * 100 > all * 95, "{wire:?}: {known} of {all} bytes");
        }
    }
}
