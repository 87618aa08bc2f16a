//! A model that wants its reasoning back gets it with the results of its calls. No other model gets it.

use bobbin_model::TurnStatus;
use bobbin_models::{ModelSet, Network, Provider, ProviderSettings, Proxies, Wire};
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, TestWorkspace};
use serde_json::{Value, json};

use crate::support::{Bench, WIRES, models, settings};

fn call(id: &str) -> Part {
    Part::Call(ScriptedCall {
        id: id.into(),
        tool: "FindFiles".into(),
        arguments: json!({}),
    })
}

fn answer() -> Reply {
    Reply::of([Part::Text("So.".into())])
}

fn chunk(delta: &Value) -> Part {
    let event = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    Part::Raw(format!("data: {event}\n\n"))
}

/// Returns the agent's messages of a request.
fn agents(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "assistant")
        .cloned()
        .collect()
}

#[tokio::test]
async fn reasoning_goes_back_as_it_came_in_this_turn_and_in_later_ones() {
    let server = ModelServer::start(Script::of([
        Reply::of([Part::Reasoning("Hm, so.".into()), call("a")]),
        Reply::of([Part::Reasoning("And.".into()), call("b")]),
        answer(),
        answer(),
    ]))
    .await
    .unwrap();
    let workspace = TestWorkspace::default();
    let bench = Bench::of(&workspace, Wire::ChatCompletions, &server).await;
    for _ in 0..2 {
        let turn = bench.run("Look.").await;
        assert_eq!((turn.status, turn.error), (TurnStatus::Completed, None));
    }
    let asked = server.asked();
    for asked in &asked[2..] {
        let agents = agents(&asked.body);
        assert_eq!(agents[0]["reasoning_content"], "Hm, so.");
        assert_eq!(agents[1]["reasoning_content"], "And.");
    }
    // A reply without reasoning gets an empty one: providers that want it back check every message.
    assert_eq!(agents(&asked[3].body)[2]["reasoning_content"], "");
}

#[tokio::test]
async fn what_belongs_to_a_call_and_what_a_gateway_sends_goes_back_untouched() {
    let signed = json!({ "tool_calls": [
        { "id": "x", "function": { "name": "FindFiles", "arguments": "{}" }, "extra_content": { "google": { "thought_signature": "s1" } } },
        { "id": "y", "function": { "name": "FindFiles", "arguments": "{}" } },
    ] });
    let detail = |more: Value| {
        let mut detail = json!({ "type": "reasoning.text", "index": 0 });
        detail
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        chunk(&json!({ "reasoning": "…", "reasoning_details": [detail] }))
    };
    let server = ModelServer::start(Script::of([
        Reply::of([
            detail(json!({ "text": "Let" })),
            detail(json!({ "text": " me." })),
            detail(json!({ "signature": "s2" })),
            chunk(&signed),
        ]),
        answer(),
    ]))
    .await
    .unwrap();
    let workspace = TestWorkspace::default();
    let bench = Bench::of(&workspace, Wire::ChatCompletions, &server).await;
    assert_eq!(bench.run("Look.").await.error, None);
    let agent = agents(&server.asked()[1].body).remove(0);
    assert_eq!(
        agent["reasoning_details"],
        json!([{ "type": "reasoning.text", "index": 0, "text": "Let me.", "signature": "s2" }])
    );
    assert_eq!(
        agent["tool_calls"][0]["extra_content"],
        json!({ "google": { "thought_signature": "s1" } })
    );
    assert_eq!(agent["tool_calls"][1].get("extra_content"), None);
    assert_eq!(agent.get("reasoning"), None, "nobody wants it twice");
}

#[tokio::test]
async fn signed_thoughts_go_back_in_their_order_and_a_turn_goes_on_without_those_of_another_model() {
    let thinking = json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } });
    let with = |name: &str, server: &ModelServer| ProviderSettings {
        name: name.into(),
        body: thinking.as_object().cloned().unwrap(),
        ..settings(Wire::Messages, &server.base_url())
    };
    let failing = ModelServer::start(Script::of([
        Reply::of([
            Part::Reasoning("First.".into()),
            Part::Text("I look.".into()),
            Part::Reasoning("Then.".into()),
            call("a"),
        ]),
        Reply::of([Part::Reasoning("More.".into()), call("b")]),
        Reply::error(400, "billing_error", "spent"),
    ]))
    .await
    .unwrap();
    let other = ModelServer::start(Script::of([answer()])).await.unwrap();
    let network = Network::new(&Proxies::default()).unwrap();
    let both = [with("p", &failing), with("q", &other)];
    let both = both.map(|settings| Provider::new(settings, &network).unwrap());
    let models = ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        both.to_vec(),
        Some("p/m".into()),
    )
    .with_fallbacks(vec!["q/n".into()]);
    let workspace = TestWorkspace::default();
    let bench = Bench::with_models(&workspace, models, None).await;
    let turn = bench.run("Look.").await;
    assert_eq!((turn.status, turn.error), (TurnStatus::Completed, None));
    let asked = failing.asked();
    let blocks = agents(&asked[2].body).remove(0)["content"].clone();
    let short: Vec<(&str, &str)> = blocks
        .as_array()
        .unwrap()
        .iter()
        .map(|block| {
            let said = ["thinking", "text", "id"]
                .iter()
                .find_map(|name| block[name].as_str());
            (block["type"].as_str().unwrap(), said.unwrap())
        })
        .collect();
    assert_eq!(
        short,
        [
            ("thinking", "First."),
            ("text", "I look."),
            ("thinking", "Then."),
            ("tool_use", "c00000001"),
        ]
    );
    assert_eq!(blocks[0]["signature"], "c2lnbmVk");
    assert_eq!(asked[2].body["thinking"]["type"], "enabled");
    // Its thoughts are no other model's, and none are asked for in the middle of a round.
    let there = &other.asked()[0].body;
    assert_eq!(there.get("thinking"), None);
    assert!(!there["messages"].to_string().contains("First."));
}

/// An item of reasoning of the `responses` wire, and the call it led to.
fn encrypted() -> Part {
    let item = json!({ "id": "rs_1", "type": "reasoning", "encrypted_content": "c2VjcmV0",
        "summary": [{ "type": "summary_text", "text": "Hm." }] });
    let event = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    Part::Raw(format!("data: {event}\n\n"))
}

/// Returns the data that a request sends back with the reply that made a call.
fn brought_back(wire: Wire, body: &Value) -> Value {
    match wire {
        Wire::ChatCompletions => agents(body)[0]["reasoning_content"].clone(),
        Wire::Messages => agents(body)[0]["content"][0].clone(),
        Wire::Responses => {
            let input = body["input"].as_array().unwrap();
            let call = input
                .iter()
                .position(|item| item["type"] == "function_call")
                .unwrap();
            input[call - 1].clone()
        }
    }
}

#[tokio::test]
async fn thoughts_are_recorded_and_go_back_after_a_restart() {
    for wire in WIRES {
        let thinks = |part: Part| match wire {
            Wire::Responses => encrypted(),
            Wire::ChatCompletions | Wire::Messages => part,
        };
        let server = ModelServer::start(Script::of([
            Reply::of([thinks(Part::Reasoning("Hm.".into())), call("a")]),
            answer(),
        ]))
        .await
        .unwrap();
        let set = || {
            let mut settings = settings(wire, &server.base_url());
            settings.models = vec!["gpt-5.2".into()];
            models(settings)
        };
        let workspace = TestWorkspace::default();
        let bench = Bench::with_models(&workspace, set(), Some("gpt-5.2")).await;
        assert_eq!(bench.run("Look.").await.error, None);
        let again = bench.reopen(&workspace, set()).await;
        assert_eq!(again.run("And?").await.error, None);
        let expected = match wire {
            Wire::ChatCompletions => json!("Hm."),
            Wire::Messages => json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk" }),
            Wire::Responses => json!({ "type": "reasoning", "encrypted_content": "c2VjcmV0",
                "summary": [{ "type": "summary_text", "text": "Hm." }] }),
        };
        let asked = server.asked();
        assert_eq!(asked.len(), 3, "{wire:?}");
        // In the same Turn, and in a later one of another process.
        for asked in &asked[1..] {
            assert_eq!(brought_back(wire, &asked.body), expected, "{wire:?}");
        }
        let include = asked[0].body.get("include").cloned();
        let wanted = (wire == Wire::Responses).then(|| json!(["reasoning.encrypted_content"]));
        assert_eq!(include, wanted, "{wire:?}");
    }
}

#[tokio::test]
async fn a_compaction_within_a_turn_keeps_the_thoughts_of_what_it_keeps() {
    let thinking = json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } });
    let used = |input: u64| {
        Some(bobbin_testkit::Usage {
            input,
            output: 10,
            ..Default::default()
        })
    };
    let thinks = |id: &str, input: u64| Reply {
        usage: used(input),
        ..Reply::of([
            Part::Reasoning(format!("Thought {id}.")),
            Part::Text("tea ".repeat(6_000)),
            call(id),
        ])
    };
    let server = ModelServer::start(Script::of([
        thinks("a", 1_000),
        thinks("b", 29_000),
        Reply::of([Part::Text("They looked.".into())]),
        answer(),
    ]))
    .await
    .unwrap();
    let mut settings = settings(Wire::Messages, &server.base_url());
    settings.body = thinking.as_object().cloned().unwrap();
    settings.facts.context_window = Some(32_000);
    let workspace = TestWorkspace::default();
    let bench = Bench::with(&workspace, settings, None).await;
    let turn = bench.run("Look.").await;
    assert_eq!((turn.status, turn.error), (TurnStatus::Completed, None));
    let asked = server.asked();
    let last = &asked.last().unwrap().body;
    let agents = agents(last);
    assert!(
        last.to_string().contains("They looked.") && agents.len() == 1,
        "{agents:?}"
    );
    assert_eq!(agents[0]["content"][0]["thinking"], "Thought b.");
    // The reasoning is there, so the request asks for more.
    assert_eq!(last["thinking"]["type"], "enabled");
}
