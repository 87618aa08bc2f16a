//! What an agent gives its subagents while they are at work, over the model of `sub_agents`.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_core::{Command, CoreError, ThreadHandle, Threads};
use bobbin_model::state::StartTurn;
use bobbin_model::{
    ApprovalPolicy, EdgeStatus, InputPart, Refusal, Sender, ThreadConfig, ThreadId, TurnFeatures, TurnId,
    TurnStatus,
};
use bobbin_testkit::TestWorkspace;
use serde_json::json;

use crate::sub_agents::{Directed, child, lines, open, spawn, until};
use crate::support::{Bench, answer, built_in, message, with_rules};

/// Returns how the Turns of a Thread have ended, oldest first.
async fn ends(threads: &Arc<Threads>, id: &ThreadId) -> Vec<TurnStatus> {
    let turns = threads.turns_before(id, TurnId(u32::MAX), 9).await.unwrap();
    turns.iter().map(|turn| turn.status).collect()
}

fn input(text: &str, sender: Option<Sender>) -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text: text.into() }],
        sender,
        channel: None,
        features: TurnFeatures::default(),
    }
}

async fn below(bench: &Bench) -> Bench {
    Bench {
        threads: bench.threads.clone(),
        thread: child(bench).await,
        features: bench.features.clone(),
    }
}

async fn asked(
    thread: &ThreadHandle,
    command: impl FnOnce(bobbin_core::Reply<bobbin_core::Enqueued>) -> Command,
) -> Result<bobbin_core::Enqueued, CoreError> {
    let (tx, rx) = tokio::sync::oneshot::channel();
    thread
        .send(command(Box::new(move |done| drop(tx.send(done)))))
        .await;
    rx.await.unwrap()
}

#[tokio::test]
async fn what_was_given_to_a_subagent_that_is_stopped_does_not_run_later() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| {
        settings.cancel_grace = Duration::from_millis(100);
    })
    .await;
    let send = "SendInput {\"agent\":\"a\",\"input\":\"later\"}";
    bench
        .start(&lines(&[&spawn("a", "stuck {}"), send, "stuck {}"]))
        .await;
    until(&bench, |children| children.len() == 1).await;
    let below = below(&bench).await;
    below.until(|now| now.state.queue.len() == 1).await;
    bench.interrupt().await;
    assert_eq!(bench.last_turn().await.status, TurnStatus::Cancelled);
    assert!(below.snapshot().await.state.queue.is_empty());
    // Nor behind what a person does there.
    below.run("mine").await;
    assert_eq!(message(&below.last_turn().await), "mine");
    let both = [TurnStatus::Cancelled, TurnStatus::Completed];
    assert_eq!(ends(&bench.threads, below.thread.id()).await, both);
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_was_given_to_a_subagent_goes_when_it_is_closed() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| {
        settings.cancel_grace = Duration::from_millis(100);
    })
    .await;
    let send = "SendInput {\"agent\":\"a\",\"input\":\"later\"}";
    let prompt = [
        &spawn("a", "stuck {}"),
        send,
        "CloseAgent {\"agent\":\"a\"}",
        "WaitAgent {}",
        "done",
    ];
    bench.run(&lines(&prompt)).await;
    let below = below(&bench).await;
    assert!(below.snapshot().await.state.queue.is_empty());
    // It takes nothing more of the agent above, however that comes.
    let agent = Sender {
        sender_id: bench.thread.id().to_string(),
        sender_name: "agent".to_owned(),
        sender_role: Some("agent".to_owned()),
        group_id: None,
    };
    let request = input("late", Some(agent.clone()));
    let late = asked(&below.thread, |reply| Command::Enqueue { request, reply }).await;
    assert!(
        matches!(&late, Err(CoreError::Refused(Refusal::NotNow(_)))),
        "{late:?}"
    );
    let (tx, rx) = tokio::sync::oneshot::channel();
    let request = input("late", Some(agent));
    let reply = Box::new(move |done| drop(tx.send(done)));
    below.thread.send(Command::StartTurn { request, reply }).await;
    assert!(matches!(
        rx.await.unwrap(),
        Err(CoreError::Refused(Refusal::NotNow(_)))
    ));
    let (parent, status) = (bench.thread.id().clone(), EdgeStatus::Open);
    let edged = answer(&below.thread, |reply| Command::Edge {
        parent,
        status,
        reply,
    });
    edged.await;
    below.run("mine").await;
    let both = [TurnStatus::Cancelled, TurnStatus::Completed];
    assert_eq!(ends(&bench.threads, below.thread.id()).await, both);
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_a_person_has_begun_behind_the_agents_work_outlives_the_turn_above() {
    let workspace = TestWorkspace::default();
    let engine = AgentEngine::new(Arc::new(Directed::default()), built_in());
    let threads = workspace.open_with(Arc::new(engine), with_rules).await;
    let config = ThreadConfig {
        approval_policy: Some(ApprovalPolicy::AutoApprove),
        ..ThreadConfig::default()
    };
    let bench = Bench::on(threads, config).await;
    let until_there = |name: &str| {
        let command = format!("until test -e {name}; do sleep 0.05; done");
        format!("Exec {}", json!({ "command": command }))
    };
    let there = |name: &str| std::fs::write(workspace.path().join(name), "").unwrap();
    let task = lines(&[&until_there("first"), "the agent's"]);
    bench
        .start(&lines(&[&spawn("a", &task), &until_there("second"), "done"]))
        .await;
    until(&bench, |children| children.len() == 1).await;
    let below = below(&bench).await;
    let request = input(&lines(&[&until_there("third"), "a person's"]), None);
    asked(&below.thread, |reply| Command::Enqueue { request, reply })
        .await
        .unwrap();
    there("first");
    below.until(|now| now.state.live_turn() == Some(TurnId(2))).await;
    there("second");
    assert_eq!(bench.last_turn().await.status, TurnStatus::Completed);
    let live = below.snapshot().await.state.live.clone();
    assert!(live.is_some_and(|live| live.cancelling.is_none()));
    there("third");
    let turn = below.last_turn().await;
    assert_eq!(
        (turn.status, message(&turn)),
        (TurnStatus::Completed, "a person's")
    );
    bench.threads.stop().await;
}
