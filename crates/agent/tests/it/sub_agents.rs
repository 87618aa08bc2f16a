//! Subagents over a model whose every prompt says what is done, one reply a line: `TOOL {JSON}` (several with `&&`), or
//! words. `RESULTS` among the words stands for the results of the calls before.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, ModelUsage, Stop,
};
use bobbin_core::Beforehand;
use bobbin_core::engine::Answer;
use bobbin_core::{
    Closed, Command, CoreError, Ephemeral, Frame, FrameBody, Settings, ThreadHandle, ThreadSummary, Threads,
};
use bobbin_model::{
    Decision, EdgeStatus, Event, InputPart, Mode, Refusal, SubAgentProgress, ThreadConfig, ThreadId,
    TokenUsage, Turn, TurnId, TurnStatus,
};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{Bench, Stuck, answer, built_in, message, results, with_rules};

/// Tokens of each reply.
const USED: TokenUsage = TokenUsage::of(10, 1);

#[derive(Default)]
pub(crate) struct Directed {
    offered: Mutex<Vec<(String, Vec<String>)>>,
}

impl Directed {
    /// Returns the tools that were offered where a prompt began so.
    fn offered(&self, prompt: &str) -> Vec<String> {
        let offered = self.offered.lock();
        let found = offered.iter().find(|(said, _)| said.starts_with(prompt));
        found.map(|(_, tools)| tools.clone()).unwrap_or_default()
    }
}

impl Model for Directed {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        8
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        async move {
            let said = |message: &Message| match message {
                Message::User { parts } => Some(parts.iter().map(InputPart::display).collect::<String>()),
                Message::Agent { .. } | Message::Result { .. } => None,
            };
            let at = request
                .messages
                .iter()
                .rposition(|message| said(message).is_some());
            let after = &request.messages[at.unwrap_or_default()..];
            let prompt = after.first().and_then(said).unwrap_or_default();
            let tools = request.tools.iter().map(|tool| tool.name.to_string()).collect();
            self.offered.lock().push((prompt.clone(), tools));
            let round = after
                .iter()
                .filter(|message| matches!(message, Message::Agent { .. }))
                .count();
            let line = prompt.lines().nth(round).unwrap_or("done").trim();
            let results: Vec<&str> = after
                .iter()
                .filter_map(|message| match message {
                    Message::Result { text, .. } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            if line.contains(" {") {
                for (n, call) in line.split(" && ").enumerate() {
                    let (tool, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
                    let id = format!("call_{round}_{n}");
                    for event in crate::support::call(&id, tool, &serde_json::from_str(arguments).unwrap()) {
                        sink.event(event).await?;
                    }
                }
            } else {
                let words = line.replace("RESULTS", &results.join(" | "));
                sink.event(ModelEvent::Text(words)).await?;
            }
            Ok(ModelReply {
                stop: Stop::Done,
                usage: Some(ModelUsage {
                    tokens: USED,
                    context_tokens: 11,
                    cost_micros: None,
                }),
            })
        }
        .boxed()
    }
}

/// Returns a line that starts a subagent.
pub(crate) fn spawn(nickname: &str, prompt: &str) -> String {
    format!(
        "SpawnAgent {}",
        json!({ "agentNickname": nickname, "agentPrompt": prompt })
    )
}

pub(crate) fn lines(lines: &[&str]) -> String {
    lines.join("\n")
}

pub(crate) async fn open(
    workspace: &TestWorkspace,
    change: impl FnOnce(&mut Settings),
) -> (Bench, Arc<Directed>) {
    open_with(workspace, ThreadConfig::default(), change).await
}

pub(crate) async fn open_with(
    workspace: &TestWorkspace,
    config: ThreadConfig,
    change: impl FnOnce(&mut Settings),
) -> (Bench, Arc<Directed>) {
    let model = Arc::new(Directed::default());
    let threads = workspace
        .open_with(Arc::new(AgentEngine::new(model.clone(), tools())), |settings| {
            with_rules(settings);
            change(settings);
        })
        .await;
    (Bench::on(threads, config).await, model)
}

pub(crate) fn tools() -> ToolSet {
    ToolSet::new([Arc::new(Stuck::new()) as _])
}

pub(crate) async fn children(bench: &Bench) -> Vec<ThreadSummary> {
    bench
        .threads
        .children(bench.thread.id(), Closed::Included)
        .await
        .unwrap()
}

pub(crate) async fn child(bench: &Bench) -> Arc<ThreadHandle> {
    let children = children(bench).await;
    bench.threads.thread(&children[0].header.id).await.unwrap()
}

pub(crate) async fn last_turn(threads: &Arc<Threads>, id: &ThreadId) -> Turn {
    threads
        .turns_before(id, TurnId(u32::MAX), 1)
        .await
        .unwrap()
        .pop()
        .unwrap()
}

/// Waits until the subagents are as wanted.
pub(crate) async fn until(bench: &Bench, wanted: impl Fn(&[ThreadSummary]) -> bool) {
    let search = async {
        while !wanted(&children(bench).await) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), search)
        .await
        .unwrap();
}

fn progress(frames: &[Arc<Frame>]) -> Vec<Vec<SubAgentProgress>> {
    let told = frames.iter().filter_map(|frame| match &frame.body {
        FrameBody::Ephemeral(Ephemeral::SubAgents { entries, .. }) => Some(entries.to_vec()),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_subagent_is_a_thread_whose_answer_is_given_to_the_agent_above() {
    let workspace = TestWorkspace::default();
    let (bench, model) = open(&workspace, |_| {}).await;
    let spawn = spawn("scout", "I looked");
    let frames = bench.run(&lines(&[&spawn, "WaitAgent {}", "RESULTS"])).await;
    let turn = bench.last_turn().await;
    let said = message(&turn);
    assert!(
        said.starts_with("started scout (thread_") && said.ends_with("): finished\nI looked"),
        "{said}"
    );
    let children = children(&bench).await;
    let (header, source) = (
        &children[0].header,
        children[0].header.source.sub_agent().unwrap(),
    );
    assert_eq!(
        (&source.parent, &source.root, source.depth, source.parent_turn),
        (bench.thread.id(), bench.thread.id(), 1, turn.id)
    );
    assert_eq!(source.nickname.as_deref(), Some("scout"));
    assert_eq!(header.display_name.as_deref(), Some("scout"));
    assert_eq!(children[0].edge.unwrap().status, EdgeStatus::Open);
    let below = last_turn(&bench.threads, &header.id).await;
    assert_eq!(
        (below.status, message(&below)),
        (TurnStatus::Completed, "I looked")
    );
    // Three replies above and one below.
    assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (40, 4));
    let told = progress(&frames);
    let last = told.last().unwrap();
    assert!(
        last.len() == 1 && last[0].is_completed && last[0].label == "scout",
        "{told:?}"
    );
    assert_eq!(last[0].usage, USED);
    let offered = model.offered("SpawnAgent");
    assert!(offered.contains(&"WaitAgent".to_owned()), "{offered:?}");
    // It has none of its own at the depth there may be.
    assert_eq!(model.offered("I looked"), ["stuck"]);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_subagent_of_a_plan_only_looks() {
    let workspace = TestWorkspace::default();
    let plan = ThreadConfig {
        mode: Some(Mode::Plan),
        ..ThreadConfig::default()
    };
    let (bench, model) = open_with(&workspace, plan, |_| {}).await;
    let spawn = spawn("s", "stuck {}\nRESULTS");
    bench.run(&lines(&[&spawn, "WaitAgent {}", "RESULTS"])).await;
    let turn = bench.last_turn().await;
    assert!(
        message(&turn).contains("withheld in plan mode"),
        "{}",
        message(&turn)
    );
    assert!(model.offered("stuck").is_empty());
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_is_full_is_said_and_waiting_makes_room() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| {
        settings.sub_agents.running = 1;
        settings.cancel_grace = Duration::from_millis(100);
    })
    .await;
    let stuck = spawn("a", "stuck {}");
    let more = spawn("b", "hello");
    let prompt = [
        &format!("{stuck} && {more}"),
        "CloseAgent {\"agent\":\"a\"}",
        "WaitAgent {\"agents\":[\"a\"]}",
        &more,
        "WaitAgent {\"agents\":[\"b\"]}",
        "done",
    ];
    bench.run(&lines(&prompt)).await;
    let results = results(&bench.last_turn().await);
    assert!(
        results[0].1 && results[0].0.starts_with("started a"),
        "{results:?}"
    );
    assert!(
        !results[1].1 && results[1].0.starts_with("1 subagents are at work for this turn"),
        "{results:?}"
    );
    assert!(
        results[3]
            .0
            .contains("stopped before it had finished, and closed"),
        "{results:?}"
    );
    assert!(
        results[4].1 && results[5].0.ends_with("finished\nhello"),
        "{results:?}"
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn one_that_has_ended_is_given_more_and_remembers() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| settings.sub_agents.open = 1).await;
    let prompt = [
        &spawn("a", "first"),
        "WaitAgent {}",
        "SendInput {\"agent\":\"a\",\"input\":\"second\"}",
        "WaitAgent {}",
        &spawn("b", "x"),
        "CloseAgent {\"agent\":\"A\"}",
        "SendInput {\"agent\":\"a\",\"input\":\"third\"}",
        "ResumeAgent {\"agent\":\"a\"}",
        "SendInput {\"agent\":\"nobody\",\"input\":\"x\"}",
        "done",
    ];
    bench.run(&lines(&prompt)).await;
    let results = results(&bench.last_turn().await);
    let texts: Vec<&str> = results.iter().map(|(text, _)| text.as_str()).collect();
    assert!(
        texts[1].ends_with("finished\nfirst") && texts[3].ends_with("finished\nsecond"),
        "{texts:?}"
    );
    assert!(texts[4].starts_with("1 subagents are open"), "{texts:?}");
    assert!(
        texts[5].ends_with("is closed") && texts[6].contains("is closed; open it again"),
        "{texts:?}"
    );
    assert!(texts[7].contains("is open"), "{texts:?}");
    assert_eq!(texts[8], "there is no subagent \"nobody\"; there are: a");
    let turns = bench
        .threads
        .turns_before(child(&bench).await.id(), TurnId(u32::MAX), 9)
        .await;
    assert_eq!(turns.unwrap().len(), 2);
    bench.threads.stop().await;
}

#[tokio::test]
async fn interrupting_the_turn_above_stops_what_runs_below() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| {
        settings.cancel_grace = Duration::from_millis(100);
    })
    .await;
    let spawn = spawn("a", "stuck {}");
    let mut log = bench.start(&lines(&[&spawn, "WaitAgent {}", "never"])).await;
    until(&bench, |children| {
        children.len() == 1 && children[0].runtime.running
    })
    .await;
    bench.interrupt().await;
    log.end().await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Cancelled);
    until(&bench, |children| !children[0].runtime.running).await;
    let below = last_turn(&bench.threads, child(&bench).await.id()).await;
    assert_eq!(below.status, TurnStatus::Cancelled);
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_still_runs_when_the_turn_above_is_done_is_stopped_before_it_ends() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |settings| {
        settings.cancel_grace = Duration::from_millis(100);
    })
    .await;
    let frames = bench
        .run(&lines(&[&spawn("a", "stuck {}"), "I do not wait"]))
        .await;
    let below = last_turn(&bench.threads, child(&bench).await.id()).await;
    assert_eq!(below.status, TurnStatus::Cancelled);
    assert!(progress(&frames).last().unwrap()[0].is_completed);
    assert_eq!(bench.last_turn().await.status, TurnStatus::Completed);
    bench.threads.stop().await;
}

#[tokio::test]
async fn after_a_crash_both_go_on_and_nothing_is_started_twice() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |_| {}).await;
    let spawn = spawn("a", "stuck {}\nRESULTS");
    bench
        .start(&lines(&[&spawn, "WaitAgent {}", "WaitAgent {}", "RESULTS"]))
        .await;
    let id = {
        until(&bench, |children| children.len() == 1).await;
        children(&bench).await[0].header.id.clone()
    };
    let below = bench.threads.thread(&id).await.unwrap();
    loop {
        let state = bench.threads.snapshot(&below).await.unwrap().state;
        let stuck = state
            .live
            .as_ref()
            .is_some_and(|live| live.started_calls.len() == 1);
        let above = bench.snapshot().await.state;
        let waits = above
            .live
            .as_ref()
            .is_some_and(|live| live.started_calls.len() == 2);
        if stuck && waits {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }

    let second = bench
        .reopen_engine(
            &workspace,
            AgentEngine::new(Arc::new(Directed::default()), tools()),
        )
        .await;
    let turn = second.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    let results = results(&turn);
    assert!(
        results[1].0.starts_with("interrupted_by_restart") && results[1].0.contains(id.as_str()),
        "{results:?}"
    );
    assert!(
        // It may have finished before the one above was taken up again.
        results[1..3]
            .iter()
            .any(|result| result.0.contains("finished\ninterrupted_by_restart")),
        "{results:?}"
    );
    assert_eq!(children(&second).await.len(), 1);
    assert_eq!(
        last_turn(&second.threads, &id).await.status,
        TurnStatus::Completed
    );
    second.threads.stop().await;
}

#[tokio::test]
async fn a_subagent_whose_turn_above_is_over_does_not_go_on_after_a_crash() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |_| {}).await;
    bench.start(&lines(&[&spawn("a", "stuck {}"), "stuck {}"])).await;
    until(&bench, |children| {
        children.len() == 1 && children[0].runtime.running
    })
    .await;
    // It is on record that the Turn above is being stopped, and nothing else happened.
    bench.interrupt().await;
    let second = bench
        .reopen_engine(
            &workspace,
            AgentEngine::new(Arc::new(Directed::default()), tools()),
        )
        .await;
    until(&second, |children| !children[0].runtime.running).await;
    let below = last_turn(&second.threads, &children(&second).await[0].header.id).await;
    assert_eq!(below.status, TurnStatus::Cancelled);
    second.threads.stop().await;
}

#[tokio::test]
async fn what_a_subagent_asks_is_told_at_the_root_and_answered_in_its_own_thread() {
    let workspace = TestWorkspace::default();
    let model = Arc::new(Directed::default());
    let engine = AgentEngine::new(model, built_in());
    let threads = workspace.open_with(Arc::new(engine), with_rules).await;
    let bench = Bench::on(threads, ThreadConfig::default()).await;
    let spawn = spawn("a", "Exec {\"command\":\"touch asked\"}\nRESULTS");
    bench.start(&lines(&[&spawn, "WaitAgent {}", "RESULTS"])).await;
    until(&bench, |children| {
        children.len() == 1 && children[0].runtime.waiting_on_approval
    })
    .await;
    let open = bench.threads.questions_of_descendants(bench.thread.id()).await;
    assert_eq!(open.len(), 1);
    let (below, approval) = &open[0];
    assert!(approval.scope.operation.contains("touch asked"));
    let given = Answer {
        approval: approval.id.clone(),
        decision: Decision::Decline,
        client: "test".into(),
        actor: bobbin_model::Actor::Owner,
    };
    answer(below, |reply| Command::Answer { answer: given, reply }).await;
    let turn = bench.last_turn().await;
    assert!(message(&turn).contains("was not approved"), "{}", message(&turn));
    assert!(!workspace.path().join("asked").exists());
    bench.threads.stop().await;
}

#[tokio::test]
async fn subagents_are_put_away_and_deleted_with_the_thread_above_and_not_alone() {
    let workspace = TestWorkspace::default();
    let (bench, _) = open(&workspace, |_| {}).await;
    bench
        .run(&lines(&[&spawn("a", "x"), "WaitAgent {}", "done"]))
        .await;
    let below = child(&bench).await;
    let (tx, rx) = tokio::sync::oneshot::channel();
    let reply = Box::new(move |done| drop(tx.send(done)));
    below.send(Command::Delete { reply }).await;
    let refused: Result<(), CoreError> = rx.await.unwrap();
    assert!(matches!(refused, Err(CoreError::Refused(Refusal::Invalid(_)))));
    drop(below);
    let delete = |reply| Command::Delete { reply };
    bench
        .threads
        .for_descendants(bench.thread.id(), Beforehand::Stop, delete)
        .await
        .unwrap();
    assert!(children(&bench).await.is_empty());
    bench.threads.stop().await;
}

#[tokio::test]
async fn events_of_an_edge_concern_everyone() {
    let changed = Event::EdgeChanged {
        status: EdgeStatus::Closed,
    };
    assert!(changed.is_broadcast());
}
