//! `terminal/*`: commands in the background as clients see them, with real processes.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool::CallOrigin;
use bobbin_agent_api::{Services, SystemClock};
use bobbin_children::{Children, Environment, ProcessSpec, Shell};
use bobbin_model::{BackgroundReason, ThreadId, TurnId};
use bobbin_terminals::{Bounds, CommandOrder, Terminals};
use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

struct Bench {
    server: Server,
    terminals: Terminals,
    native: Arc<bobbin_native::Server>,
}

impl Bench {
    async fn new(bounds: Bounds) -> Self {
        let server = Server::start().await;
        let workspace = server.threads.settings().workspace.clone();
        let children = Children::new(None);
        let terminals = Terminals::open(
            children,
            &workspace.join(".craft/terminals"),
            server.clock(),
            bounds,
        )
        .unwrap();
        terminals.start(&server.threads);
        let services = Services {
            terminals: Some(Arc::new(terminals.clone())),
            forwards: Some(Arc::new(terminals.clone())),
            ..server.services()
        };
        let native = server.native(services);
        Self {
            server,
            terminals,
            native,
        }
    }

    async fn client(&self, capabilities: Value) -> Client {
        let link = Server::link_to(&self.native);
        Client::ready(link, "test", capabilities).await
    }

    /// Starts a command that goes to the background after its first output; returns its id.
    async fn leave(&self, thread: &str, line: &str) -> String {
        let root = self.server.threads.settings().workspace.clone();
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let spec = ProcessSpec::shell(&Shell::Posix, line, &root, environment);
        let order = CommandOrder {
            origin: CallOrigin {
                thread: ThreadId::new(thread),
                turn: TurnId(1),
                call: "call_1".to_owned(),
            },
            command: line.to_owned(),
            working_directory: root,
            sandboxed: true,
            time_limit: None,
            grace: Duration::from_millis(500),
            captured_bytes: 1 << 16,
            typed: true,
        };
        let mut running = self.terminals.run(spec, order);
        running.output().await.unwrap();
        let left = running.leave(BackgroundReason::Requested).await.unwrap();
        left.facts.id.clone()
    }
}

/// Collects the messages up to the answer of a request and a notification.
async fn ask(client: &mut Client, method: &str, params: Value, last: &str) -> Vec<Value> {
    let id = client.request(method, params).await;
    let mut seen = Vec::new();
    let (mut answered, mut told) = (false, false);
    while !(answered && told) {
        let message = client.next().await.expect("the connection stays");
        answered |= message.get("method").is_none() && message["id"] == id;
        told |= message["method"] == last;
        seen.push(message);
    }
    seen
}

#[tokio::test]
async fn a_terminal_from_its_beginning_to_its_removal() {
    let bench = Bench::new(Bounds::default()).await;
    let mut client = bench.client(json!({ "backgroundTerminals": true })).await;
    let thread = client.start_thread().await;
    client.wait_for("thread/started").await;
    let id = bench
        .leave(&thread, "echo watching; while read -r x; do echo saw $x; done")
        .await;
    let mut seen = vec![client.wait_for("terminal/started").await];
    let all = json!({ "threadId": thread });
    seen.push(client.answer_to("terminal/list", all.clone()).await);
    let write = json!({ "sessionId": id, "input": "tea\n", "yieldTimeMs": 0, "clientRequestId": "c-1" });
    let mut written = ask(
        &mut client,
        "terminal/write",
        write.clone(),
        "terminal/outputDelta",
    )
    .await;
    // The answer has the output so far, which may be empty.
    written.retain(|message| message["method"] == "terminal/outputDelta");
    seen.append(&mut written);
    let again = client.answer_to("terminal/write", write).await;
    assert!(again["result"]["terminal"]["status"] == "running", "{again}");
    let read = json!({ "sessionId": id, "maxOutputChars": 4 });
    seen.push(client.answer_to("terminal/read", read).await);
    let one = json!({ "sessionId": id });
    seen.extend(ask(&mut client, "terminal/stop", one.clone(), "terminal/completed").await);
    seen.push(client.answer_to("terminal/stop", one).await);
    let late = json!({ "sessionId": id, "input": "x" });
    seen.push(client.answer_to("terminal/write", late).await);
    seen.extend(ask(&mut client, "terminal/clean", all.clone(), "terminal/cleaned").await);
    seen.push(client.answer_to("terminal/list", json!({})).await);
    insta::assert_snapshot!(bench.server.redact(&seen));
    assert_eq!(client.unread(), 0);
    bench.terminals.end().await;
}

#[tokio::test]
async fn a_forward_is_for_clients_that_may_approve() {
    let bench = Bench::new(Bounds::default()).await;
    let mut user = bench.client(json!({})).await;
    let thread = user.start_thread().await;
    let wanted = json!({ "threadId": thread, "port": 80 });
    let mut program = bench.client(json!({ "approvalSupport": false })).await;
    let refused = program.error("forward/start", wanted.clone()).await;
    assert_eq!(refused["data"]["reason"], "approvalNotSupported");
    // No command of this Thread had a network.
    let refused = user.error("forward/start", wanted).await;
    assert_eq!(refused["data"]["reason"], "noNetwork");
    let missing = json!({ "threadId": "thread_20270301_ab12cd", "port": 80 });
    assert_eq!(user.error("forward/start", missing).await["code"], -32010);
    let wrong = json!({ "threadId": thread, "port": 0 });
    assert_eq!(user.error("forward/start", wrong).await["code"], -32602);
    let nothing = program.call("forward/list", json!({})).await;
    assert_eq!(nothing, json!({ "forwards": [] }));
    let stopped = program
        .call("forward/stop", json!({ "forwardId": "forward_1" }))
        .await;
    assert_eq!(stopped, json!({ "stopped": false }));
    bench.terminals.end().await;
}

#[tokio::test]
async fn only_clients_that_asked_for_it_are_told_of_terminals() {
    let bench = Bench::new(Bounds::default()).await;
    let mut told = bench.client(json!({ "backgroundTerminals": true })).await;
    let mut other = bench.client(json!({})).await;
    let thread = other.start_thread().await;
    let id = bench.leave(&thread, "echo begun; cat").await;
    told.wait_for("terminal/started").await;
    let stopped = other.answer_to("terminal/stop", json!({ "sessionId": id })).await;
    assert_eq!(stopped["result"]["terminal"]["status"], "killed");
    told.wait_for("terminal/completed").await;
    other.call("server/stats", json!({})).await;
    while other.unread() > 0 {
        let message = other.next().await.unwrap();
        assert!(
            !message["method"].as_str().unwrap().starts_with("terminal/"),
            "{message}"
        );
    }
    bench.terminals.end().await;
}

#[tokio::test]
async fn a_silent_terminal_is_told_once_and_output_that_comes_too_fast_is_left_out() {
    let bench = Bench::new(Bounds {
        stall_after: Duration::from_millis(300),
        notify_bytes: 4 << 10,
        ..Bounds::default()
    })
    .await;
    let mut client = bench.client(json!({ "backgroundTerminals": true })).await;
    let thread = client.start_thread().await;
    let id = bench
        .leave(&thread, "echo begun; read -r x; seq 100000; read -r x")
        .await;
    let stalled = client.wait_for("terminal/stalled").await;
    assert_eq!(stalled["params"]["terminal"]["sessionId"], id.as_str());
    client
        .call(
            "terminal/write",
            json!({ "sessionId": id, "input": "\n", "yieldTimeMs": 0 }),
        )
        .await;
    let cut = client
        .find("a word about what is left out", |message| {
            message["params"]["delta"]
                .as_str()
                .is_some_and(|delta| delta.contains("bytes left out"))
        })
        .await;
    assert_eq!(cut["method"], "terminal/outputDelta");
    let file = cut["params"]["terminal"]["outputPath"]
        .as_str()
        .unwrap()
        .to_owned();
    client.call("terminal/stop", json!({ "sessionId": id })).await;
    let all = std::fs::read_to_string(file).unwrap();
    assert_eq!(all.lines().count(), 100_001, "the file has everything");
    bench.terminals.end().await;
}

#[tokio::test]
async fn terminals_go_with_their_thread() {
    let bench = Bench::new(Bounds::default()).await;
    let mut client = bench.client(json!({ "backgroundTerminals": true })).await;
    let thread = client.start_thread().await;
    let id = bench.leave(&thread, "echo begun; sleep 600").await;
    client.call("thread/delete", json!({ "threadId": thread })).await;
    let ended = client.wait_for("terminal/completed").await;
    assert_eq!(ended["params"]["terminal"]["status"], "killed");
    client.wait_for("terminal/cleaned").await;
    let gone = client
        .answer_to("terminal/read", json!({ "sessionId": id }))
        .await;
    assert_eq!(gone["error"]["code"], -32010);
    assert_eq!(gone["error"]["message"], format!("Thread not found: {id}"));
    bench.terminals.end().await;
    let folder = bench
        .server
        .threads
        .settings()
        .workspace
        .join(".craft/terminals")
        .join(thread);
    assert!(!folder.exists());
}

#[tokio::test]
async fn the_capability_is_announced_where_there_are_terminals() {
    let bench = Bench::new(Bounds::default()).await;
    let mut client = Client::new(Server::link_to(&bench.native));
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let answer = client.answer_to("initialize", info.clone()).await;
    assert_eq!(answer["result"]["capabilities"]["backgroundTerminals"], true);
    let nowhere = Terminals::nowhere(Children::new(None), Arc::new(SystemClock));
    assert!(!nowhere.can_run_in_background());
    let mut without = bench.server.client().await;
    let refused = without.answer_to("terminal/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601);
}

/// 02 §3: background commands end when their Thread is archived; their output stays.
#[tokio::test]
async fn archiving_a_thread_ends_its_terminals_and_keeps_what_they_said() {
    let bench = Bench::new(Bounds::default()).await;
    let mut client = bench.client(json!({ "backgroundTerminals": true })).await;
    let (thread, other) = (client.start_thread().await, client.start_thread().await);
    let id = bench.leave(&thread, "echo begun; cat").await;
    let stays = bench.leave(&other, "echo begun; cat").await;
    client.call("thread/archive", json!({ "threadId": thread })).await;
    let ended = client.wait_for("terminal/completed").await;
    let terminal = &ended["params"]["terminal"];
    assert_eq!(
        (&terminal["sessionId"], &terminal["status"]),
        (&json!(id), &json!("killed"))
    );
    let read = client.call("terminal/read", json!({ "sessionId": id })).await;
    assert_eq!(read["terminal"]["output"], "begun\n");
    let read = client.call("terminal/read", json!({ "sessionId": stays })).await;
    assert_eq!(read["terminal"]["status"], "running");
    bench.terminals.end().await;
}

/// A request that repeats a name gets the same answer, and is executed once.
#[tokio::test]
async fn named_stops_and_cleans_are_done_once() {
    let bench = Bench::new(Bounds::default()).await;
    let mut client = bench.client(json!({})).await;
    let thread = client.start_thread().await;
    let first = bench.leave(&thread, "echo begun; cat").await;
    let stop = json!({ "sessionId": first, "clientRequestId": "s" });
    let clean = json!({ "threadId": thread, "clientRequestId": "c" });
    let stopped = client.call("terminal/stop", stop.clone()).await;
    let cleaned = client.call("terminal/clean", clean.clone()).await;
    assert_eq!(cleaned["terminals"].as_array().unwrap().len(), 1);
    let second = bench.leave(&thread, "echo begun; cat").await;
    client.call("terminal/stop", json!({ "sessionId": second })).await;
    // Over another connection too.
    let mut other = bench.client(json!({})).await;
    for client in [&mut client, &mut other] {
        assert_eq!(client.call("terminal/stop", stop.clone()).await, stopped);
        assert_eq!(client.call("terminal/clean", clean.clone()).await, cleaned);
    }
    let left = client.call("terminal/list", json!({})).await;
    assert_eq!(left["terminals"][0]["sessionId"], second.as_str());
    let reused = json!({ "sessionId": second, "clientRequestId": "s" });
    let error = client.error("terminal/stop", reused).await;
    assert_eq!(error["data"]["reason"], "clientRequestIdReused");
    // A failed request was not executed, and is tried again.
    let missing = json!({ "sessionId": "term_none", "clientRequestId": "n" });
    for _ in 0..2 {
        assert_eq!(
            client.error("terminal/stop", missing.clone()).await["code"],
            -32010
        );
    }
    bench.terminals.end().await;
}
