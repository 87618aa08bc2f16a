//! What becomes of the answers of hooks.

use std::sync::{Arc, Mutex};

use bobbin_agent::AgentEngine;
use bobbin_agent_api::hook::{HookEvent, HookInput, HookReport, HookSaid, Hooks};
use bobbin_agent_api::model::Message;
use bobbin_model::{Decision, ItemBody, ThreadConfig, Turn, TurnStatus};
use bobbin_testkit::TestWorkspace;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::support::{Bench, Script, Scripted, built_in, call, message, results, say};

type Answer = fn(&HookInput) -> HookReport;

/// Answers by a function for one event, and remembers what it was asked.
struct Fixed {
    event: HookEvent,
    answer: Answer,
    asked: Mutex<Vec<(String, Value)>>,
}

impl Fixed {
    fn at(event: HookEvent, answer: Answer) -> Arc<Self> {
        Arc::new(Self {
            event,
            answer,
            asked: Mutex::default(),
        })
    }
}

impl Hooks for Fixed {
    fn has(&self, event: HookEvent, _: &str) -> bool {
        event == self.event
    }

    fn run(&self, input: HookInput) -> BoxFuture<'static, HookReport> {
        let members = Value::Object(input.members.clone());
        self.asked.lock().unwrap().push((input.subject.clone(), members));
        ready((self.answer)(&input)).boxed()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "members of reports are optional")]
fn said(text: &str) -> Option<HookSaid> {
    let hook = "the hook".to_owned();
    Some(HookSaid {
        hook,
        text: text.to_owned(),
    })
}

async fn bench(workspace: &TestWorkspace, model: &Arc<Scripted>, hooks: &Arc<Fixed>) -> Bench {
    let engine = AgentEngine::new(model.clone(), built_in()).with_hooks(Some(hooks.clone()));
    Bench::open_engine(workspace, engine, ThreadConfig::default()).await
}

fn write(id: &str) -> Script {
    Script::Reply(call(
        id,
        "WriteFile",
        &json!({ "path": format!("{id}.txt"), "content": "tea\n" }),
    ))
}

/// Returns the texts that a model was given last as messages of users.
fn heard(model: &Scripted) -> Vec<String> {
    let asked = model.asked().pop().unwrap_or_default();
    let parts = asked.into_iter().filter_map(|message| match message {
        Message::User { parts } => Some(parts),
        _ => None,
    });
    parts.map(|parts| format!("{parts:?}")).collect()
}

fn errors(turn: &Turn) -> Vec<String> {
    let errors = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Error { message, code, .. } => Some(format!("{code}: {message}")),
        _ => None,
    });
    errors.collect()
}

#[tokio::test]
async fn a_blocked_call_is_not_run_and_the_model_reads_why() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([write("a"), say("I see.")]);
    let hooks = Fixed::at(HookEvent::PreToolUse, |_| HookReport {
        blocked: said("no files today"),
        notes: vec!["careful".to_owned()],
        ..HookReport::default()
    });
    let bench = bench(&workspace, &model, &hooks).await;
    bench.run("write").await;
    let turn = bench.last_turn().await;
    assert_eq!(
        results(&turn),
        [("refused: the hook: no files today".to_owned(), false)]
    );
    assert_eq!(errors(&turn), ["hook: careful"]);
    assert!(!workspace.path().join("a.txt").exists());
    let asked = hooks.asked.lock().unwrap()[0].clone();
    assert_eq!(
        (asked.0.as_str(), &asked.1["tool_input"]["path"]),
        ("WriteFile", &json!("a.txt"))
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_hook_can_have_a_user_asked_about_a_call_that_needs_no_question() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([write("a"), say("Done.")]);
    let hooks = Fixed::at(HookEvent::PreToolUse, |_| HookReport {
        asks: said("is that wise?"),
        ..HookReport::default()
    });
    let bench = bench(&workspace, &model, &hooks).await;
    let mut log = bench.start("write").await;
    let approval = log.until_asked().await;
    assert!(
        approval.reason.contains("the hook asks about it: is that wise?"),
        "{approval:?}"
    );
    bench.decide(&approval, Decision::Decline).await;
    log.end().await;
    assert!(!workspace.path().join("a.txt").exists());
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_hooks_say_after_calls_comes_behind_the_results_of_all_of_them() {
    let workspace = TestWorkspace::default();
    let mut two = call("a", "WriteFile", &json!({ "path": "a.txt", "content": "a" }));
    two.extend(call("b", "ReadFile", &json!({ "path": "a.txt" })));
    let model = Scripted::new([Script::Reply(two), say("Formatted.")]);
    let hooks = Fixed::at(HookEvent::PostToolUse, |input| HookReport {
        blocked: (input.subject == "WriteFile")
            .then(|| said("format it"))
            .flatten(),
        ..HookReport::default()
    });
    let bench = bench(&workspace, &model, &hooks).await;
    bench.run("write").await;
    let turn = bench.last_turn().await;
    assert_eq!(message(&turn), "Formatted.");
    let asked = model.asked().pop().unwrap();
    let [.., first, second, last] = asked.as_slice() else {
        panic!("{asked:#?}");
    };
    assert!(matches!(
        (first, second),
        (Message::Result { .. }, Message::Result { .. })
    ));
    assert!(matches!(last, Message::User { .. }) && heard(&model).pop().unwrap().contains("format it"));
    let asked = hooks.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].1["tool_response"]["success"], true);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_blocked_message_never_reaches_the_model() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([say("Hello.")]);
    let hooks = Fixed::at(HookEvent::UserPromptSubmit, |input| HookReport {
        blocked: input.members["prompt"]
            .as_str()
            .filter(|prompt| prompt.contains("secret"))
            .and_then(|_| said("no secrets")),
        ..HookReport::default()
    });
    let bench = bench(&workspace, &model, &hooks).await;
    bench.run("the secret is 42").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Failed);
    assert!(errors(&turn)[0].starts_with("hook_blocked: the hook has blocked this message"));
    assert!(model.asked().is_empty());
    bench.run("hello").await;
    assert_eq!(message(&bench.last_turn().await), "Hello.");
    let heard = heard(&model);
    assert!(heard.len() == 1 && heard[0].contains("hello"), "{heard:?}");
    bench.threads.stop().await;
}

#[tokio::test]
async fn an_agent_that_has_finished_is_sent_on_a_bounded_number_of_times() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new((0..9).map(|_| say("Done.")));
    let hooks = Fixed::at(HookEvent::Stop, |_| HookReport {
        blocked: said("run the tests"),
        ..HookReport::default()
    });
    let bench = bench(&workspace, &model, &hooks).await;
    bench.run("work").await;
    assert_eq!(model.asked().len(), 6);
    assert!(heard(&model).pop().unwrap().contains("run the tests"));
    let turn = bench.last_turn().await;
    assert!(
        errors(&turn)[0].contains("5 times: run the tests"),
        "{:?}",
        errors(&turn)
    );
    let asked = hooks.asked.lock().unwrap().clone();
    let active: Vec<_> = asked
        .iter()
        .map(|(_, members)| members["stop_hook_active"] == true)
        .collect();
    assert_eq!(active, [false, true, true, true, true, true]);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_hook_ends_a_turn_once_its_calls_have_results() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([write("a"), say("Never.")]);
    let hooks = Fixed::at(HookEvent::PostToolUse, |_| HookReport {
        ends: said("enough"),
        ..HookReport::default()
    });
    let bench = bench(&workspace, &model, &hooks).await;
    bench.run("write").await;
    let turn = bench.last_turn().await;
    assert_eq!(
        (turn.status, results(&turn).len(), model.asked().len()),
        (TurnStatus::Failed, 1, 1)
    );
    assert!(errors(&turn)[0].contains("the hook has ended the turn: enough"));
    bench.threads.stop().await;
}
