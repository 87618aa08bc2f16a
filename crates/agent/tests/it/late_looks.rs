//! What a call has changed is seen after its result is on record, and not for the sake of the Turn alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent::AgentEngine;
use bobbin_agent_api::tool::Touches;
use bobbin_agent_api::undo::{
    ChangedSince, FileChanges, NotRecorded, OpenCall, RecordedTurn, RevertRequest, Undo, UndoError, Undone,
};
use bobbin_children::{Children, Environment};
use bobbin_model::{ApprovalPolicy, ThreadConfig, TurnStatus};
use bobbin_testkit::TestWorkspace;
use bobbin_undo::FileUndo;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, Script, Scripted, built_in, call, results, with_rules};

/// An undo whose look at the changes of a call never comes to its end while the Turn waits for it.
#[derive(Debug)]
struct EndlessLook {
    undo: Arc<FileUndo>,
    looks: Arc<AtomicBool>,
}

struct OpenLook {
    call: Box<dyn OpenCall>,
    looks: Arc<AtomicBool>,
}

impl Undo for EndlessLook {
    fn prepare(&self, root: &Path) {
        self.undo.prepare(root);
    }

    fn begin(
        &self,
        turn: RecordedTurn,
        touches: Touches,
    ) -> BoxFuture<'_, Result<Box<dyn OpenCall>, NotRecorded>> {
        Box::pin(async move {
            let (call, looks) = (self.undo.begin(turn, touches).await?, self.looks.clone());
            Ok(Box::new(OpenLook { call, looks }) as Box<dyn OpenCall>)
        })
    }

    fn resume(&self, turn: RecordedTurn) -> BoxFuture<'_, FileChanges> {
        self.undo.resume(turn)
    }

    fn revert(
        &self,
        request: RevertRequest,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<Undone, UndoError>> {
        self.undo.revert(request, stop)
    }
}

impl OpenCall for OpenLook {
    fn end(self: Box<Self>) -> BoxFuture<'static, FileChanges> {
        Box::pin(async move {
            self.looks.store(true, Ordering::Relaxed);
            std::future::pending::<()>().await;
            self.call.end().await
        })
    }
}

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
    let looks = Arc::new(AtomicBool::default());
    let undo = Arc::new(EndlessLook {
        undo: files.clone(),
        looks: looks.clone(),
    });
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
    bench.until(|_| looks.load(Ordering::Relaxed)).await;
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
