//! SIGKILL at every durable step of a round of calls, then the same workspace again.
//!
//! The test runs itself as a child that plays two Turns and kills itself at its n-th step, for every n until a child gets
//! through: one call that changes something, one that a person is asked about, two that only look, and a compaction
//! before the last answer. What each call did it writes to a file, as an effect that no restart takes back.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop,
};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{
    ApprovalKind, ContextWindow, Decision, InputPart, ItemBody, ItemStatus, Json, Scope, ThreadConfig,
    ThreadId, Turn, TurnFeatures, TurnStatus,
};
use bobbin_store::step::Step;
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Bench, call, figures, message, results, text, with_rules};

const STEP: &str = "BOBBIN_TEST_LOOP_STEP";
const PLACE: &str = "BOBBIN_TEST_LOOP_PLACE";
/// The calls of the reply, with the tool of each.
const CALLS: [(&str, &str); 4] = [("1", "change"), ("2", "ask"), ("3", "look"), ("4", "look")];

/// A model that knows nothing but the conversation: it makes the calls, and says what became of them.
struct FromRecord;

impl Model for FromRecord {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        8
    }

    fn window(&self, _: Option<&str>) -> Option<ContextWindow> {
        Some(ContextWindow {
            tokens: 9_000,
            compact_at: 8_000,
        })
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        async move {
            let summarizes = request.tools.is_empty();
            let said = format!("{:?}", request.messages);
            let results = request
                .messages
                .iter()
                .filter(|message| matches!(message, Message::Result { .. }))
                .count();
            let (events, context) = if summarizes {
                (vec![text("SUMMED UP")], 100)
            } else if said.contains("hello") && !said.contains("go!") {
                (vec![text(&"tea ".repeat(2_000))], 3_000)
            } else if results == 0 {
                let calls = CALLS
                    .iter()
                    .flat_map(|(id, tool)| call(id, tool, &json!({ "id": id })));
                // A message that is complete in the middle of a reply is no end of it.
                let before = [text("I begin. "), ModelEvent::Reasoning("Hm.".to_owned())];
                let events: Vec<ModelEvent> = before.into_iter().chain(calls).collect();
                // Full: room is made before the next request.
                (events, 8_500)
            } else {
                // A kill in the middle of a reply leaves as many of its calls as were on record.
                assert!(results <= CALLS.len(), "{said}");
                let summary = if said.contains("SUMMED UP") {
                    "with"
                } else {
                    "without"
                };
                (vec![text(&format!("done {summary} a summary"))], 200)
            };
            for event in events {
                sink.event(event).await?;
            }
            Ok(ModelReply {
                stop: Stop::Done,
                usage: Some(figures(10, 1, context, Some(5))),
            })
        }
        .boxed()
    }
}

/// A tool that writes each call's id to a file.
struct Effects {
    spec: ToolSpec,
    file: PathBuf,
    asks: bool,
}

fn tools(place: &Path) -> ToolSet {
    let tool = |name: &str, effect, asks| -> Arc<dyn Tool> {
        Arc::new(Effects {
            spec: ToolSpec {
                name: name.into(),
                description: "".into(),
                input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
                effect,
            },
            file: place.join("effects"),
            asks,
        })
    };
    ToolSet::new([
        tool("change", Effect::Writes, false),
        tool("ask", Effect::Writes, true),
        tool("look", Effect::Reads, false),
    ])
}

impl Tool for Effects {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, arguments: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: serde_json::Value = serde_json::from_str(arguments.get()).unwrap();
        Ok(Box::new(Prepared {
            id: arguments["id"].as_str().unwrap().to_owned(),
            file: self.file.clone(),
            asks: self.asks,
        }))
    }
}

struct Prepared {
    id: String,
    file: PathBuf,
    asks: bool,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        if !self.asks {
            return Permission::Free;
        }
        Permission::Ask {
            scope: Scope::new(ApprovalKind::Shell, "ask", self.id.clone()),
            reason: "May it?".into(),
        }
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&self.file)
                .unwrap();
            writeln!(file, "{}", self.id).unwrap();
            ToolOutput {
                // Long: what is compacted is worth it.
                text: format!("did {} {}", self.id, "leaf ".repeat(500)),
                success: true,
                ..ToolOutput::default()
            }
        }
        .boxed()
    }
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test's own two settings for its child"
)]
async fn child() {
    let (Ok(step), Ok(place)) = (std::env::var(STEP), std::env::var(PLACE)) else {
        return;
    };
    let deadly: u32 = step.parse().unwrap();
    let count = AtomicU32::new(0);
    let deadly_at = move |step| {
        let of_the_writer = matches!(
            step,
            Step::BatchTaken | Step::BeforeCommit | Step::AfterCommit | Step::Acknowledged
        );
        if of_the_writer && count.fetch_add(1, Ordering::SeqCst) + 1 == deadly {
            let own = nix::unistd::getpid();
            nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGKILL).unwrap();
            // The signal is on its way.
            std::thread::sleep(std::time::Duration::from_mins(1));
        }
    };
    bobbin_store::step::observe(deadly_at);
    let place = Path::new(&place);
    let workspace = TestWorkspace::at(place);
    let engine = AgentEngine::new(Arc::new(FromRecord), tools(place));
    let mut bench = Bench::open_engine(&workspace, engine, ThreadConfig::default()).await;
    bench.features = TurnFeatures {
        approvals: true,
        tool_execution: true,
        command_execution: false,
        ..TurnFeatures::default()
    };
    std::fs::write(place.join("thread"), bench.thread.id().as_str()).unwrap();
    bench.run("hello").await;
    let mut log = bench.start("go!").await;
    let approval = log.until_asked().await;
    bench.decide(&approval, Decision::Accept).await;
    log.end().await;
    bench.threads.stop().await;
}

#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn run_child(place: &Path, step: u32) -> bool {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(STEP, step.to_string())
        .env(PLACE, place)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(
        status.success() || status.signal() == Some(9),
        "step {step}: {status}"
    );
    status.success()
}

#[tokio::test]
async fn a_kill_at_any_step_of_a_round_repeats_no_call_and_forgets_none() {
    let mut seen = [false; 3];
    for step in 1.. {
        let place = tempfile::tempdir().unwrap();
        let through = run_child(place.path(), step);
        if let Some(turn) = finish(place.path(), step).await {
            check(place.path(), &turn, step, &mut seen);
        }
        if through {
            assert!(step > 40, "a turn has more durable steps than {step}");
            // Each of the ways to go on was needed somewhere.
            assert_eq!(seen, [true; 3]);
            return;
        }
    }
}

/// Opens the workspace again and brings its Turn to an end.
async fn finish(place: &Path, step: u32) -> Option<Turn> {
    let thread = std::fs::read_to_string(place.join("thread")).ok()?;
    let workspace = TestWorkspace::at(place);
    let engine = AgentEngine::new(Arc::new(FromRecord), tools(place));
    let threads = workspace.open_with(Arc::new(engine), with_rules).await;
    let thread = threads.thread(&ThreadId::new(thread)).await.unwrap();
    let features = TurnFeatures::default();
    let bench = Bench {
        threads,
        thread,
        features,
    };
    let ending = async {
        loop {
            let now = bench.snapshot().await.state;
            if let Some(open) = now.approvals().first() {
                bench.decide(open, Decision::Accept).await;
            }
            if now.live.is_none() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), ending)
        .await
        .unwrap_or_else(|_| panic!("step {step}: the turn does not end"));
    let snapshot = bench.snapshot().await;
    let mut turns = bench
        .threads
        .turns_of(&snapshot, None, usize::MAX, usize::MAX)
        .await
        .unwrap()
        .0;
    bench.threads.stop().await;
    turns.pop()
}

fn check(place: &Path, turn: &Turn, step: u32, seen: &mut [bool; 3]) {
    assert_eq!(turn.status, TurnStatus::Completed, "step {step}: {turn:#?}");
    if message(turn).starts_with("tea") {
        // The second Turn was not begun.
        return;
    }
    assert!(turn.items.iter().all(|item| item.status == ItemStatus::Completed));
    assert!(
        message(turn).contains("done with"),
        "step {step}: a round was left out: {turn:#?}"
    );
    let effects = std::fs::read_to_string(place.join("effects")).unwrap_or_default();
    let told = results(turn);
    // Replies that were cut off are given again, with ids of their own: each call has one result all the same.
    let calls: Vec<(&str, Option<&Json>)> = turn
        .items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::ToolCall {
                call_id, arguments, ..
            } => Some((call_id.as_str(), arguments.as_ref())),
            _ => None,
        })
        .collect();
    assert_eq!(calls.len(), told.len(), "step {step}: {turn:#?}");
    for (id, _) in CALLS {
        let times = effects.lines().filter(|line| *line == id).count();
        assert!(times <= 1, "step {step}: call {id} ran {times} times");
        let done = told
            .iter()
            .filter(|(text, success)| *success && text.starts_with(&format!("did {id} ")));
        assert!(
            done.count() <= times,
            "step {step}: call {id} is told and was not run"
        );
    }
    let interrupted = told
        .iter()
        .filter(|(text, success)| !success && text.starts_with("interrupted_by_restart"));
    let (interrupted, done) = (
        interrupted.count(),
        told.iter().filter(|(_, success)| *success).count(),
    );
    assert_eq!(interrupted + done, told.len(), "step {step}: {told:?}");
    seen[0] |= interrupted == 0;
    seen[1] |= interrupted > 0 && effects.lines().count() > done;
    let compactions = turn
        .items
        .iter()
        .filter(|item| matches!(item.body, ItemBody::Compaction(_)))
        .count();
    assert!(compactions <= 1, "step {step}: compacted {compactions} times");
    seen[2] |= compactions == 1 && message(turn) == "done with a summary";
    let requests = turn.items.iter().filter(|item| matches!(&item.body, ItemBody::UserMessage(said) if said.native == [InputPart::Text { text: "go!".into() }]));
    assert_eq!(requests.count(), 1);
}
