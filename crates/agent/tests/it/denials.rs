//! Calls that a rule or a place refuses: the record says that they were refused, and not that they failed.

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_model::{ItemBody, ThreadConfig};
use bobbin_rules::{RuleSet, RuleText};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::RulesPolicy;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Bench, Script, Scripted, built_in, call, say};

#[rstest]
#[case::outside("ReadFile", json!({ "path": "/etc/hostname" }), true)]
#[case::of_git("WriteFile", json!({ "path": ".git/config", "content": "" }), true)]
#[case::by_a_rule("EditFile", json!({ "path": "secrets/key", "oldText": "a", "newText": "b" }), true)]
#[case::in_a_patch("ApplyPatch", json!({ "patch": "*** Begin Patch\n*** Add File: secrets/x\n+y\n*** End Patch" }), true)]
#[case::a_command("Exec", json!({ "command": "cat secrets/key" }), true)]
#[case::not_there("ReadFile", json!({ "path": "none" }), false)]
#[case::no_arguments("WriteFile", json!({}), false)]
#[tokio::test]
async fn a_denied_path_is_refused_like_a_denied_command(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[case] expected: bool,
) {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([Script::Reply(call("c1", tool, &arguments)), say("I see.")]);
    let config = ThreadConfig {
        require_approval_outside_workspace: Some(false),
        ..ThreadConfig::default()
    };
    let rule = RuleText {
        action: "deny".to_owned(),
        path: Some("secrets".to_owned()),
        ..RuleText::default()
    };
    let policy = RulesPolicy::new(RuleSet::new([rule], None).unwrap());
    let bench = Bench::open_under(
        &workspace,
        AgentEngine::new(model, built_in()),
        config,
        Arc::new(policy),
    )
    .await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    let refused = turn.items.iter().find_map(|item| match &item.body {
        ItemBody::ToolResult { refused, success, .. } => Some((*refused, *success)),
        _ => None,
    });
    assert_eq!(refused, Some((expected, false)), "{:?}", turn.items);
}
