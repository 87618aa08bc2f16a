//! The whole request of each wire, as a snapshot.

use bobbin_models::{ModelSet, Network, Provider, ProviderSettings, Proxies, Wire};
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace};
use serde_json::{Map, Value, json};

use crate::support::{Bench, KEY, WIRES, settings};

#[tokio::test]
async fn requests_have_the_form_of_their_wire() {
    for wire in WIRES {
        let call = ScriptedCall {
            id: "c1".into(),
            tool: "ReadFile".into(),
            arguments: json!({ "path": "a.txt" }),
        };
        let server = ModelServer::start(Script::of([
            Reply::of([
                Part::Reasoning("Hm.".into()),
                Part::Text("I look.".into()),
                Part::Call(call),
            ]),
            Reply::of([Part::Text("Done.".into())]),
        ]))
        .await
        .unwrap();
        let workspace = TestWorkspace::default();
        let settings = ProviderSettings {
            headers: vec![("X-Team".into(), "tea".into())],
            max_output_tokens: Some(999),
            body: json!({ "temperature": 0.5 })
                .as_object()
                .cloned()
                .unwrap_or_else(Map::new),
            ..settings(wire, &format!("{}/?version=2", server.base_url()))
        };
        Bench::with(&workspace, settings, None)
            .await
            .run("Look at a.txt")
            .await;
        let asked = server.asked();
        let mut last = asked.last().unwrap().clone();
        let tools = last.body["tools"].as_array_mut().unwrap();
        assert!(tools.len() > 5);
        let name = |tool: &Value| {
            tool["function"]["name"]
                .as_str()
                .or(tool["name"].as_str())
                .map(str::to_owned)
        };
        tools.retain(|tool| name(tool).as_deref() == Some("ReadFile"));
        let headers: Map<String, Value> = last
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length" | "user-agent"))
            .map(|(name, value)| (name.clone(), value.replace(KEY, "KEY").into()))
            .collect();
        let root = workspace.path().canonicalize().unwrap();
        redact(&mut last.body, root.to_str().unwrap());
        if let Some(key) = last.body.get_mut("prompt_cache_key") {
            assert!(key.as_str().unwrap().starts_with("thread_"));
            *key = "THREAD".into();
        }
        let name = match wire {
            Wire::ChatCompletions => "chat",
            Wire::Messages => "messages",
            Wire::Responses => "responses",
        };
        let shown = json!({ "path": last.path, "headers": headers, "body": last.body });
        insta::assert_json_snapshot!(format!("request_{name}"), shown);
    }
}

/// Replaces the parts of the instructions that differ between machines.
fn redact(value: &mut Value, root: &str) {
    match value {
        Value::String(text) if text.contains("Platform: ") => {
            let lines = text.replace(root, "ROOT");
            let lines: Vec<&str> = lines
                .lines()
                .map(|line| line.split_once("Platform: ").map_or(line, |_| "Platform: P"))
                .collect();
            *text = lines.join("\n");
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redact(value, root)),
        Value::Object(members) => members.values_mut().for_each(|value| redact(value, root)),
        _ => {}
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_other_machines_and_not_for_this_one() {
    let said = || Script::of([Reply::of([Part::Text("Done.".into())])]);
    let (proxy, here) = (
        ModelServer::start(said()).await.unwrap(),
        ModelServer::start(said()).await.unwrap(),
    );
    let proxies = Proxies {
        http: Some(proxy.base_url()),
        https: None,
        except: Some("never.example".into()),
    };
    let network = Network::new(&proxies).unwrap();
    for (address, paths) in [
        (
            "http://far.example/v1".to_owned(),
            (vec!["http://far.example/v1/responses"], vec![]),
        ),
        (
            here.base_url(),
            (vec!["http://far.example/v1/responses"], vec!["/v1/responses"]),
        ),
    ] {
        let provider = Provider::new(settings(Wire::Responses, &address), &network).unwrap();
        let models = ModelSet::new(
            std::sync::Arc::new(bobbin_offline::Offline),
            vec![provider],
            Some("p/m".into()),
        );
        let workspace = TestWorkspace::default();
        let turn = Bench::with_models(&workspace, models, None)
            .await
            .run("hello")
            .await;
        assert_eq!(turn.error, None);
        let asked = [&proxy, &here].map(ModelServer::asked);
        let asked = asked
            .each_ref()
            .map(|asked| asked.iter().map(|asked| asked.path.as_str()).collect::<Vec<_>>());
        assert_eq!(asked, [paths.0, paths.1]);
    }
}

/// Returns a value without the marks for a provider's cache, which move with each request.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(unmarked).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != "cache_control");
            members
                .map(|(name, value)| (name.clone(), unmarked(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn each_request_of_a_turn_begins_with_the_one_before() {
    const ROUNDS: usize = 30;
    for wire in WIRES {
        let round = |n: usize| {
            let call = ScriptedCall {
                id: format!("c{n}"),
                tool: "ReadFile".into(),
                arguments: json!({ "path": "a.txt", "offset": n + 1 }),
            };
            Reply::of([Part::Text(format!("Round {n}.")), Part::Call(call)])
        };
        let end = Reply::of([Part::Text("Done.".into())]);
        let replies = (0..ROUNDS).map(round).chain([end]);
        let server = ModelServer::start(Script {
            replies: replies.collect::<Vec<_>>(),
            ..Script::default()
        })
        .await
        .unwrap();
        let workspace = TestWorkspace::default();
        std::fs::write(workspace.path().join("a.txt"), "a line of tea\n".repeat(100)).unwrap();
        let settings = settings(wire, &server.base_url());
        Bench::with(&workspace, settings, None)
            .await
            .run("Read a.txt")
            .await;
        let asked: Vec<Value> = server.asked().iter().map(|asked| unmarked(&asked.body)).collect();
        assert_eq!(asked.len(), ROUNDS + 1);
        let said = if wire == Wire::Responses {
            "input"
        } else {
            "messages"
        };
        let size = |value: &Value| value.to_string().len();
        for (before, after) in asked.iter().zip(&asked[1..]) {
            for part in ["system", "instructions", "tools"] {
                assert_eq!(before.get(part), after.get(part), "{wire:?}");
            }
            let (before, after) = (before[said].as_array().unwrap(), after[said].as_array().unwrap());
            assert_eq!(before[..], after[..before.len()], "{wire:?}");
        }
        let all: usize = asked[1..].iter().map(size).sum();
        let new: usize = asked.windows(2).map(|pair| size(&pair[1]) - size(&pair[0])).sum();
        // The new parts of 30 rounds are a small share of all sent bytes.
        assert!(new * 20 < all, "{wire:?}: {new} of {all}");
    }
}
