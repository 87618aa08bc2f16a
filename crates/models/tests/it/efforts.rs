//! The reasoning effort on each wire, and the note for the user if a model does not have it.

use bobbin_model::{Effort, ItemBody, Turn};
use bobbin_models::{ModelFacts, ProviderSettings, Wire};
use bobbin_testkit::{ModelServer, Script, TestWorkspace};
use serde_json::{Map, Value, json};

use crate::support::{Bench, WIRES, settings};

async fn ask(settings: ProviderSettings, server: &ModelServer, model: &str, effort: Effort) -> (Turn, Value) {
    let workspace = TestWorkspace::default();
    let bench = Bench::with(&workspace, settings, Some(model)).await;
    let turn = bench.run_with("say hello", effort).await;
    let sent = server.asked().pop().map(|asked| asked.body);
    (turn, sent.unwrap_or_default())
}

#[tokio::test]
async fn each_wire_says_an_effort_in_its_own_way() {
    for (wire, model, effort, expected) in [
        (
            Wire::Responses,
            "gpt-5.2",
            Effort::Xhigh,
            json!({ "reasoning": { "effort": "xhigh", "summary": "auto" } }),
        ),
        (
            Wire::ChatCompletions,
            "gpt-5",
            Effort::Minimal,
            json!({ "reasoning_effort": "minimal" }),
        ),
        (
            Wire::Messages,
            "claude-sonnet-4-5",
            Effort::High,
            json!({ "thinking": { "type": "enabled", "budget_tokens": 24_000 } }),
        ),
        (
            Wire::Messages,
            "claude-opus-4-6",
            Effort::Low,
            json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": "low" } }),
        ),
        (
            Wire::Messages,
            "claude-opus-4-6",
            Effort::None,
            json!({ "thinking": null }),
        ),
    ] {
        let server = ModelServer::start(Script::default()).await.unwrap();
        let mut body = Map::new();
        if wire == Wire::Responses {
            body.insert("reasoning".into(), json!({ "effort": "low", "summary": "auto" }));
        }
        let settings = ProviderSettings {
            body,
            ..settings(wire, &server.base_url())
        };
        let (turn, sent) = ask(settings, &server, &format!("p/{model}"), effort).await;
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(sent[name], *value, "{wire:?} {model} {name}");
        }
        assert_eq!(notes(&turn), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_user_reads_what_a_model_is_asked_for_instead() {
    for wire in WIRES {
        let server = ModelServer::start(Script::default()).await.unwrap();
        let own = settings(wire, &server.base_url());
        let (turn, sent) = ask(own.clone(), &server, "p/m", Effort::High).await;
        for member in ["reasoning", "reasoning_effort", "thinking", "output_config"] {
            assert_eq!(sent[member], Value::Null, "{wire:?} {member}");
        }
        let [note] = notes(&turn).try_into().unwrap();
        assert!(note.contains("\"high\"") && note.contains("Efforts"), "{note}");

        let efforts = [Effort::Low, Effort::Medium].into_iter().collect();
        let facts = ModelFacts {
            efforts: Some(efforts),
            ..ModelFacts::default()
        };
        let (turn, _) = ask(ProviderSettings { facts, ..own }, &server, "p/m", Effort::High).await;
        let [note] = notes(&turn).try_into().unwrap();
        assert!(note.contains("it is asked for \"medium\""), "{note}");
    }
}

fn notes(turn: &Turn) -> Vec<String> {
    let note = |body: &ItemBody| match body {
        ItemBody::Error { message, .. } => Some(message.clone()),
        _ => None,
    };
    turn.items.iter().filter_map(|item| note(&item.body)).collect()
}
