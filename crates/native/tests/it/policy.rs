//! `policy/explain`: what would happen to commands, with real rules.

use std::sync::Arc;

use bobbin_engine::RulesPolicy;
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
        (json!({ "mode": "plan" }), "withheld", "withheld"),
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
