//! Bounds of a Turn, each with its words and its record.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::{AgentEngine, AgentSettings, TurnLimits};
use bobbin_agent_api::model::ModelUsage;
use bobbin_model::{Decision, ItemBody, ThreadConfig, Turn, TurnStatus};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, Stuck, built_in, call, figures, results, say};

async fn bench(workspace: &TestWorkspace, model: Arc<Scripted>, tools: ToolSet, limits: TurnLimits) -> Bench {
    let settings = AgentSettings {
        limits,
        ..AgentSettings::default()
    };
    let engine = AgentEngine::new(model, tools).with_settings(settings);
    Bench::open_engine(workspace, engine, ThreadConfig::default()).await
}

/// Returns the last error of a Turn: code, words, whether it ended it.
fn error(turn: &Turn) -> (String, String, bool) {
    let last = turn.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Error { message, code, fatal } => Some((code.clone(), message.clone(), *fatal)),
        _ => None,
    });
    last.expect("it says why")
}

fn looks(number: usize, usage: ModelUsage) -> Script {
    Script::Counted(call(&number.to_string(), "FindFiles", &json!({})), usage)
}

#[tokio::test]
async fn rounds_tokens_and_money_end_a_turn_between_two_requests() {
    let none = TurnLimits {
        rounds: None,
        ..TurnLimits::default()
    };
    let table = [
        (
            TurnLimits {
                rounds: Some(2),
                ..none
            },
            "limit_rounds",
            "Limits.Rounds",
        ),
        (
            TurnLimits {
                tokens: Some(200),
                ..none
            },
            "limit_tokens",
            "200 tokens",
        ),
        (
            TurnLimits {
                cost_micros: Some(60_000),
                ..none
            },
            "limit_cost",
            "cost 0.06, and may cost 0.06",
        ),
    ];
    for (limits, code, words) in table {
        let workspace = TestWorkspace::default();
        let used = figures(90, 10, 90, Some(30_000));
        let model = Scripted::new([looks(1, used), looks(2, used)]);
        let bench = bench(&workspace, model, built_in(), limits).await;
        bench.run("go").await;
        let turn = bench.last_turn().await;
        assert_eq!(turn.status, TurnStatus::Failed);
        let (known, message, fatal) = error(&turn);
        assert!(
            known == code && fatal && message.contains(words),
            "{known}: {message}"
        );
        assert_eq!(turn.error.as_deref(), Some(message.as_str()));
        // Every call has its result: the next Turn goes on from there.
        assert_eq!(results(&turn).len(), 2);
        bench.threads.stop().await;
    }
}

#[tokio::test]
async fn what_a_turn_has_used_outlives_the_server() {
    let workspace = TestWorkspace::default();
    let limits = TurnLimits {
        cost_micros: Some(50_000),
        ..TurnLimits::default()
    };
    let used = figures(90, 10, 90, Some(60_000));
    let first = Scripted::new([Script::Counted(call("1", "stuck", &json!({})), used)]);
    let tools = || ToolSet::new([Arc::new(Stuck::new()) as _]);
    let one = bench(&workspace, first, tools(), limits).await;
    one.start("go").await;
    one.until(|now| {
        now.state
            .live
            .as_ref()
            .is_some_and(|live| !live.started_calls.is_empty())
    })
    .await;
    let settings = AgentSettings {
        limits,
        ..AgentSettings::default()
    };
    let engine = AgentEngine::new(Scripted::new([]), tools()).with_settings(settings);
    let second = one.reopen_engine(&workspace, engine).await;
    let turn = second.last_turn().await;
    assert_eq!(error(&turn).0, "limit_cost");
    second.threads.stop().await;
}

#[tokio::test]
async fn a_limit_of_money_without_a_price_is_told_once() {
    let workspace = TestWorkspace::default();
    let limits = TurnLimits {
        cost_micros: Some(1),
        ..TurnLimits::default()
    };
    let used = figures(90, 10, 90, None);
    let model = Scripted::new([looks(1, used), looks(2, used), say("done")]);
    let bench = bench(&workspace, model, built_in(), limits).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    let told = turn
        .items
        .iter()
        .filter(|item| matches!(&item.body, ItemBody::Error { code, .. } if code == "price_unknown"));
    assert_eq!(told.count(), 1);
    bench.threads.stop().await;
}

#[tokio::test]
async fn time_at_work_ends_what_runs_and_waiting_for_a_person_does_not_count() {
    let workspace = TestWorkspace::default();
    let limits = TurnLimits {
        time: Some(Duration::from_millis(1500)),
        ..TurnLimits::default()
    };
    let model = Scripted::new([Script::Reply(call(
        "1",
        "Exec",
        &json!({ "command": "echo begun; sleep 600" }),
    ))]);
    let bench = bench(&workspace, model, built_in(), limits).await;
    let mut log = bench.start("go").await;
    let approval = log.until_asked().await;
    // Longer than the limit: the person thinks.
    tokio::time::sleep(Duration::from_millis(1700)).await;
    assert!(bench.snapshot().await.state.live.is_some());
    bench.decide(&approval, Decision::Accept).await;
    let turn = bench.last_turn().await;
    let (code, message, _) = error(&turn);
    assert!(
        code == "timeout" && message.contains("Limits.Seconds"),
        "{code}: {message}"
    );
    assert_eq!(turn.status, TurnStatus::Failed);
    // The command was ended, and its result is on record.
    assert!(results(&turn)[0].0.contains("begun"), "{:?}", results(&turn));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_model_that_never_answers_is_given_up_in_time() {
    let workspace = TestWorkspace::default();
    let limits = TurnLimits {
        time: Some(Duration::from_millis(200)),
        ..TurnLimits::default()
    };
    let model = Scripted::new([Script::Hang(vec![crate::support::text("half")])]);
    let bench = bench(&workspace, model, ToolSet::default(), limits).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!(
        (error(&turn).0.as_str(), crate::support::message(&turn)),
        ("timeout", "half")
    );
    bench.threads.stop().await;
}
