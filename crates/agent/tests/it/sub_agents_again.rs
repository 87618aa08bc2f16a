//! Subagents after the server was started anew, over the model of `sub_agents`.

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_core::Command;
use bobbin_model::{Mode, ThreadConfig, TurnStatus};
use bobbin_testkit::TestWorkspace;

use crate::sub_agents::{Directed, children, last_turn, lines, open, spawn, tools, until};
use crate::support::{Bench, answer, results};

async fn again(bench: &Bench, workspace: &TestWorkspace) -> Bench {
    let engine = AgentEngine::new(Arc::new(Directed::default()), tools());
    bench.reopen_engine(workspace, engine).await
}

#[tokio::test]
async fn one_that_had_ended_before_a_restart_is_of_its_turn_all_the_same() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |_| {}).await;
    let prompt = [
        &spawn("a", "hello"),
        "WaitAgent {}",
        "stuck {}",
        "WaitAgent {}",
        "done",
    ];
    bench.start(&lines(&prompt)).await;
    bench
        .until(|now| {
            let live = now.state.live.as_ref();
            live.is_some_and(|live| live.started_calls.len() == 3)
        })
        .await;
    let second = again(&bench, &workspace).await;
    let results = results(&second.last_turn().await);
    assert!(results[3].0.ends_with("finished\nhello"), "{results:?}");
    second.threads.stop().await;
}

#[tokio::test]
async fn a_subagent_goes_on_with_no_more_than_the_thread_above_has_by_then() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |_| {}).await;
    bench
        .start(&lines(&[
            &spawn("a", "stuck {}\nRESULTS"),
            "stuck {}",
            "WaitAgent {}",
            "done",
        ]))
        .await;
    until(&bench, |children| children.len() == 1).await;
    let id = children(&bench).await[0].header.id.clone();
    let below = bench.threads.thread(&id).await.unwrap();
    while bench
        .threads
        .snapshot(&below)
        .await
        .unwrap()
        .state
        .live
        .as_ref()
        .is_some_and(|live| live.started_calls.is_empty())
    {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let plan = ThreadConfig {
        mode: Some(Mode::Plan),
        ..ThreadConfig::default()
    };
    let config = plan.clone();
    answer(&bench.thread, |reply| Command::Configure { config, reply }).await;
    let second = again(&bench, &workspace).await;
    second.last_turn().await;
    let state = second.threads.stored(&id).await.unwrap().unwrap();
    let config = state.header.config.unwrap();
    assert_eq!(config.mode(), Mode::Plan);
    // It is still told what it is.
    assert!(config.extra.contains_key("roleInstructions"));
    assert_eq!(
        last_turn(&second.threads, &id).await.status,
        TurnStatus::Completed
    );
    second.threads.stop().await;
}

#[tokio::test]
async fn opening_a_closed_subagent_takes_room() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| settings.sub_agents.open = 1).await;
    let prompt = [
        &spawn("a", "x"),
        "WaitAgent {}",
        "CloseAgent {\"agent\":\"a\"}",
        &spawn("b", "y"),
        "WaitAgent {}",
        "ResumeAgent {\"agent\":\"b\"}",
        "ResumeAgent {\"agent\":\"a\"}",
        "CloseAgent {\"agent\":\"b\"}",
        "ResumeAgent {\"agent\":\"a\"}",
        "done",
    ];
    bench.run(&lines(&prompt)).await;
    let results = results(&bench.last_turn().await);
    let opened: Vec<bool> = [5, 6, 8].iter().map(|at| results[*at].1).collect();
    assert_eq!(opened, [true, false, true], "{results:?}");
    assert!(results[6].0.contains("1 subagents of"), "{results:?}");
    bench.threads.stop().await;
}
