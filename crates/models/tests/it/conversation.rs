//! One scripted conversation gives the same Items on every wire.

use bobbin_model::{ItemBody, TokenUsage, Turn, TurnStatus};
use bobbin_models::Wire;
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace, Usage};
use serde_json::{Value, json};

use crate::support::{Bench, WIRES};

fn call(id: &str, tool: &str, arguments: &Value) -> ScriptedCall {
    ScriptedCall {
        id: id.into(),
        tool: tool.into(),
        arguments: arguments.clone(),
    }
}

/// Text, reasoning, two calls at once of which one asks, a file edit, a call with arguments that are no JSON, an answer.
fn script() -> Script {
    let usage = Some(Usage {
        input: 10,
        output: 3,
        cached: 6,
        reasoning: 2,
    });
    let reply = |parts: Vec<Part>| Reply {
        usage,
        piece_bytes: Some(7),
        ..Reply::of(parts)
    };
    Script::of([
        reply(vec![
            Part::Reasoning("First the größere file.".into()),
            Part::Comment("still here".into()),
            Part::Text("I look at both.".into()),
            Part::Calls(vec![
                call("c1", "ReadFile", &json!({ "path": "ä.txt" })),
                call("c2", "Exec", &json!({ "command": "echo one > made.txt" })),
            ]),
        ]),
        reply(vec![Part::Call(call(
            "c3",
            "WriteFile",
            &json!({ "path": "new.txt", "content": "new\n" }),
        ))]),
        reply(vec![Part::Call(call("c4", "ReadFile", &json!("{\"path\": ")))]),
        reply(vec![Part::Text("All done.".into())]),
    ])
}

async fn run(wire: Wire) -> (Turn, Vec<Value>) {
    let server = ModelServer::start(script()).await.unwrap();
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("ä.txt"), "kettle\n").unwrap();
    let bench = Bench::of(&workspace, wire, &server).await;
    let turn = bench.run("Look at ä.txt and make the files.").await;
    let read = |name: &str| std::fs::read_to_string(workspace.path().join(name)).unwrap();
    assert_eq!(
        (read("made.txt"), read("new.txt")),
        ("one\n".to_owned(), "new\n".to_owned())
    );
    let root = workspace.path().canonicalize().unwrap();
    let items = turn
        .items
        .iter()
        .map(|item| plain(&item.body, &root.to_string_lossy()));
    // A question may open while earlier calls of the reply run, so its order among their results is not fixed.
    let (mut items, questions): (Vec<Value>, Vec<Value>) = items.partition(|item| {
        item.get("approvalRequest")
            .or(item.get("approvalResponse"))
            .is_none()
    });
    items.extend(questions);
    (turn, items)
}

/// Returns a body without the parts that differ from run to run.
fn plain(body: &ItemBody, root: &str) -> Value {
    let text = serde_json::to_string(body).unwrap().replace(root, "ROOT");
    let mut value: Value = serde_json::from_str(&text).unwrap();
    for inner in value
        .as_object_mut()
        .into_iter()
        .flat_map(|object| object.values_mut())
    {
        if let Some(id) = inner.get_mut("requestId") {
            *id = "ID".into();
        }
        if let Some(seen) = inner.get_mut("seen") {
            seen[0]["fingerprint"] = "FINGERPRINT".into();
        }
        // Each provider has its own data to send back.
        if let Some(inner) = inner.as_object_mut() {
            inner.remove("kept");
        }
    }
    value
}

#[tokio::test]
async fn the_same_conversation_gives_the_same_items_on_every_wire() {
    let (turn, items) = run(Wire::ChatCompletions).await;
    assert_eq!(turn.status, TurnStatus::Completed, "{:?}", turn.error);
    let used = TokenUsage {
        cached_input_tokens: 24,
        reasoning_output_tokens: 8,
        ..TokenUsage::of(40, 12)
    };
    assert_eq!(turn.usage, used);
    insta::assert_json_snapshot!("conversation", items);
    for wire in [Wire::Responses, Wire::Messages] {
        let (other, same) = run(wire).await;
        assert_eq!(same, items, "{wire:?}");
        let used = TokenUsage {
            // Anthropic does not count reasoning.
            reasoning_output_tokens: if wire == Wire::Messages { 0 } else { 8 },
            ..used
        };
        assert_eq!((other.status, other.usage), (turn.status, used), "{wire:?}");
    }
}

#[tokio::test]
async fn a_later_turn_has_the_earlier_one_in_its_conversation() {
    for wire in WIRES {
        let server = ModelServer::start(Script::default()).await.unwrap();
        let workspace = TestWorkspace::default();
        let bench = Bench::of(&workspace, wire, &server).await;
        bench.run("say it is a kettle\ncall FindFiles").await;
        let turn = bench.run("say what is it").await;
        assert_eq!(turn.status, TurnStatus::Completed, "{:?}", turn.error);
        let asked = server.asked();
        let last = asked.last().unwrap().body.to_string();
        for part in [
            "say it is a kettle",
            "it is a kettle",
            "FindFiles",
            "The results: ",
            "say what is it",
        ] {
            assert!(last.contains(part), "{wire:?} {part}: {last}");
        }
    }
}
