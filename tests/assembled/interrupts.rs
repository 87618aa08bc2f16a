//! An interrupt ends a Turn within a tenth of a second, wherever it waits.
//!
//! In driven time: the clock stands still while the Turn is stopped, is moved on by that tenth, and stands still until the
//! Turn has ended. What disks, sockets and processes take in between is the machine's and is not counted.
//!
//! Not within it: a command that does not listen to SIGTERM has a second to end, and a call that may have changed something
//! and does not listen either is ended by force after three (`Settings::cancel_grace`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_core::Snapshot;
use bobbin_model::{ItemBody, Json, Turn, TurnStatus};
use bobbin_models::ModelFacts;
use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, tea_server};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::bench::{Bench, Parts};
use crate::still::Still;

/// What an interrupt may take.
const WITHIN: Duration = Duration::from_millis(100);

/// The MCP server's own process; see `bobbin_testkit::tea_server`.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn pantry() {
    tea_server::serve();
}

/// A tool that listens to nobody, and counts those who wait for it.
struct Deaf {
    spec: ToolSpec,
    running: Arc<AtomicUsize>,
}

impl Deaf {
    /// Returns one, and its count.
    fn made(effect: Effect) -> (Arc<dyn Tool>, Arc<AtomicUsize>) {
        let running = Arc::new(AtomicUsize::new(0));
        let spec = ToolSpec {
            name: "deaf".into(),
            description: "".into(),
            input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
            effect,
        };
        let running_there = running.clone();
        let tool = Self {
            spec,
            running: running_there,
        };
        (Arc::new(tool), running)
    }
}

impl Tool for Deaf {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Ok(Box::new(DeafCall(self.running.clone())))
    }
}

struct DeafCall(Arc<AtomicUsize>);

impl PreparedCall for DeafCall {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            self.0.fetch_add(1, Ordering::AcqRel);
            std::future::pending().await
        }
        .boxed()
    }
}

/// Where a Turn waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Headers,
    Stream,
    StalledStream,
    Retry,
    Approval,
    Question,
    Command,
    Look,
    Reader,
    ReadersTogether,
    McpCall,
    McpStart,
    SubAgent,
    Summary,
}

fn call(tool: &str, arguments: Value) -> Part {
    Part::Call(ScriptedCall {
        id: format!("c-{tool}-{arguments}"),
        tool: tool.into(),
        arguments,
    })
}

async fn scripted(replies: impl IntoIterator<Item = Reply>) -> ModelServer {
    ModelServer::start(Script::of(replies)).await.unwrap()
}

/// Whether the newest Item of the open Turn is such a one.
fn newest(now: &Snapshot, wanted: impl Fn(&ItemBody) -> bool) -> bool {
    let items = now.state.live.as_ref().map(|live| &live.turn.items);
    items
        .and_then(|items| items.last())
        .is_some_and(|item| wanted(&item.body))
}

fn has_text(now: &Snapshot, text: &str) -> bool {
    newest(now, |body| body.text().is_some_and(|said| said.starts_with(text)))
}

/// What must live as long as the Turn.
type Kept = Box<dyn std::any::Any>;

/// Brings a Turn to where it waits.
#[expect(clippy::too_many_lines, reason = "one arm a row of the table")]
async fn waiting(at: At) -> (Bench, Kept) {
    match at {
        At::Headers => {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/v1", listener.local_addr().unwrap());
            let bench = Bench::open(&url, Parts::default()).await;
            bench.start("go").await;
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1];
            socket.read_exact(&mut asked).await.unwrap();
            (bench, Box::new(socket))
        }
        At::Stream => {
            let server = scripted([Reply::of([Part::Text("tea ".repeat(50_000))])]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            bench.start("go").await;
            bench.until(|now| has_text(now, "tea tea")).await;
            (bench, Box::new(server))
        }
        At::StalledStream => {
            let server = scripted([Reply::of([Part::Text("half".into()), Part::Stall])]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            bench.start("go").await;
            bench.until(|now| has_text(now, "half")).await;
            (bench, Box::new(server))
        }
        At::Retry => {
            let mut reply = Reply::error(429, "rate_limit_error", "slow down");
            reply.headers.insert("retry-after".into(), "20".into());
            let server = scripted([reply]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            bench.start("go").await;
            let pauses =
                |body: &ItemBody| matches!(body, ItemBody::Error { code, .. } if code == "model_retry");
            bench.until(|now| newest(now, pauses)).await;
            (bench, Box::new(server))
        }
        At::Approval => {
            let server = scripted([Reply::of([call("Exec", json!({ "command": "rm -r x" }))])]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            bench.start("go").await;
            let asks = |now: &Snapshot| !now.state.live.as_ref().unwrap().approvals.is_empty();
            bench.until(asks).await;
            (bench, Box::new(server))
        }
        At::Question => {
            let question = json!({ "question": "Green or black?" });
            let server = scripted([Reply::of([call("AskUser", question)])]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            bench.thread.add_asked();
            bench.start("go").await;
            bench
                .until_seen(|bench| !bench.threads.open_questions(bench.thread.id()).is_empty())
                .await;
            (bench, Box::new(server))
        }
        At::Command => {
            let command = json!({ "command": "echo begun; sleep 600" });
            let server = scripted([Reply::of([call("Exec", command)])]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            bench.start("go").await;
            bench.accept().await;
            bench.until(|now| has_text(now, "begun")).await;
            (bench, Box::new(server))
        }
        At::Look => {
            let command = json!({ "command": "echo green > tea.txt" });
            let server = scripted([Reply::of([call("Exec", command)])]).await;
            let parts = Parts {
                endless_look: true,
                ..Parts::default()
            };
            let bench = Bench::open(&server.base_url(), parts).await;
            bench.start("go").await;
            bench.accept().await;
            let look = bench.look.clone().unwrap();
            bench.until_seen(|_| look.looks()).await;
            (bench, Box::new(server))
        }
        At::Reader | At::ReadersTogether => {
            let count = if at == At::Reader { 1 } else { 2 };
            let (deaf, running) = Deaf::made(Effect::Reads);
            let calls = (0..count).map(|number| call("deaf", json!({ "number": number })));
            let server = scripted([Reply::of(calls)]).await;
            let parts = Parts {
                tools: vec![deaf],
                ..Parts::default()
            };
            let bench = Bench::open(&server.base_url(), parts).await;
            bench.start("go").await;
            bench
                .until_seen(|_| running.load(Ordering::Acquire) == count)
                .await;
            (bench, Box::new(server))
        }
        At::McpCall => {
            let server = scripted([Reply::of([call("mcp__pantry__wait", json!({}))])]).await;
            let parts = Parts {
                pantry: Some(0),
                ..Parts::default()
            };
            let bench = Bench::open(&server.base_url(), parts).await;
            bench.start("go").await;
            bench.accept().await;
            bench.until_seen(|bench| bench.noted("wait")).await;
            (bench, Box::new(server))
        }
        At::McpStart => {
            let server = scripted([Reply::of([Part::Text("done".into())])]).await;
            let parts = Parts {
                pantry: Some(60_000),
                ..Parts::default()
            };
            let bench = Bench::open(&server.base_url(), parts).await;
            bench.start("go").await;
            (bench, Box::new(server))
        }
        At::SubAgent => {
            // The prompt says what is done, below too.
            let server = scripted([]).await;
            let bench = Bench::open(&server.base_url(), Parts::default()).await;
            let spawn = json!({ "agentPrompt": "say half\nstall" });
            bench
                .start(&format!("call SpawnAgent {spawn}\ncall WaitAgent {{}}"))
                .await;
            let waits = |now: &Snapshot| now.state.live.as_ref().unwrap().started_calls.len() == 2;
            bench.until(waits).await;
            server.until_asked(2).await;
            (bench, Box::new(server))
        }
        At::Summary => {
            let mut full = Reply::of([Part::Text("tea ".repeat(4_000))]);
            full.usage = Some(bobbin_testkit::Usage {
                input: 19_000,
                output: 900,
                ..Default::default()
            });
            let server = scripted([full, Reply::of([Part::Text("They".into()), Part::Stall])]).await;
            let parts = Parts {
                facts: ModelFacts {
                    context_window: Some(20_000),
                    ..ModelFacts::default()
                },
                ..Parts::default()
            };
            let bench = Bench::open(&server.base_url(), parts).await;
            bench.start("go").await;
            assert_eq!(bench.ended().await.status, TurnStatus::Completed);
            bench.start("go on").await;
            server.until_asked(2).await;
            let asked = server.asked()[1].body.to_string();
            assert!(asked.contains("Sum up the record so far"), "{asked}");
            (bench, Box::new(server))
        }
    }
}

#[rstest]
#[case::for_the_headers_of_a_reply(At::Headers)]
#[case::for_more_of_a_reply_that_comes(At::Stream)]
#[case::for_more_of_a_reply_that_does_not_come(At::StalledStream)]
#[case::for_the_next_attempt(At::Retry)]
#[case::for_an_approval(At::Approval)]
#[case::for_an_answer_to_a_question(At::Question)]
#[case::for_a_command(At::Command)]
#[case::to_see_what_a_command_has_changed(At::Look)]
#[case::for_a_reader_that_does_not_listen(At::Reader)]
#[case::for_readers_at_the_same_time(At::ReadersTogether)]
#[case::for_a_tool_server_s_answer(At::McpCall)]
#[case::for_a_tool_server_s_start(At::McpStart)]
#[case::for_a_subagent(At::SubAgent)]
#[case::for_a_summary(At::Summary)]
#[tokio::test]
async fn an_interrupt_ends_a_turn_in_a_tenth_of_a_second_while_it_waits(#[case] at: At) {
    let (bench, kept) = waiting(at).await;
    let turn = interrupted(&bench, WITHIN)
        .await
        .expect("it ends within its time");
    assert_eq!(turn.status, TurnStatus::Cancelled, "{turn:#?}");
    drop(kept);
    bench.close().await;
}

/// Stops the open Turn and returns it when no more driven time than this has passed until its end.
async fn interrupted(bench: &Bench, within: Duration) -> Option<Turn> {
    let still = Still::begin();
    bench.interrupt().await;
    still.pass(within).await;
    let turn = bench.ended().await;
    (still.passed() <= within).then_some(turn)
}

/// What may have changed something is not let go of before it has had its time.
#[tokio::test]
async fn a_call_that_may_change_things_and_does_not_listen_is_ended_by_force_after_three_seconds() {
    let (deaf, running) = Deaf::made(Effect::Writes);
    let server = scripted([Reply::of([call("deaf", json!({}))])]).await;
    let parts = Parts {
        tools: vec![deaf],
        ..Parts::default()
    };
    let bench = Bench::open(&server.base_url(), parts).await;
    bench.start("go").await;
    bench.until_seen(|_| running.load(Ordering::Acquire) == 1).await;
    let turn = interrupted(&bench, Duration::from_millis(3_100))
        .await
        .expect("it ends within its time");
    assert_eq!(turn.status, TurnStatus::Cancelled);
    bench.close().await;
}

/// What asks a process to end cannot make it: it is killed a second later.
#[tokio::test]
async fn a_command_that_does_not_listen_is_killed_after_a_second() {
    let command = json!({ "command": "trap '' TERM; echo begun; while :; do sleep 600; done" });
    let server = scripted([Reply::of([call("Exec", command)])]).await;
    let bench = Bench::open(&server.base_url(), Parts::default()).await;
    bench.start("go").await;
    bench.accept().await;
    bench.until(|now| has_text(now, "begun")).await;
    let turn = interrupted(&bench, Duration::from_millis(1_100))
        .await
        .expect("it ends within its time");
    assert_eq!(turn.status, TurnStatus::Cancelled);
    bench.close().await;
}
