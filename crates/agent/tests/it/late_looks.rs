//! What a call has changed is seen after its result is on record, and not for the sake of the Turn alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::undo::ChangedSince;
use bobbin_children::{Children, Environment};
use bobbin_model::{ApprovalPolicy, ThreadConfig, TurnStatus};
use bobbin_testkit::TestWorkspace;
use bobbin_undo::FileUndo;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, results, with_rules};

/// Writes a `git` that waits as long as there is a file `hold` beside it, and says so with a file `held`.
fn slow_git(place: &Path) {
    let script = format!(
        "#!/bin/sh\nwhile [ -e '{0}/hold' ]; do : > '{0}/held'; sleep 0.05; done\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
        place.display()
    );
    fs::write(place.join("git"), script).unwrap();
    fs::set_permissions(place.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn an_interrupt_while_changes_are_looked_for_loses_no_result() {
    let (workspace, slow, place) = (
        TestWorkspace::default(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    slow_git(slow.path());
    let mut environment = Environment::empty();
    environment.set("PATH", format!("{}:/usr/bin:/bin", slow.path().display()));
    let children = Children::new(None);
    let kept = place.path().join("kept");
    let clock = Arc::new(bobbin_agent_api::SystemClock);
    let undo = FileUndo::open(&kept, workspace.path(), children, &environment, clock)
        .await
        .unwrap();
    let hold = slow.path().join("hold");
    let command = format!("echo green > tea.txt; echo poured; : > '{}'", hold.display());
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
    bench.until(|_| slow.path().join("held").exists()).await;
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Cancelled);
    let results = results(&turn);
    assert!(
        results.len() == 1 && results[0].1 && results[0].0.contains("poured"),
        "{results:?}"
    );
    assert!(hold.exists(), "the look is still under way");

    // The look goes on without the Turn, and what it sees can be undone.
    fs::remove_file(&hold).unwrap();
    assert!(workspace.path().join("tea.txt").exists());
    let undone = bench.revert("turn_001", ChangedSince::Refuse).await.unwrap();
    assert_eq!(undone.files.len(), 1, "{undone:?}");
    assert!(!workspace.path().join("tea.txt").exists());
    bench.threads.stop().await;
    undo.end().await;
}
