//! What a call has changed is seen after its result is on record, and not for the sake of the Turn alone.

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::undo::ChangedSince;
use bobbin_children::{Children, Environment};
use bobbin_model::{ApprovalPolicy, ThreadConfig, TurnStatus};
use bobbin_testkit::{EndlessLook, TestWorkspace};
use bobbin_undo::FileUndo;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, results, with_rules};

#[tokio::test]
async fn an_interrupt_while_changes_are_looked_for_loses_no_result() {
    let (workspace, place) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let children = Children::new(None);
    let kept = place.path().join("kept");
    let clock = Arc::new(bobbin_agent_api::SystemClock);
    let files = FileUndo::open(&kept, workspace.path(), children, &environment, clock)
        .await
        .unwrap();
    let undo = EndlessLook::new(files.clone());
    let command = "echo green > tea.txt; echo poured";
    let model = Scripted::new([Script::Reply(call("1", "Exec", &json!({ "command": command })))]);
    let engine = AgentEngine::new(model, built_in()).with_undo(Some(undo.clone()));
    let threads = workspace
        .open_with(Arc::new(engine), |settings| {
            with_rules(settings);
            settings.approval_policy = ApprovalPolicy::AutoApprove.into();
            settings.undo = Some(undo.clone());
        })
        .await;
    let bench = Bench::on(threads, ThreadConfig::default()).await;
    bench.start("Make tea.").await;
    bench.until(|_| undo.looks()).await;
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Cancelled);
    let results = results(&turn);
    assert!(
        results.len() == 1 && results[0].1 && results[0].0.contains("poured"),
        "{results:?}"
    );
    // The changes are recorded without the Turn, and can be undone.
    assert!(workspace.path().join("tea.txt").exists());
    let undone = bench.revert("turn_001", ChangedSince::Refuse).await.unwrap();
    assert_eq!(undone.files.len(), 1, "{undone:?}");
    assert!(!workspace.path().join("tea.txt").exists());
    bench.threads.stop().await;
    files.end().await;
}
