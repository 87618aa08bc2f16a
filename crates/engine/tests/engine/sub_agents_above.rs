//! Subagents and what people do meanwhile to the Thread above, over the model of `sub_agents`.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::engine::Answer;
use bobbin_core::{Command, ThreadSummary};
use bobbin_engine::AgentEngine;
use bobbin_model::{ApprovalPolicy, Decision, ThreadConfig};
use bobbin_testkit::TestWorkspace;

use crate::sub_agents::{Directed, child, children, lines, spawn, until};
use crate::support::{Bench, answer, built_in, results, with_rules};

/// A core whose Threads have the tools that there are.
async fn open(workspace: &TestWorkspace, policy: ApprovalPolicy) -> Bench {
    let engine = AgentEngine::new(Arc::new(Directed::default()), built_in());
    let hub = workspace.open_with(Arc::new(engine), with_rules).await;
    let config = ThreadConfig {
        approval_policy: Some(policy),
        ..ThreadConfig::default()
    };
    Bench::on(hub, config).await
}

#[tokio::test]
async fn what_is_taken_back_above_is_taken_back_below_in_the_same_turn() {
    let workspace = TestWorkspace::default();
    let bench = open(&workspace, ApprovalPolicy::AutoApprove).await;
    let wait = "shell {\"command\":\"until test -e go; do sleep 0.05; done\"}";
    let task = lines(&[wait, "shell {\"command\":\"touch asked\"}", "RESULTS"]);
    let prompt = [
        &spawn("a", &task),
        "WaitAgent {}",
        &spawn("b", "hello"),
        "WaitAgent {}",
        "done",
    ];
    bench.start(&lines(&prompt)).await;
    until(&bench, |children| children.len() == 1).await;
    let below = child(&bench).await;
    let calls = async || {
        let state = bench.hub.snapshot(&below).await.unwrap().state;
        state.live.as_ref().map_or(0, |live| live.started_calls.len())
    };
    while calls().await == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let config = ThreadConfig {
        approval_policy: Some(ApprovalPolicy::Default),
        ..ThreadConfig::default()
    };
    answer(&bench.thread, |reply| Command::Configure { config, reply }).await;
    std::fs::write(workspace.path().join("go"), "").unwrap();
    until(&bench, |children| children[0].runtime.waiting_on_approval).await;
    let open = bench.hub.questions_below(bench.thread.id()).await;
    let given = Answer {
        approval: open[0].1.id.clone(),
        decision: Decision::Decline,
        client: "test".into(),
    };
    answer(&below, |reply| Command::Answer { answer: given, reply }).await;
    let results = results(&bench.last_turn().await);
    assert!(results[1].0.contains("was not approved"), "{results:?}");
    assert!(!workspace.path().join("asked").exists());
    let children = children(&bench).await;
    let named = |child: &&ThreadSummary| child.header.display_name.as_deref() == Some("b");
    let later = children.iter().find(named).unwrap();
    let state = bench.hub.stored(&later.header.id).await.unwrap().unwrap();
    let given = state.header.config.and_then(|config| config.approval_policy);
    assert_eq!(given, Some(ApprovalPolicy::Default));
    bench.hub.stop().await;
}
