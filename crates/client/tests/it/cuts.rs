//! Connections that are cut, and the state of a Thread.

use std::sync::Arc;
use std::time::Duration;

use bobbin_client::{
    Answer, Client, Connect, Event, Events, Notification, Options, RequestError, ThreadState,
};
use bobbin_framing::{Limits, Transport};
use bobbin_model::Decision;
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_peer::{Handlers, Mode, Peer, PeerHandle, PeerOptions};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::duplex;
use tokio::sync::mpsc;

/// A request that the server has not answered.
type Asked = (String, Value, bobbin_peer::Responder);

/// The server's end of one connection.
struct Line {
    peer: Peer,
    requests: mpsc::Receiver<Asked>,
    wire: tokio::task::AbortHandle,
}

struct InMemory(mpsc::Sender<Line>);

impl Connect for InMemory {
    fn connect(&mut self) -> BoxFuture<'_, Result<Transport, String>> {
        let ((ours, mut near), (mut far, theirs)) = (duplex(1 << 16), duplex(1 << 16));
        let wire = tokio::spawn(async move {
            drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
        });
        let [ours, theirs] = [ours, theirs].map(|end| {
            let (read, write) = tokio::io::split(end);
            Transport::lines(read, write, Limits::default())
        });
        let (sender, requests) = mpsc::channel(64);
        let sender = Arc::new(sender);
        let handlers = |_: PeerHandle| {
            Handlers::new()
                .fallback_call_deferred(Mode::ordered("in"), move |cx, responder| {
                    let params = cx.decode().unwrap_or_default();
                    drop(sender.try_send((cx.method.to_string(), params, responder)));
                    async {}
                })
                .fallback_notification(Mode::ordered("in"), |_| async { Ok(()) })
        };
        let peer = Peer::start(theirs, PeerOptions::default(), handlers).unwrap();
        let wire = wire.abort_handle();
        drop(self.0.try_send(Line { peer, requests, wire }));
        async { Ok(ours) }.boxed()
    }
}

impl Line {
    /// Returns the next request of this method, and answers what the client asks before.
    async fn next(&mut self, method: &str) -> (Value, bobbin_peer::Responder) {
        let (name, params, responder) = self.requests.recv().await.unwrap();
        assert_eq!(name, method);
        (params, responder)
    }

    /// Ends the connection: nothing that either side sends arrives any more.
    fn cut(self) {
        self.wire.abort();
    }

    async fn greets(&mut self) {
        let (params, responder) = self.next("initialize").await;
        assert_eq!(params["capabilities"]["eventCursors"], true);
        let info = json!({ "name": "bobbin", "version": "0", "protocolVersion": "1" });
        responder.ok(json!({ "serverInfo": info, "capabilities": {} }));
    }
}

struct Server {
    client: Client,
    events: Events,
    lines: mpsc::Receiver<Line>,
}

fn start() -> Server {
    let (sender, lines) = mpsc::channel(64);
    let (client, events) = Client::start(InMemory(sender), Options::new("test", "0"));
    Server {
        client,
        events,
        lines,
    }
}

impl Server {
    async fn line(&mut self) -> Line {
        let mut line = self.lines.recv().await.unwrap();
        line.greets().await;
        line
    }

    /// Returns the next event that `wanted` takes.
    async fn event<T>(&mut self, wanted: impl Fn(Event) -> Option<T>) -> T {
        loop {
            let event = tokio::time::timeout(Duration::from_secs(20), self.events.next()).await;
            if let Some(found) = wanted(event.unwrap().unwrap()) {
                return found;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_safe_is_sent_again_and_what_is_not_is_uncertain() {
    let mut server = start();
    let client = server.client.clone();
    let mut line = server.line().await;
    let calls = tokio::spawn(async move {
        let none = json!({});
        tokio::join!(
            client.read::<Value>("thread/list", &none),
            client.once::<Value>("thread/start", &none),
            client.send::<Value>("workspace/config/update", &none),
        )
    });
    let (_, list) = line.next("thread/list").await;
    let (first, begun) = line.next("thread/start").await;
    let (_, update) = line.next("workspace/config/update").await;
    line.cut();
    drop((list, begun, update));
    let mut line = server.line().await;
    let mut again = Vec::new();
    for _ in 0..2 {
        let (method, params, responder) = line.requests.recv().await.unwrap();
        responder.ok(json!({ "method": method }));
        again.push((method, params));
    }
    again.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(again[1].0, "thread/start");
    assert_eq!(
        again[1].1["clientRequestId"], first["clientRequestId"],
        "it is the same request"
    );
    let (listed, started, updated) = calls.await.unwrap();
    assert_eq!(listed.unwrap()["method"], "thread/list");
    assert_eq!(started.unwrap()["method"], "thread/start");
    let uncertain = RequestError::Uncertain {
        method: "workspace/config/update",
    };
    assert_eq!(updated.unwrap_err(), uncertain);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_connection_is_sent_when_the_server_asks_again() {
    let mut server = start();
    let line = server.line().await;
    let question = json!({
        "threadId": "t", "turnId": "u", "itemId": "i", "requestId": "r", "approvalType": "shell", "operation": "rm x",
        "target": "/w", "scopeKey": "k", "expiresAt": "2027-01-01T00:00:00.000Z",
    });
    let peer = line.peer.handle();
    let params = question.clone();
    let lost = tokio::spawn(async move { peer.call::<Value>("item/approval/request", params).await });
    let asked = server.event(|event| match event {
        Event::Asked(question) => Some(question.request_id().to_owned()),
        _ => None,
    });
    assert_eq!(asked.await, "r");
    line.cut();
    assert!(lost.await.unwrap().is_err());
    server
        .event(|event| matches!(event, Event::Disconnected { .. }).then_some(()))
        .await;
    server
        .client
        .answer("r", Answer::Decision(Decision::Accept))
        .await;
    let line = server.line().await;
    let answer: Value = line.peer.call("item/approval/request", question).await.unwrap();
    assert_eq!(answer["decision"], "accept");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_not_asked_again_is_over() {
    let mut server = start();
    let line = server.line().await;
    let question = json!({
        "threadId": "t", "turnId": "u", "itemId": "i", "requestId": "r", "callId": "c", "isBlocking": true, "questions": [],
    });
    let peer = line.peer.handle();
    let asked = tokio::spawn(async move { peer.call::<Value>("item/tool/requestUserInput", question).await });
    server
        .event(|event| matches!(event, Event::Asked(_)).then_some(()))
        .await;
    line.cut();
    assert!(asked.await.unwrap().is_err());
    let _line = server.line().await;
    let settled = server.event(|event| match event {
        Event::Settled { request_id } => Some(request_id),
        _ => None,
    });
    assert_eq!(settled.await, "r");
}

#[tokio::test(start_paused = true)]
async fn a_followed_thread_goes_on_by_its_cursor() {
    let mut server = start();
    let mut line = server.line().await;
    server.client.follow("t", 5).await;
    let (params, responder) = line.next("thread/subscribe").await;
    assert_eq!(params.get("afterSeq"), None);
    responder.ok(json!({ "seq": 4, "mode": "snapshot" }));
    let (params, responder) = line.next("thread/read").await;
    assert_eq!(params["turnLimit"], 5);
    responder.ok(json!({ "thread": thread(), "seq": 4 }));
    let read = server.event(|event| match event {
        Event::Read(read) => Some(read.thread.id.clone()),
        _ => None,
    });
    assert_eq!(read.await, "t");
    for seq in [4, 5] {
        let renamed = json!({ "threadId": "t", "displayName": format!("{seq}"), "seq": seq });
        line.peer.notify("thread/renamed", renamed).await.unwrap();
    }
    let name = |event| match event {
        Event::Notification(news) => Some(news.params::<Value>().unwrap()["displayName"].clone()),
        _ => None,
    };
    assert_eq!(server.event(name).await, "5", "4 is in what was read");
    line.cut();
    let mut line = server.line().await;
    let (params, responder) = line.next("thread/subscribe").await;
    assert_eq!(params["afterSeq"], 5);
    responder.ok(json!({ "seq": 6, "mode": "replay" }));
    let renamed = json!({ "threadId": "t", "displayName": "6", "seq": 6 });
    line.peer.notify("thread/renamed", renamed).await.unwrap();
    assert_eq!(server.event(name).await, "6");
}

fn thread() -> Value {
    let at = "2027-01-01T00:00:00.000Z";
    json!({
        "id": "t", "sessionId": "t", "workspacePath": "/w", "effectiveWorkspacePath": "/w", "cwd": "/w",
        "runtimeWorkspaceRoots": ["/w"], "ephemeral": false, "worktree": null, "originChannel": "cli",
        "source": { "kind": "user" }, "status": "active", "createdAt": at, "lastActiveAt": at,
        "historyMode": "server", "metadata": {}, "queuedInputs": [],
        "runtime": { "running": false, "waitingOnApproval": false, "waitingOnPlanConfirmation": false },
        "turns": [],
    })
}

fn item(id: &str, kind: &str, status: &str, payload: &Value) -> Value {
    json!({
        "id": id, "turnId": "u", "type": kind, "payloadKind": kind, "status": status,
        "createdAt": "2027-01-01T00:00:00.000Z", "payload": payload,
    })
}

#[test]
fn the_state_grows_by_notifications_and_a_reading_replaces_it() {
    let read = || serde_json::from_value(json!({ "thread": thread(), "seq": 1 })).unwrap();
    let mut state = ThreadState::default();
    state.replace(read());
    let mut apply = |method: &str, params: Value| state.apply(&Notification::of(method, &params));
    let turn =
        json!({ "id": "u", "threadId": "t", "status": "running", "startedAt": "2027-01-01T00:00:00.000Z" });
    apply("turn/started", json!({ "turn": turn }));
    apply(
        "item/started",
        json!({ "threadId": "t", "turnId": "u", "item": item("i", "agentMessage", "started", &json!({ "text": "" })) }),
    );
    for delta in ["He", "llo"] {
        apply(
            "item/agentMessage/delta",
            json!({ "threadId": "t", "turnId": "u", "itemId": "i", "delta": delta }),
        );
    }
    let text = |state: &ThreadState| match &state.turn("u").unwrap().item("i").unwrap().item.payload {
        ItemPayload::AgentMessage(message) => message.text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(&state), "Hello");
    let mut apply = |method: &str, params: Value| state.apply(&Notification::of(method, &params));
    apply(
        "item/completed",
        json!({ "threadId": "t", "turnId": "u", "item": item("i", "agentMessage", "completed", &json!({ "text": "Hello." })) }),
    );
    apply(
        "item/agentMessage/delta",
        json!({ "threadId": "t", "turnId": "u", "itemId": "i", "delta": "late" }),
    );
    apply(
        "item/usage/delta",
        json!({ "threadId": "t", "turnId": "u", "inputTokens": 3, "outputTokens": 2 }),
    );
    assert_eq!(text(&state), "Hello.", "a finished Item does not change");
    let open = state.open_turn().unwrap();
    assert_eq!(open.turn.token_usage.unwrap().total_tokens, 5);
    let mut ended = turn.clone();
    ended["status"] = "completed".into();
    ended["completedAt"] = "2027-01-01T00:00:01.000Z".into();
    ended["cost"] = 0.5.into();
    state.apply(&Notification::of("turn/completed", &json!({ "turn": ended })));
    assert!(state.open_turn().is_none());
    assert_eq!(state.thread.as_ref().unwrap().cost, Some(0.5));
    assert_eq!(text(&state), "Hello.", "its Items stay");
    let params = json!({ "threadId": "t", "firstTurnId": "u", "numTurns": 1, "seq": 9 });
    state.apply(&Notification::of("thread/rolledBack", &params));
    assert!(state.turns.is_empty());
}
