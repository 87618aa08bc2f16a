//! Whole Turns through a real core and a real store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Bench, Script, Scripted, built_in, call, message, recorded, results, say, text, words};
use bobbin_agent_api::model::{Message, ModelEvent};
use bobbin_model::item::ExecutionStatus;
use bobbin_model::plan::TodoStatus;
use bobbin_model::{CommandStatus, Decision, Event, InputPart, ItemBody, Mode, TurnFeatures, TurnStatus};
use bobbin_offline::Offline;
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use serde_json::json;

async fn offline(workspace: &TestWorkspace) -> Bench {
    Bench::open(workspace, Arc::new(Offline), built_in()).await
}

#[tokio::test]
async fn a_call_with_a_question_has_the_items_and_the_order_of_the_protocol() {
    let workspace = TestWorkspace::default();
    let mut bench = offline(&workspace).await;
    bench.features = TurnFeatures {
        approvals: true,
        command_execution: true,
        tool_execution: true,
        ..TurnFeatures::default()
    };
    let mut log = bench.start("run `echo hi; exit 3`").await;
    let approval = log.until_asked().await;
    assert_eq!(approval.scope.operation, "echo hi; exit 3");
    bench.decide(&approval, Decision::Accept).await;
    let mut all = bench.log();
    let frames = all.end().await;
    let begin = frames
        .iter()
        .position(|frame| matches!(recorded(frame), Some(Event::TurnStarted { .. })))
        .unwrap();
    assert_eq!(
        words(&frames[begin..]),
        [
            "turnStarted",
            "=user",
            "+call",
            "delta",
            "-call",
            "usageAdded",
            "approvalOpened",
            "approvalResolved",
            "callStarted",
            "+execution",
            "+command",
            "delta",
            "-command",
            "-execution",
            "=result",
            "+message",
            "delta",
            "-message",
            "usageAdded",
            "turnEnded",
        ]
    );
    let turn = bench.last_turn().await;
    assert_eq!(results(&turn), [("exit code 3\nhi\n".to_owned(), false)]);
    assert_eq!(
        message(&turn),
        "`echo hi; exit 3` ended with exit code 3:\n\n```\nhi\n```"
    );
    let command = turn.items.iter().find_map(|item| match &item.body {
        ItemBody::CommandExecution(run) => Some(run.clone()),
        _ => None,
    });
    let command = command.unwrap();
    assert_eq!(
        (command.status, command.exit_code),
        (CommandStatus::Failed, Some(3))
    );
    assert_eq!(command.aggregated_output, "hi\n");
    assert!(turn.usage.total() > 0);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_call_opens_without_arguments_and_completes_with_all_of_them() {
    let workspace = TestWorkspace::default();
    let bench = offline(&workspace).await;
    let frames = bench.run("write a.txt: hello").await;
    let bodies: Vec<_> = frames
        .iter()
        .filter_map(|frame| match recorded(frame) {
            Some(Event::ItemStarted { item, .. } | Event::ItemCompleted { item, .. }) => Some(&item.body),
            _ => None,
        })
        .filter_map(|body| match body {
            ItemBody::ToolCall { arguments, .. } => {
                Some(arguments.as_ref().map(|json| json.get().to_owned()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        bodies,
        [
            None,
            Some(json!({ "path": "a.txt", "content": "hello\n" }).to_string())
        ]
    );
    let streamed: String = frames
        .iter()
        .filter_map(|frame| match &frame.body {
            bobbin_core::FrameBody::Delta(delta) if delta.call.is_some() => Some(delta.text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(Some(streamed), bodies[1]);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_declined_command_does_not_run_and_the_model_is_told() {
    let workspace = TestWorkspace::default();
    let bench = offline(&workspace).await;
    let mut log = bench.start("run `touch made`").await;
    let approval = log.until_asked().await;
    bench.decide(&approval, Decision::Decline).await;
    let frames = log.end().await;
    assert!(!words(&frames).contains(&"callStarted".to_owned()));
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    assert!(
        message(&turn).starts_with("`touch made` was not run: refused"),
        "{}",
        message(&turn)
    );
    assert!(!workspace.path().join("made").exists());
    let refused = |item: &bobbin_model::Item| matches!(item.body, ItemBody::ToolResult { refused: true, .. });
    assert!(turn.items.iter().any(refused));
    bench.threads.stop().await;
}

#[tokio::test]
async fn plain_reads_and_work_inside_the_workspace_ask_nobody() {
    let workspace = TestWorkspace::default();
    let bench = offline(&workspace).await;
    bench
        .run("write src/a.txt: hello then run `cat src/a.txt` then replace hello with bye in src/a.txt")
        .await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    assert!(
        results(&turn).iter().all(|(_, success)| *success),
        "{:?}",
        results(&turn)
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("src/a.txt")).unwrap(),
        "bye\n"
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_path_outside_is_asked_about() {
    let workspace = TestWorkspace::default();
    let bench = offline(&workspace).await;
    let mut log = bench.start("read /etc/hostname").await;
    let approval = log.until_asked().await;
    assert_eq!(
        (approval.scope.operation.as_str(), approval.scope.target.as_str()),
        ("read", "/etc/hostname")
    );
    bench.decide(&approval, Decision::Cancel).await;
    assert_eq!(bench.last_turn().await.status, TurnStatus::Cancelled);
    bench.threads.stop().await;
}

#[tokio::test]
async fn plan_mode_withholds_what_can_change_things() {
    let workspace = TestWorkspace::default();
    let bench = Bench::open_in(&workspace, Arc::new(Offline), built_in(), Mode::Plan).await;
    bench.run("write a.txt: x").await;
    assert!(
        results(&bench.last_turn().await)[0]
            .0
            .contains("withheld in plan mode")
    );
    assert!(!workspace.path().join("a.txt").exists());
    bench.run("plan:\n- [x] look\n- act").await;
    let now = bench.snapshot().await;
    assert_eq!(now.state.plan.as_ref().unwrap().todos.len(), 2);
    assert!(now.state.plan_pending);
    bench.threads.stop().await;
}

/// 02 §2.4: a tool that the Thread's lists leave out is not offered, and not run when it is called all the same.
#[tokio::test]
async fn tools_that_the_thread_denies_are_neither_offered_nor_run() {
    let workspace = TestWorkspace::default();
    let write = call("1", "WriteFile", &json!({ "path": "a.txt", "content": "x" }));
    let model = Scripted::new([Script::Reply(write), say("sorry")]);
    let config = bobbin_model::ThreadConfig {
        tool_deny_list: Some(vec!["WriteFile".to_owned()]),
        ..Default::default()
    };
    let bench = Bench::open_with(&workspace, model.clone(), built_in(), config).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert!(results(&turn)[0].0.contains("does not allow WriteFile"));
    assert!(!workspace.path().join("a.txt").exists());
    let offered = model.offered();
    assert!(offered.contains(&"ReadFile".to_owned()) && !offered.contains(&"WriteFile".to_owned()));
    bench.threads.stop().await;
}

#[tokio::test]
async fn the_diff_is_cumulative_and_follows_each_change() {
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("b"), "1\n").unwrap();
    let mut calls = call("0", "ReadFile", &json!({ "path": "b" }));
    calls.extend(call("1", "WriteFile", &json!({ "path": "a", "content": "x\n" })));
    calls.extend(call(
        "2",
        "EditFile",
        &json!({ "path": "b", "oldText": "1", "newText": "2" }),
    ));
    let undo = call(
        "3",
        "EditFile",
        &json!({ "path": "b", "oldText": "2", "newText": "1" }),
    );
    let model = Scripted::new([Script::Reply(calls), Script::Reply(undo), say("done")]);
    let bench = Bench::open(&workspace, model, built_in()).await;
    let frames = bench.run("go").await;
    let diffs: Vec<_> = frames
        .iter()
        .filter_map(|frame| match recorded(frame) {
            Some(Event::DiffUpdated { diff, .. }) => Some(diff),
            _ => None,
        })
        .collect();
    let added = "diff --git a/a b/a\nnew file mode 100644\n\
                 index 0000000000000000000000000000000000000000..587be6b4c3f93f93c489c0111bba5596147a26cb\n\
                 --- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(diffs.first().unwrap().diff, added);
    assert!(diffs.iter().any(|diff| diff.files.len() == 2));
    assert_eq!(diffs.last().unwrap().diff, added);
    bench.threads.stop().await;
}

#[tokio::test]
async fn interrupting_a_command_ends_it_at_once_and_keeps_its_output() {
    let workspace = TestWorkspace::default();
    let mut bench = offline(&workspace).await;
    bench.features = TurnFeatures {
        approvals: true,
        command_execution: true,
        tool_execution: true,
        ..TurnFeatures::default()
    };
    let mut log = bench.start("run `echo begun; sleep 600`").await;
    let approval = log.until_asked().await;
    bench.decide(&approval, Decision::Accept).await;
    bench
        .until(|now| {
            let live = now.state.live.as_ref().unwrap();
            live.turn.items.last().unwrap().body.text() == Some("begun\n")
        })
        .await;
    let began = Instant::now();
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!(turn.status, TurnStatus::Cancelled);
    let ended = turn.items.iter().find_map(|item| match &item.body {
        ItemBody::CommandExecution(run) => Some((run.status, run.aggregated_output.clone(), run.exit_code)),
        _ => None,
    });
    assert_eq!(
        ended,
        Some((CommandStatus::Cancelled, "begun\n".to_owned(), None))
    );
    let lifecycle = turn.items.iter().find_map(|item| match &item.body {
        ItemBody::ToolExecution { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(lifecycle, Some(ExecutionStatus::Cancelled));
    bench.threads.stop().await;
}

/// What a client saw of a call's arguments is still there when it reads the Turn again (03 §2.2).
#[tokio::test]
async fn interrupting_a_call_keeps_the_arguments_that_were_shown() {
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
        .until(|now| !now.state.live.as_ref().unwrap().arguments.is_empty())
        .await;
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert!(matches!(
        &turn.items[1].body,
        ItemBody::ToolCall { arguments: None, arguments_text: Some(text), .. } if text == "{\"path\":\"a\","
    ));
    bench.threads.stop().await;
}

#[tokio::test]
async fn interrupting_a_reply_keeps_what_was_said() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([Script::Hang(vec![text("half a ")])]);
    let bench = Bench::open(&workspace, model, ToolSet::default()).await;
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
    bench.interrupt().await;
    let turn = bench.last_turn().await;
    assert_eq!((turn.status, message(&turn)), (TurnStatus::Cancelled, "half a "));
    bench.threads.stop().await;
}

#[tokio::test]
async fn calls_that_cannot_be_run_are_results_and_not_ends() {
    let workspace = TestWorkspace::default();
    let mut bad = call("1", "fly", &json!({}));
    bad.extend(call("2", "ReadFile", &json!({ "file": "x" })));
    bad.extend(call("3", "ReadFile", &json!([1])));
    bad.push(ModelEvent::CallStarted {
        id: "4".to_owned(),
        tool: "ReadFile".to_owned(),
    });
    bad.push(ModelEvent::CallArguments {
        id: "4".to_owned(),
        text: "{\"path".to_owned(),
    });
    let model = Scripted::new([Script::Reply(bad), say("sorry")]);
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    let results = results(&turn);
    assert!(
        results.iter().all(|(_, success)| !success) && results.len() == 4,
        "{results:?}"
    );
    assert!(results[0].0.contains("there is no tool \"fly\"") && results[0].0.contains("ReadFile"));
    assert!(results[1].0.contains("missing field `path`"), "{}", results[1].0);
    assert!(results[2].0.contains("JSON object") && results[3].0.contains("JSON object"));
    let asked = model.asked();
    assert!(matches!(&asked[1][1], Message::Agent { calls, .. } if calls.len() == 4));
    assert_eq!(asked[1].len(), 6);
    bench.threads.stop().await;
}

#[tokio::test]
async fn equal_call_ids_are_told_apart() {
    let workspace = TestWorkspace::default();
    let list = || Script::Reply(call("call_0", "FindFiles", &json!({})));
    let bench = Bench::open(
        &workspace,
        Scripted::new([list(), list(), say("done")]),
        built_in(),
    )
    .await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    let ids: Vec<_> = turn
        .items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_0", "call_0_2"]);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_model_that_goes_in_circles_is_stopped() {
    let workspace = TestWorkspace::default();
    let script = (0..210).map(|_| Script::Reply(call("c", "CreatePlan", &json!({ "todos": [] }))));
    let bench = Bench::open(&workspace, Scripted::new(script), built_in()).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Failed);
    assert!(
        turn.error.as_ref().unwrap().contains("200 replies"),
        "{:?}",
        turn.error
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_failed_cut_or_empty_reply_fails_the_turn_with_words() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([
        Script::Fail("The key was refused."),
        Script::Cut("half"),
        Script::Reply(vec![]),
    ]);
    let bench = Bench::open(&workspace, model, ToolSet::default()).await;
    for expected in ["The key was refused.", "limit of tokens", "empty reply"] {
        bench.run("go").await;
        let turn = bench.last_turn().await;
        assert_eq!(turn.status, TurnStatus::Failed);
        assert!(
            turn.error.as_ref().unwrap().contains(expected),
            "{:?}",
            turn.error
        );
    }
    bench.threads.stop().await;
}

#[tokio::test]
async fn an_empty_reply_behind_calls_completes_the_turn_with_a_note() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([
        Script::Reply(call("1", "FindFiles", &json!({}))),
        Script::Reply(vec![]),
    ]);
    let bench = Bench::open(&workspace, model, built_in()).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed, "{:?}", turn.error);
    let last = &turn.items.last().unwrap().body;
    assert!(
        matches!(last, ItemBody::Error { code, fatal: false, .. } if code == "empty_reply"),
        "{last:?}"
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_a_cut_reply_said_is_kept_and_told_to_the_model_that_goes_on() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([Script::Cut("half of it"), say("and the rest")]);
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Failed);
    assert_eq!(message(&turn), "half of it");
    assert!(
        turn.items
            .iter()
            .all(|item| item.status == bobbin_model::ItemStatus::Completed)
    );
    assert!(turn.error.as_ref().unwrap().contains("Its text so far is saved"));
    bench.run("go on").await;
    let asked = format!("{:?}", model.asked().last().unwrap());
    assert!(asked.contains("half of it"), "{asked}");
    bench.threads.stop().await;
}

#[tokio::test]
async fn reasoning_and_message_take_turns_and_calls_close_them() {
    let workspace = TestWorkspace::default();
    let mut events = vec![ModelEvent::Reasoning("hm".to_owned()), text("I look."), text("")];
    events.extend(call("1", "FindFiles", &json!({})));
    let bench = Bench::open(
        &workspace,
        Scripted::new([Script::Reply(events), say("done")]),
        built_in(),
    )
    .await;
    let frames = bench.run("go").await;
    assert_eq!(
        words(&frames)[2..],
        [
            "+reasoning",
            "delta",
            "-reasoning",
            "+message",
            "delta",
            "+call",
            "-message",
            "delta",
            "-call",
            "callStarted",
            "=result",
            "+message",
            "delta",
            "-message",
            "turnEnded",
        ]
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_model_sees_earlier_turns_with_the_result_of_every_call() {
    let workspace = TestWorkspace::default();
    let first = Script::Reply(call("1", "FindFiles", &json!({})));
    let model = Scripted::new([first, Script::Fail("no"), say("second")]);
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("one").await;
    bench.run("two").await;
    let asked = model.asked();
    let last = asked.last().unwrap();
    assert_eq!(last.len(), 4, "{last:?}");
    assert_eq!(
        last[3],
        Message::User {
            parts: vec![InputPart::Text {
                text: "two".to_owned()
            }]
        }
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn streamed_pieces_joined_are_the_final_text() {
    let workspace = TestWorkspace::default();
    let bench = offline(&workspace).await;
    let frames = bench.run("repeat 1000 tick").await;
    let streamed: String = frames
        .iter()
        .filter_map(|frame| match &frame.body {
            bobbin_core::FrameBody::Delta(delta) => Some(&*delta.text),
            _ => None,
        })
        .collect();
    let turn = bench.last_turn().await;
    assert_eq!(message(&turn), ["tick"; 1000].join(" "));
    assert_eq!(streamed, message(&turn));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_workspace_is_summarized_from_its_files() {
    let workspace = TestWorkspace::default();
    std::fs::create_dir(workspace.path().join("src")).unwrap();
    std::fs::write(workspace.path().join("src/boil.rs"), "fn main() {}\n").unwrap();
    std::fs::write(workspace.path().join("README.md"), "# Kettle\n\nBoils water.\n").unwrap();
    let bench = offline(&workspace).await;
    bench.run("Summarize this repository.").await;
    let turn = bench.last_turn().await;
    assert!(
        message(&turn).starts_with("Boils water.\n\nThe workspace has "),
        "{}",
        message(&turn)
    );
    assert!(message(&turn).contains("`src/` 1"));
    bench.threads.stop().await;
}

#[tokio::test]
async fn guidance_reaches_the_model_behind_the_results_of_the_round() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([
        Script::Reply(call("c1", "Exec", &json!({ "command": "sleep 0; echo hi" }))),
        say("done"),
    ]);
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    let mut log = bench.start("go").await;
    let approval = log.until_asked().await;
    bench.guide("be brief").await;
    bench.decide(&approval, Decision::Accept).await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    let asked = model.asked();
    let [.., Message::Result { success: true, .. }, Message::User { parts }] = &asked[1][..] else {
        panic!("{:?}", asked[1])
    };
    assert_eq!(
        parts,
        &[InputPart::Text {
            text: "be brief".into()
        }]
    );
    assert!(bench.snapshot().await.state.queue.is_empty());
}

#[tokio::test]
async fn guidance_that_came_before_a_crash_reaches_the_model_after_it() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([Script::Reply(call(
        "c1",
        "Exec",
        &json!({ "command": "sleep 0; echo hi" }),
    ))]);
    let bench = Bench::open(&workspace, model, built_in()).await;
    let approval = bench.start("go").await.until_asked().await;
    bench.guide("be brief").await;
    let model = Scripted::new([say("done")]);
    let bench = bench.reopen(&workspace, model.clone(), built_in()).await;
    bench.decide(&approval, Decision::Accept).await;
    let turn = bench.last_turn().await;
    assert_eq!(message(&turn), "done");
    assert!(matches!(model.asked()[0].last(), Some(Message::User { .. })));
}

/// 03 §8: every plan tool leaves the whole plan.
#[tokio::test]
async fn a_plan_is_made_and_then_changed_step_by_step() {
    let workspace = TestWorkspace::default();
    let steps = json!({ "title": "Tea", "todos": [{ "id": "fill", "content": "Fill" }, { "id": "boil", "content": "Boil" }] });
    let update =
        json!({ "updates": [{ "id": "fill", "status": "completed" }, { "id": "pour", "content": "Pour" }] });
    let unknown = json!({ "updates": [{ "id": "drink", "status": "completed" }] });
    let script = [
        Script::Reply(call("a", "CreatePlan", &steps)),
        Script::Reply(call("b", "UpdateTodos", &update)),
        Script::Reply(call("c", "UpdateTodos", &unknown)),
        say("done"),
    ];
    let bench = Bench::open(&workspace, Scripted::new(script), built_in()).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    let went: Vec<bool> = results(&turn).iter().map(|(_, success)| *success).collect();
    assert_eq!(went, [true, true, false]);
    let plan = bench.snapshot().await.state.plan.clone().unwrap();
    assert_eq!(plan.title, "Tea");
    let steps: Vec<_> = plan.todos.iter().map(|todo| (&*todo.id, todo.status)).collect();
    let (done, pending) = (TodoStatus::Completed, TodoStatus::Pending);
    assert_eq!(steps, [("fill", done), ("boil", pending), ("pour", pending)]);
    bench.threads.stop().await;
}
