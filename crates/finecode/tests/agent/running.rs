//! Calls of actions: what they ask, run, find, edit and return.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::policy::{CommandRuling, Judgement, NoRules, PathAccess, Policy, Ruling};
use bobbin_agent_api::tool::{Effect, Permission, ToolEnvironment, ToolRefusal, ToolSource as _, Touches};
use bobbin_finecode::agent::RunnerSandbox;
use bobbin_model::{ApprovalPolicy, Json};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::lab::{Lab, context, environment};

#[tokio::test]
async fn enabled_actions_are_tools_that_ask_and_can_be_undone() {
    let lab = Lab::new(true);
    let names: Vec<_> = lab
        .actions
        .tools()
        .iter()
        .map(|tool| tool.spec().name.to_string())
        .collect();
    assert_eq!(names, ["finecode__format", "finecode__ghost", "finecode__lint"]);
    let lint = lab.tool("finecode__lint");
    assert_eq!(lint.spec().effect, Effect::Writes);
    assert_eq!(
        lint.after_edits().unwrap().get(),
        r#"{"payload":{"files":["a"]}}"#
    );
    assert!(lab.tool("finecode__format").after_edits().is_none());
    let prepared = lab.prepare(
        "finecode__lint",
        &json!({ "projects": ["shop"] }),
        Arc::new(NoRules),
    );
    assert_eq!(prepared.touches(), Touches::Anything);
    let Permission::Ask { scope, reason } = prepared.permission() else {
        panic!("it asks");
    };
    assert_eq!(scope.target, "finecode:lint");
    assert!(
        reason.contains("shop") && reason.contains("code of the folder"),
        "{reason}"
    );
    let unusable = Json::of(&json!({ "what": 1 })).unwrap();
    let environment = environment(&lab.root(), Arc::new(NoRules));
    assert!(lint.prepare(&unusable, &environment).is_err());
    lab.end().await;

    let untrusted = Lab::new(false);
    assert!(untrusted.actions.tools().is_empty());
}

#[tokio::test]
async fn a_question_about_a_run_says_how_much_of_the_payload_it_leaves_out() {
    let lab = Lab::new(true);
    let payload = json!({ "payload": { "files": ["a".repeat(400)] } });
    let prepared = lab.prepare("finecode__lint", &payload, Arc::new(NoRules));
    let Permission::Ask { reason, .. } = prepared.permission() else {
        panic!("it asks");
    };
    assert!(reason.contains("a… (114 more bytes)"), "{reason}");
    lab.end().await;
}

#[tokio::test]
async fn a_run_that_nothing_confines_is_asked_about_and_not_made_by_itself() {
    let lint = json!({ "projects": ["shop"] });
    let lab = Lab::held_by(true, RunnerSandbox::Confined("no network".to_owned()));
    let prepared = lab.prepare("finecode__lint", &lint, Arc::new(NoRules));
    assert!(prepared.allowed_in_advance());
    let Permission::Ask {
        scope: confined,
        reason,
    } = prepared.permission()
    else {
        panic!("it asks");
    };
    assert!(
        confined.sandboxed && reason.contains("in a sandbox: no network"),
        "{reason}"
    );
    lab.end().await;

    let lab = Lab::held_by(true, RunnerSandbox::Missing("no Landlock".to_owned()));
    let prepared = lab.prepare("finecode__lint", &lint, Arc::new(NoRules));
    assert!(!prepared.allowed_in_advance());
    let Permission::Ask { scope, reason } = prepared.permission() else {
        panic!("it asks");
    };
    assert!(
        !scope.sandboxed && reason.contains("without a sandbox: no Landlock"),
        "{reason}"
    );
    assert_ne!(scope.grant(), confined.grant());
    let unasked = ToolEnvironment {
        approvals: ApprovalPolicy::AutoApprove,
        ..environment(&lab.root(), Arc::new(NoRules))
    };
    let refused = lab
        .tool("finecode__lint")
        .prepare(&Json::of(&lint).unwrap(), &unasked);
    assert!(matches!(refused, Err(ToolRefusal::Denied(why)) if why.contains("asks nobody")));
    lab.end().await;
}

#[tokio::test]
async fn findings_have_file_and_line_and_fit_the_window() {
    let lab = Lab::new(true);
    let file = lab.root().join("shop/a.txt");
    fs::write(&file, "tea\n".to_owned() + &"teh\n".repeat(50)).unwrap();
    let payload = json!({ "payload": { "files": [format!("file://{}", file.display())] } });
    let whole = lab.call("finecode__lint", &payload, 50_000).await;
    assert!(!whole.success);
    let mut lines = whole.text.lines();
    assert_eq!(lines.next(), Some("shop: not clean (return code 1)"));
    assert_eq!(lines.next(), Some("shop/a.txt:2:1: S1 misspelled (lab)"));
    assert_eq!(lines.count(), 49);
    let cut = lab.call("finecode__lint", &payload, 400).await;
    assert!(cut.text.len() <= 400, "{}", cut.text.len());
    assert!(cut.text.trim_end().ends_with("more findings]"), "{}", cut.text);
    fs::write(&file, "tea\n").unwrap();
    let clean = lab.call("finecode__lint", &payload, 50_000).await;
    assert_eq!((clean.text.as_str(), clean.success), ("shop: clean\n", true));
    let described = lab
        .call("finecode__lint", &json!({ "describe": true }), 50_000)
        .await;
    assert!(
        described.success && described.text.contains("Files to look at"),
        "{}",
        described.text
    );
    let ghost = lab.call("finecode__ghost", &json!({}), 50_000).await;
    assert!(
        !ghost.success && ghost.text.contains("no project"),
        "{}",
        ghost.text
    );
    lab.end().await;
}

/// Forbids one file.
#[derive(Debug)]
struct Locked;

impl Policy for Locked {
    fn command(&self, command: &str, root: &Path) -> CommandRuling {
        NoRules.command(command, root)
    }

    fn path(&self, _: PathAccess, path: &Path, _: &Path) -> Option<Ruling> {
        path.ends_with("locked.txt").then(|| Ruling {
            judgement: Judgement::Deny,
            reason: "it is locked".to_owned(),
            rule: None,
        })
    }

    fn tool(&self, _: &str) -> Option<Ruling> {
        None
    }
}

#[tokio::test]
async fn edits_that_a_runner_asks_for_are_made_where_the_rules_allow_them() {
    let lab = Lab::new(true);
    let (open, locked) = (
        lab.root().join("shop/open.txt"),
        lab.root().join("shop/locked.txt"),
    );
    for file in [&open, &locked] {
        fs::write(file, "teh tea\n").unwrap();
    }
    let uri = |path: &Path| format!("file://{}", path.display());
    let payload = json!({ "payload": { "files": [uri(&open), uri(&locked)] } });
    let prepared = lab.prepare("finecode__format", &payload, Arc::new(Locked));
    let output = prepared.run(context(&CancellationToken::new())).await;
    assert!(output.text.contains("it is locked"), "{}", output.text);
    assert_eq!(fs::read_to_string(&open).unwrap(), "the tea\n");
    assert_eq!(fs::read_to_string(&locked).unwrap(), "teh tea\n");
    lab.end().await;
}

#[tokio::test]
async fn a_run_ends_with_its_turn() {
    let lab = Lab::new(true);
    let cancel = CancellationToken::new();
    let payload = json!({ "payload": { "files": ["wait"] } });
    let prepared = lab.prepare("finecode__lint", &payload, Arc::new(NoRules));
    let running = prepared.run(context(&cancel));
    let ending = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(running, ending);
    assert!(
        !output.success && output.text.starts_with("cancelled"),
        "{}",
        output.text
    );
    lab.end().await;
}
