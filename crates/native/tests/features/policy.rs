//! `policy/explain`: the outcome of commands, with real rules.

use std::sync::Arc;

use bobbin_policy::RulesPolicy;
use bobbin_rules::{RuleSet, RuleText};
use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

fn rule(action: &str, command: &str) -> RuleText {
    RuleText {
        action: action.to_owned(),
        command: Some(command.to_owned()),
        source: "~/.craft/config.json".to_owned(),
        reason: (action == "deny").then(|| "we release on Fridays".to_owned()),
        ..RuleText::default()
    }
}

async fn server() -> Server {
    let rules = [
        rule("deny", "cargo publish"),
        rule("allow", "cargo *"),
        rule("ask", "cargo fix"),
    ];
    let policy = RulesPolicy::new(RuleSet::new(rules, None).unwrap());
    Server::with(|settings| settings.policy = Arc::new(policy)).await
}

async fn explain(client: &mut Client, params: Value) -> Value {
    client.answer_to("policy/explain", params).await
}

#[tokio::test]
async fn the_capability_is_announced() {
    let server = server().await;
    let mut client = Client::new(server.link());
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let answer = client.answer_to("initialize", info).await;
    assert_eq!(answer["result"]["capabilities"]["policyExplain"], true);
    assert_eq!(answer["result"]["capabilities"]["approvalRules"], true);
}

#[tokio::test]
async fn a_command_and_its_parts_are_explained() {
    let server = server().await;
    let mut client = server.client().await;
    let mut seen = Vec::new();
    for command in [
        "pwd",
        "cargo test 2>&1 | head -5",
        "cargo test && sudo cargo publish --dry-run",
        "cargo fix --allow-dirty",
        "A=b make $(cat targets) > log",
        "make tea",
    ] {
        seen.push(explain(&mut client, json!({ "command": command })).await);
    }
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn what_would_happen_follows_the_thread() {
    let server = server().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let outcome = async |client: &mut Client, command: &str| {
        let answer = explain(client, json!({ "command": command, "threadId": id })).await;
        answer["result"]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(&mut client, "make tea").await, "asks");
    assert_eq!(outcome(&mut client, "cargo test").await, "runs");
    assert_eq!(outcome(&mut client, "cargo publish").await, "refused");
    for (config, make, publish) in [
        (
            json!({ "approvalPolicy": "autoApprove" }),
            "autoApproved",
            "refused",
        ),
        (json!({ "approvalPolicy": "interrupt" }), "interrupts", "refused"),
        (json!({ "mode": "plan" }), "asks", "refused"),
    ] {
        let params = json!({ "threadId": id, "config": config });
        client.answer_to("thread/config/update", params).await;
        assert_eq!(outcome(&mut client, "make tea").await, make);
        assert_eq!(outcome(&mut client, "cargo publish").await, publish);
    }
}

#[tokio::test]
async fn what_is_no_command_or_no_thread_is_refused() {
    let server = server().await;
    let mut client = server.client().await;
    for (params, code) in [
        (json!({ "command": " " }), -32602),
        (json!({ "command": "a\u{0}" }), -32602),
        (json!({ "command": "a".repeat(70_000) }), -32602),
        (json!({}), -32602),
        (json!({ "command": "ls", "threadId": "thread_none" }), -32010),
    ] {
        let answer = explain(&mut client, params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
}

#[tokio::test]
async fn rules_and_answers_for_ever_are_listed_and_answers_are_taken_back() {
    let server = server().await;
    let mut client = server.client().await;
    let listed = client.answer_to("approval/rules/list", json!({})).await;
    let rules = listed["result"]["rules"].as_array().unwrap();
    assert_eq!(rules[0]["text"], "deny command `cargo publish`");
    assert_eq!(rules[0]["source"], "~/.craft/config.json");
    assert_eq!(rules[0]["reason"], "we release on Fridays");
    assert_eq!((rules.len(), &listed["result"]["answers"]), (3, &json!([])));
    let id = client.start_thread().await;
    for line in ["make tea", "make cake"] {
        client.start_turn(&id, &format!("ask {line}")).await;
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": "acceptAlways" })).await;
        client.wait_for("turn/completed").await;
    }
    let listed = client.call("approval/rules/list", json!({})).await;
    let answers = listed["answers"].as_array().unwrap().clone();
    let operations: Vec<_> = answers.iter().map(|answer| &answer["operation"]).collect();
    assert_eq!(operations, ["make cake", "make tea"]);
    assert_eq!(answers[0]["approvalType"], "shell");
    let ids = json!([answers[1]["id"], "0000"]);
    let params = json!({ "ids": ids, "clientRequestId": "c-1" });
    let left = client.call("approval/rules/remove", params.clone()).await;
    assert_eq!(left["answers"], json!([answers[0]]));
    assert_eq!(client.call("approval/rules/remove", params).await, left);
    client.start_turn(&id, "ask make tea").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "decline" })).await;
    client.wait_for("turn/completed").await;
    let left = client.call("approval/rules/remove", json!({})).await;
    assert_eq!(left["answers"], json!([]));
}
