//! Subagents and the limits of the Turn above, over the model of `sub_agents`.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::{AgentEngine, AgentSettings, TurnLimits};
use bobbin_core::engine::Answer;
use bobbin_core::{Command, Settings};
use bobbin_model::{Decision, ItemBody, ThreadConfig, TurnStatus};
use bobbin_testkit::TestWorkspace;

use crate::sub_agents::{Directed, child, children, last_turn, lines, spawn, until};
use crate::support::{Bench, answer, built_in, results, with_rules};

const ASKS: &str = "Exec {\"command\":\"touch asked\"}";

async fn open(workspace: &TestWorkspace, limits: TurnLimits) -> Bench {
    let settings = AgentSettings {
        limits,
        ..AgentSettings::default()
    };
    let engine = AgentEngine::new(Arc::new(Directed::default()), built_in()).with_settings(settings);
    let rules = |settings: &mut Settings| {
        with_rules(settings);
        settings.cancel_grace = Duration::from_millis(100);
    };
    let threads = workspace.open_with(Arc::new(engine), rules).await;
    Bench::on(threads, ThreadConfig::default()).await
}

#[tokio::test]
async fn what_subagents_use_ends_the_turn_above_while_it_waits_for_them() {
    let workspace = TestWorkspace::default();
    // Eleven a reply: two above, and each of the two below may have its own five.
    let limits = TurnLimits {
        tokens: Some(60),
        ..TurnLimits::default()
    };
    let bench = open(&workspace, limits).await;
    let task = lines(&["FindFiles {}", "FindFiles {}", ASKS]);
    let both = [spawn("a", &task), spawn("b", &task)].join(" && ");
    let mut log = bench.start(&lines(&[&both, "WaitAgent {}", "never"])).await;
    log.end().await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Failed);
    let told = turn.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Error { code, .. } => Some(code.as_str()),
        _ => None,
    });
    assert_eq!(told, Some("limit_tokens"));
    // The call that waited has its result, and nobody works on.
    assert_eq!(results(&turn).len(), 3);
    for child in children(&bench).await {
        let below = last_turn(&bench.threads, &child.header.id).await;
        assert_eq!(below.status, TurnStatus::Cancelled);
    }
    bench.threads.stop().await;
}

#[tokio::test]
async fn time_in_which_all_subagents_wait_for_people_does_not_count_above() {
    let workspace = TestWorkspace::default();
    let limits = TurnLimits {
        time: Some(Duration::from_hours(1)),
        ..TurnLimits::default()
    };
    let bench = open(&workspace, limits).await;
    let task = lines(&[ASKS, "RESULTS"]);
    bench
        .start(&lines(&[&spawn("a", &task), "WaitAgent {}", "RESULTS"]))
        .await;
    until(&bench, |children| {
        children.len() == 1 && children[0].runtime.waiting_on_approval
    })
    .await;
    bench
        .until(|now| {
            let live = now.state.live.as_ref();
            live.is_some_and(|live| live.started_calls.len() == 2)
        })
        .await;
    // A person thinks for a while; the agent above may begin to wait a little later than that is on record.
    for _ in 0..120 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_mins(1)).await;
        tokio::time::resume();
        assert!(children(&bench).await[0].runtime.running);
    }
    let below = child(&bench).await;
    let open = bench.threads.questions_of_descendants(bench.thread.id()).await;
    let given = Answer {
        approval: open[0].1.id.clone(),
        decision: Decision::Decline,
        client: "test".into(),
        actor: bobbin_model::Actor::Owner,
    };
    answer(&below, |reply| Command::Answer { answer: given, reply }).await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed, "{turn:#?}");
    assert!(results(&turn)[1].0.contains("was not approved"));
    bench.threads.stop().await;
}
