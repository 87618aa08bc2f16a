//! Calls that a rule or a place refuses: the record says that they were refused, and not that they failed.

use std::sync::{Arc, Mutex};

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop};
use bobbin_model::{ApprovalPolicy, Decision, Event, ItemBody, ThreadConfig};
use bobbin_policy::RulesPolicy;
use bobbin_rules::{RuleSet, RuleText};
use bobbin_testkit::TestWorkspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Bench, Script, Scripted, built_in, call, recorded, say};

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

fn writes() -> Script {
    let write = |id: &str, path: &str| call(id, "WriteFile", &json!({ "path": path, "content": "x" }));
    Script::Reply([write("c1", "a"), write("c2", "b"), write("c3", "free/c")].concat())
}

async fn bench(workspace: &TestWorkspace, policy: ApprovalPolicy) -> Bench {
    let config = ThreadConfig {
        approval_policy: Some(policy),
        ..ThreadConfig::default()
    };
    let rule = RuleText {
        action: "allow".to_owned(),
        path: Some("free/**".to_owned()),
        ..RuleText::default()
    };
    let rules = RulesPolicy::new(RuleSet::new([rule], None).unwrap());
    let model = Scripted::new([writes(), say("I see.")]);
    Bench::open_under(
        workspace,
        AgentEngine::new(model, built_in()),
        config,
        Arc::new(rules),
    )
    .await
}

fn written(workspace: &TestWorkspace) -> Vec<&'static str> {
    let paths = ["a", "b", "free/c"].into_iter();
    paths
        .filter(|path| workspace.path().join(path).exists())
        .collect()
}

#[tokio::test]
async fn two_changes_of_one_reply_are_asked_about_at_once_and_settled_in_any_order() {
    let workspace = TestWorkspace::default();
    let bench = bench(&workspace, ApprovalPolicy::AskWrites).await;
    let mut log = bench.start("go").await;
    let first = log.until_asked().await;
    let second = log.until_asked().await;
    let mut asked = [&first, &second].map(|asked| asked.call_id.as_str());
    asked.sort_unstable();
    assert_eq!(asked, ["c1", "c2"]);
    assert_eq!(written(&workspace), [""; 0]);
    for approval in [&first, &second] {
        let decision = match approval.call_id.as_str() {
            "c1" => Decision::Accept,
            _ => Decision::Decline,
        };
        bench.decide(approval, decision).await;
    }
    let frames = log.end().await;
    assert_eq!(written(&workspace), ["a", "free/c"]);
    let asked_again = frames
        .iter()
        .filter_map(|frame| recorded(frame))
        .any(|event| matches!(event, Event::ApprovalOpened { .. }));
    assert!(!asked_again, "{frames:?}");
}

#[tokio::test]
async fn a_thread_that_refuses_goes_on_without_what_would_be_asked_about() {
    let workspace = TestWorkspace::default();
    let bench = bench(&workspace, ApprovalPolicy::Refuse).await;
    bench.run("go").await;
    assert_eq!(written(&workspace), ["free/c"]);
    let turn = bench.last_turn().await;
    let refused: Vec<_> = turn
        .items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::ToolResult { refused, .. } => Some(*refused),
            _ => None,
        })
        .collect();
    assert_eq!(refused, [true, true, false]);
    assert_eq!(crate::support::message(&turn), "I see.");
}

/// Notes whether its provider may search the web.
#[derive(Default)]
struct Searcher(Mutex<Vec<bool>>);

impl Model for Searcher {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        async move {
            self.0.lock().unwrap().push(request.web_search);
            sink.event(ModelEvent::Text("So.".to_owned())).await?;
            Ok(ModelReply {
                stop: Stop::Done,
                usage: None,
            })
        }
        .boxed()
    }
}

#[rstest]
#[case::nothing_said(None, None, true)]
#[case::allowed(Some("allow"), None, true)]
#[case::asked_about(Some("ask"), None, false)]
#[case::refused(Some("deny"), None, false)]
#[case::refused_by_the_thread(None, Some("WebSearch"), false)]
#[tokio::test]
async fn a_rule_or_a_thread_keeps_a_provider_from_searching_the_web(
    #[case] action: Option<&str>,
    #[case] denied: Option<&str>,
    #[case] expected: bool,
) {
    let workspace = TestWorkspace::default();
    let model = Arc::new(Searcher::default());
    let rule = action.map(|action| RuleText {
        action: action.to_owned(),
        tool: Some("Web*".to_owned()),
        ..RuleText::default()
    });
    let config = ThreadConfig {
        tool_deny_list: denied.map(|tool| vec![tool.to_owned()]),
        ..ThreadConfig::default()
    };
    let policy = RulesPolicy::new(RuleSet::new(rule, None).unwrap());
    let engine = AgentEngine::new(model.clone(), built_in());
    let bench = Bench::open_under(&workspace, engine, config, Arc::new(policy)).await;
    bench.run("go").await;
    assert_eq!(*model.0.lock().unwrap(), [expected]);
}
