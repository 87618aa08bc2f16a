//! Turns that were open when the server stopped, taken up by a second one.

use std::sync::Arc;

use crate::support::{Bench, Script, Scripted, Stuck, built_in, call, message, results, say, text};
use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{Message, ModelEvent};
use bobbin_model::item::ExecutionStatus;
use bobbin_model::{CommandStatus, Decision, ItemBody, Question, QuestionAnswer, TurnFeatures, TurnStatus};
use bobbin_offline::Offline;
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use serde_json::json;

#[tokio::test]
async fn a_call_that_ran_is_not_run_again_and_the_model_decides() {
    let workspace = TestWorkspace::default();
    let stuck = Stuck::new();
    let runs = stuck.runs.clone();
    let tools = ToolSet::new([Arc::new(stuck) as _]);
    let first = Scripted::new([Script::Reply(call("1", "stuck", &json!({})))]);
    let mut bench = Bench::open(&workspace, first, tools.clone()).await;
    bench.features = TurnFeatures {
        tool_execution: true,
        ..bench.features.clone()
    };
    bench.start("go").await;
    bench
        .until(|now| *runs.lock().unwrap() == 1 && now.state.live.is_some())
        .await;

    let model = Scripted::new([say("I leave it.")]);
    let second = bench.reopen(&workspace, model.clone(), tools).await;
    let turn = second.last_turn().await;
    assert_eq!(
        (turn.status, message(&turn)),
        (TurnStatus::Completed, "I leave it.")
    );
    let results = results(&turn);
    assert!(
        results[0].0.starts_with("interrupted_by_restart") && !results[0].1,
        "{results:?}"
    );
    assert_eq!(*runs.lock().unwrap(), 1);
    let lifecycle = turn.items.iter().find_map(|item| match &item.body {
        ItemBody::ToolExecution { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(lifecycle, Some(ExecutionStatus::Failed));
    let asked = model.asked();
    assert!(matches!(
        asked[0].last(),
        Some(Message::Result { success: false, .. })
    ));
    second.threads.stop().await;
}

#[tokio::test]
async fn a_command_that_ran_is_lost_with_its_output_kept() {
    let workspace = TestWorkspace::default();
    let mut bench = Bench::open(&workspace, Arc::new(Offline), built_in()).await;
    bench.features = TurnFeatures {
        approvals: true,
        command_execution: true,
        tool_execution: false,
        ..TurnFeatures::default()
    };
    let mut log = bench.start("run `echo begun; sleep 600`").await;
    let approval = log.until_asked().await;
    bench.decide(&approval, Decision::Accept).await;
    let has_begun = |text: Option<&str>| text == Some("begun\n");
    bench
        .until(|now| {
            has_begun(
                now.state
                    .live
                    .as_ref()
                    .unwrap()
                    .turn
                    .items
                    .last()
                    .unwrap()
                    .body
                    .text(),
            )
        })
        .await;
    // Streamed text reaches the disk within a moment.
    tokio::time::sleep(bench.threads.settings().checkpoint_interval * 2).await;

    let second = bench.reopen(&workspace, Arc::new(Offline), built_in()).await;
    let turn = second.last_turn().await;
    let lost = turn.items.iter().find_map(|item| match &item.body {
        ItemBody::CommandExecution(run) => Some((run.status, run.aggregated_output.clone())),
        _ => None,
    });
    assert_eq!(lost, Some((CommandStatus::Lost, "begun\n".to_owned())));
    assert!(
        message(&turn).contains("was not run: interrupted_by_restart"),
        "{}",
        message(&turn)
    );
    second.threads.stop().await;
    bench.interrupt().await;
}

#[tokio::test]
async fn a_question_outlives_the_server_and_its_answer_runs_the_call() {
    let workspace = TestWorkspace::default();
    let bench = Bench::open(&workspace, Arc::new(Offline), built_in()).await;
    let approval = bench.start("run `echo made > made`").await.until_asked().await;

    let second = bench.reopen(&workspace, Arc::new(Offline), built_in()).await;
    assert_eq!(
        second.snapshot().await.state.approvals(),
        std::slice::from_ref(&approval)
    );
    second.decide(&approval, Decision::Accept).await;
    let turn = second.last_turn().await;
    assert_eq!(
        (turn.status, results(&turn)),
        (TurnStatus::Completed, vec![("exit code 0\n".to_owned(), true)])
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("made")).unwrap(),
        "made\n"
    );
    second.threads.stop().await;
}

#[tokio::test]
async fn a_call_that_was_not_complete_is_closed_and_not_run() {
    let workspace = TestWorkspace::default();
    let half = vec![
        ModelEvent::CallStarted {
            id: "1".to_owned(),
            tool: "WriteFile".to_owned(),
        },
        ModelEvent::CallArguments {
            id: "1".to_owned(),
            text: "{\"path\":\"a\",".to_owned(),
        },
    ];
    let bench = Bench::open(&workspace, Scripted::new([Script::Hang(half)]), built_in()).await;
    bench.start("go").await;
    bench
        .until(|now| now.state.live.as_ref().unwrap().turn.items.len() == 2)
        .await;

    let second = bench
        .reopen(&workspace, Scripted::new([say("again")]), built_in())
        .await;
    let turn = second.last_turn().await;
    assert!(results(&turn)[0].0.starts_with("interrupted_by_restart"));
    assert_eq!(message(&turn), "again");
    second.threads.stop().await;
}

#[tokio::test]
async fn a_message_that_was_cut_off_stays_and_the_model_is_asked_again() {
    let workspace = TestWorkspace::default();
    let first = Scripted::new([Script::Hang(vec![text("half a ")])]);
    let bench = Bench::open(&workspace, first, ToolSet::default()).await;
    bench.start("go").await;
    bench
        .until(|now| {
            now.state
                .live
                .as_ref()
                .unwrap()
                .turn
                .items
                .last()
                .unwrap()
                .body
                .text()
                == Some("half a ")
        })
        .await;
    tokio::time::sleep(bench.threads.settings().checkpoint_interval * 2).await;

    let model = Scripted::new([say("whole")]);
    let second = bench.reopen(&workspace, model.clone(), ToolSet::default()).await;
    let turn = second.last_turn().await;
    let said: Vec<_> = turn.items.iter().filter_map(|item| item.body.text()).collect();
    assert_eq!(said, ["half a ", "whole"]);
    assert_eq!(model.asked()[0].len(), 1);
    second.threads.stop().await;
}

#[tokio::test]
async fn the_diff_goes_on_over_a_restart() {
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("a"), "1\n").unwrap();
    let edit = |id: &str, old: &str, new: &str| {
        Script::Reply(call(
            id,
            "EditFile",
            &json!({ "path": "a", "oldText": old, "newText": new }),
        ))
    };
    let read = Script::Reply(call("0", "ReadFile", &json!({ "path": "a" })));
    let first = Scripted::new([read, edit("1", "1", "2"), Script::Hang(vec![])]);
    let bench = Bench::open(&workspace, first, built_in()).await;
    bench.start("go").await;
    bench
        .until(|now| now.state.live.as_ref().unwrap().diff.is_some())
        .await;

    let model = Scripted::new([edit("2", "2", "3"), Script::Hang(vec![])]);
    let second = bench.reopen(&workspace, model, built_in()).await;
    let expected = "diff --git a/a b/a\n\
                    index d00491fd7e5bb6fa28c517a0bb32b8b506539d4d..00750edc07d6415dcc07ae0351e9397b0222b7ba\n\
                    --- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+3\n";
    second
        .until(|now| now.state.live.as_ref().unwrap().diff.as_ref().unwrap().diff == expected)
        .await;
    second.threads.stop().await;
}

#[tokio::test]
async fn what_a_model_wants_to_know_is_asked_again_after_a_restart() {
    let workspace = TestWorkspace::default();
    let question = json!({ "question": "Which tea?" });
    let first = Scripted::new([Script::Reply(call("1", "AskUser", &question))]);
    let bench = Bench::open(&workspace, first.clone(), built_in()).await;
    // Somebody who takes questions.
    bench.thread.add_asked();
    bench.start("go").await;
    let asked = asked_of(&bench).await;
    assert!(first.offered().iter().any(|name| name == "AskUser"));

    let model = Scripted::new([say("Green.")]);
    let engine = AgentEngine::new(model.clone(), built_in());
    let threads = workspace
        .open_with(Arc::new(engine), crate::support::with_rules)
        .await;
    let thread = threads.thread(bench.thread.id()).await.unwrap();
    let features = bench.features;
    let second = Bench {
        threads,
        thread,
        features,
    };
    let again = asked_of(&second).await;
    assert_eq!(again, asked, "with its id and its Item");
    second
        .threads
        .answer_question(&again.id, QuestionAnswer::Text("green".to_owned()));
    second.until(|now| now.state.live.is_none()).await;
    let turn = second.last_turn().await;
    assert_eq!((turn.status, message(&turn)), (TurnStatus::Completed, "Green."));
    assert_eq!(results(&turn), [("green".to_owned(), true)]);
    // Nobody who could be asked is there now.
    assert!(!model.offered().iter().any(|name| name == "AskUser"));
    assert!(second.threads.open_questions(second.thread.id()).is_empty());
    second.threads.stop().await;
}

/// Waits until something is asked.
async fn asked_of(bench: &Bench) -> Arc<Question> {
    loop {
        let asked = bench.threads.open_questions(bench.thread.id());
        if let Some(asked) = asked.first() {
            return asked.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}
