//! Subagents and what people do meanwhile to the Thread above, over the model of `sub_agents`.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_core::Beforehand;
use bobbin_core::engine::Answer;
use bobbin_core::{Command, Snapshot, ThreadSummary};
use bobbin_model::{ApprovalPolicy, Decision, Mode, ThreadConfig, TurnStatus};
use bobbin_testkit::TestWorkspace;

use crate::sub_agents::{self, Directed, child, children, lines, spawn, until};
use crate::support::{Bench, answer, built_in, message, results, with_rules};

/// A core whose Threads have the tools that there are.
async fn open(workspace: &TestWorkspace, policy: ApprovalPolicy) -> Bench {
    let engine = AgentEngine::new(Arc::new(Directed::default()), built_in());
    let threads = workspace.open_with(Arc::new(engine), with_rules).await;
    let config = ThreadConfig {
        approval_policy: Some(policy),
        ..ThreadConfig::default()
    };
    Bench::on(threads, config).await
}

#[tokio::test]
async fn what_is_taken_back_above_is_taken_back_below_in_the_same_turn() {
    let workspace = TestWorkspace::default();
    let bench = open(&workspace, ApprovalPolicy::AutoApprove).await;
    let wait = "Exec {\"command\":\"until test -e go; do sleep 0.05; done\"}";
    let task = lines(&[wait, "Exec {\"command\":\"touch asked\"}", "RESULTS"]);
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
        let state = bench.threads.snapshot(&below).await.unwrap().state;
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
    let open = bench.threads.questions_of_descendants(bench.thread.id()).await;
    let given = Answer {
        approval: open[0].1.id.clone(),
        decision: Decision::Decline,
        client: "test".into(),
        actor: bobbin_model::Actor::Owner,
    };
    answer(&below, |reply| Command::Answer { answer: given, reply }).await;
    let results = results(&bench.last_turn().await);
    assert!(results[1].0.contains("was not approved"), "{results:?}");
    assert!(!workspace.path().join("asked").exists());
    let children = children(&bench).await;
    let named = |child: &&ThreadSummary| child.header.display_name.as_deref() == Some("b");
    let later = children.iter().find(named).unwrap();
    let state = bench.threads.stored(&later.header.id).await.unwrap().unwrap();
    let given = state.header.config.and_then(|config| config.approval_policy);
    assert_eq!(given, Some(ApprovalPolicy::Ask));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_subagent_goes_with_a_deleted_thread_and_by_itself_where_that_is_gone() {
    let workspace = TestWorkspace::default();
    let (bench, _) = sub_agents::open(&workspace, |settings| {
        settings.cancel_grace = Duration::from_mins(5);
    })
    .await;
    bench
        .run(&lines(&[&spawn("a", "x"), "WaitAgent {}", "done"]))
        .await;
    let below = Bench {
        threads: bench.threads.clone(),
        thread: child(&bench).await,
        features: bench.features.clone(),
    };
    let id = below.thread.id().clone();
    below.start("stuck {}").await;
    let live = |now: &Snapshot| now.state.live.clone();
    below
        .until(|now| live(now).is_some_and(|live| live.started_calls.len() == 1))
        .await;
    // Nobody looked for what is below before.
    answer(&bench.thread, |reply| Command::Delete { reply }).await;
    loop {
        let state = bench.threads.stored(&id).await.unwrap().expect("it still stops");
        if state.live.is_some_and(|live| live.cancelling.is_some()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // Then the server is gone, and nobody is left to go on with that.
    let engine = AgentEngine::new(Arc::new(Directed::default()), sub_agents::tools());
    let threads = workspace.open_with(Arc::new(engine), with_rules).await;
    let orphan = threads.thread(&id).await.unwrap();
    let delete = |reply| Command::Delete { reply };
    threads
        .for_descendants(&id, Beforehand::Stop, delete)
        .await
        .unwrap();
    answer(&orphan, delete).await;
    assert!(threads.stored(&id).await.unwrap().is_none());
    threads.stop().await;
}

#[tokio::test]
async fn what_is_done_below_begins_when_the_turn_above_is_over() {
    let workspace = TestWorkspace::default();
    let (bench, _) = sub_agents::open(&workspace, |settings| {
        settings.cancel_grace = Duration::from_millis(50);
    })
    .await;
    bench.start("stuck {}").await;
    let delete = |reply| Command::Delete { reply };
    let id = bench.thread.id().clone();
    bench
        .threads
        .for_descendants(&id, Beforehand::Stop, delete)
        .await
        .unwrap();
    assert!(bench.snapshot().await.state.live.is_none());
    bench.threads.stop().await;
}

#[tokio::test]
async fn the_agent_above_does_not_break_into_what_a_person_does_below() {
    let workspace = TestWorkspace::default();
    let bench = open(&workspace, ApprovalPolicy::AutoApprove).await;
    let until_there = |name: &str| {
        let command = format!("until test -e {name}; do sleep 0.05; done");
        format!("Exec {}", serde_json::json!({ "command": command }))
    };
    let prompt = [
        &spawn("a", "x"),
        "WaitAgent {}",
        &until_there("go"),
        "SendInput {\"agent\":\"a\",\"input\":\"more\"}",
        "done",
    ];
    bench.start(&lines(&prompt)).await;
    bench
        .until(|now| {
            let live = now.state.live.as_ref();
            live.is_some_and(|live| live.started_calls.len() == 3)
        })
        .await;
    let below = Bench {
        threads: bench.threads.clone(),
        thread: child(&bench).await,
        features: bench.features.clone(),
    };
    // A person has it plan from here on.
    let config = ThreadConfig {
        mode: Some(Mode::Plan),
        approval_policy: Some(ApprovalPolicy::AutoApprove),
        ..ThreadConfig::default()
    };
    let personal = config.clone();
    let mut log = below.start(&lines(&[&until_there("enough"), "mine"])).await;
    answer(&below.thread, |reply| Command::Configure { config, reply }).await;
    std::fs::write(workspace.path().join("go"), "").unwrap();
    let results = results(&bench.last_turn().await);
    assert!(
        !results[3].1 && results[3].0.contains("a user is at work"),
        "{results:?}"
    );
    assert_eq!(below.snapshot().await.state.header.config, Some(personal));
    std::fs::write(workspace.path().join("enough"), "").unwrap();
    log.end().await;
    let turn = below.last_turn().await;
    assert_eq!((turn.status, message(&turn)), (TurnStatus::Completed, "mine"));
    bench.threads.stop().await;
}
