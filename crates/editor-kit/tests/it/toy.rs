//! The toy dialect has two methods: `open` names the folder, in the client's third message, and `say` starts a Turn. It has
//! no `shutdown` and no `exit`.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::{Command, Encoded, Frame, FrameBody, ThreadHandle, Threads, WireMessage};
use bobbin_editor_kit::bridge::{self, End, Joined};
use bobbin_editor_kit::{Early, OpenRequest};
use bobbin_framing::{CloseReason, Transport};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{Actor, Approval, Decision, HistoryMode, Identity, InputPart, ThreadId, TurnFeatures};
use bobbin_peer::{CallContext, ErrorObject, NotificationContext, PeerHandle, PeerOptions, Responder};
use bobbin_session::{
    Connection, ConnectionOptions, Dialect, Handler, Lifetime, LogSource, Session, Start, SubscribeOptions,
};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);
const FOLDER: &str = "/srv/tea";

struct Toy;

impl Dialect for Toy {
    fn slot(&self, source: LogSource) -> usize {
        usize::from(source == LogSource::Workspace)
    }

    fn encode(&self, frame: &Frame, source: LogSource) -> Encoded {
        match &frame.body {
            FrameBody::Delta(delta) if source == LogSource::Thread => Arc::new([WireMessage {
                method: "said",
                json: json!({ "jsonrpc": "2.0", "method": "said", "params": { "text": delta.text } })
                    .to_string()
                    .into(),
            }]),
            _ => Encoded::default(),
        }
    }

    fn wants(&self, _: &WireMessage, _: &ThreadId) -> bool {
        true
    }

    fn approves(&self) -> bool {
        false
    }

    fn actor(&self) -> Actor {
        Actor::Owner
    }

    fn client_name(&self) -> String {
        "toy".to_owned()
    }

    fn ask<'a>(
        &'a self,
        _: &'a PeerHandle,
        _: &'a ThreadId,
        _: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>> {
        std::future::ready(None).boxed()
    }
}

#[derive(Clone)]
struct Client {
    session: Arc<Session>,
    thread: Arc<ThreadHandle>,
}

struct Messages {
    threads: Arc<Threads>,
}

impl Handler for Messages {
    type Client = Client;

    async fn request(&self, connection: &Connection<Client>, request: CallContext, responder: Responder) {
        match (&*request.method, connection.client()) {
            ("hello" | "me", None) => responder.ok(json!({})),
            ("open", None) => {
                let thread = self.thread().await;
                connection.open(self.threads.clone(), Arc::new(Toy), |session| Client {
                    session,
                    thread,
                });
                responder.ok(json!({}));
            }
            ("say", Some(client)) => say(&client, &request, responder).await,
            _ => responder.err(ErrorObject::new(-32601, "no such method now")),
        }
    }

    async fn notification(&self, _: &Connection<Client>, _: NotificationContext) {}
}

impl Messages {
    async fn thread(&self) -> Arc<ThreadHandle> {
        let (started, answer) = oneshot::channel();
        let id = self.threads.fresh_thread_id();
        let new = NewThread {
            id: id.clone(),
            identity: Identity {
                channel_name: "toy".into(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let reply = Box::new(move |done: Result<_, _>| drop(started.send(done.map(|_| ()))));
        self.threads.start_thread(new, reply);
        answer.await.expect("answered").expect("started");
        self.threads.thread(&id).await.expect("live")
    }
}

async fn say(client: &Client, request: &CallContext, responder: Responder) {
    let params = request.params.as_deref().expect("params");
    let params: Value = serde_json::from_str(params.get()).expect("JSON");
    let text = params["text"].as_str().expect("a text").to_owned();
    client.session.subscribe(&SubscribeOptions {
        handle: client.thread.clone(),
        start: Start::Now,
        lifetime: Lifetime::Unsubscribed,
    });
    let request = StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text }],
        sender: None,
        channel: None,
        features: TurnFeatures::default(),
    };
    let reply = Box::new(move |started: Result<_, _>| match started {
        Ok(_) => responder.ok(json!({})),
        Err(_) => responder.err(ErrorObject::new(-32603, "the turn does not start")),
    });
    client.thread.send(Command::StartTurn { request, reply }).await;
}

/// The reaction to a message that comes before the folder is known.
fn early(message: &[u8]) -> Early {
    let message: Value = serde_json::from_slice(message).expect("JSON");
    match message["method"].as_str() {
        Some("hello" | "me") => {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} });
            Early::Answer(answer.to_string().into())
        }
        Some("open") => Early::Open(OpenRequest {
            root: message["params"]["folder"].as_str().map(Into::into),
            ..OpenRequest::default()
        }),
        _ => Early::Nothing,
    }
}

/// Starts to serve a connection. Returns the client's end.
fn server(threads: &Arc<Threads>) -> Transport {
    let (client, served) = Transport::memory_pair();
    let options = ConnectionOptions {
        peer: PeerOptions::default(),
        handshake: Some(PATIENCE),
        endpoint: "toy".to_owned(),
        until: CancellationToken::new(),
    };
    let threads = threads.clone();
    tokio::spawn(async move {
        let handler = Arc::new(Messages {
            threads: threads.clone(),
        });
        bobbin_session::serve(served, options, threads.ended(), handler).await;
    });
    client
}

async fn next(client: &mut Transport) -> Value {
    let frame = tokio::time::timeout(PATIENCE, client.next()).await;
    let frame = frame.expect("in time").expect("open").expect("a frame");
    serde_json::from_slice(&frame).expect("JSON")
}

/// Plays a client from its first message to the text of a Turn.
async fn play(client: &mut Transport) {
    let calls = [
        ("hello", json!({})),
        ("me", json!({ "name": "ada" })),
        ("open", json!({ "folder": FOLDER })),
        ("say", json!({ "text": "say tea" })),
    ];
    for (id, (method, params)) in calls.into_iter().enumerate() {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        client.send(Bytes::from(call.to_string())).await.expect("sent");
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        assert_eq!(next(client).await, answer, "{method}");
    }
    let said = next(client).await;
    assert_eq!(
        (&said["method"], &said["params"]["text"]),
        (&json!("said"), &json!("tea"))
    );
}

async fn threads(workspace: &TestWorkspace) -> Arc<Threads> {
    workspace.open(Arc::new(ScriptEngine::default())).await
}

#[tokio::test]
async fn a_dialect_serves_its_methods_on_stdio() {
    let workspace = TestWorkspace::default();
    let threads = threads(&workspace).await;
    let mut client = server(&threads);
    play(&mut client).await;
    client.close(&CloseReason::default()).await.expect("closed");
    while client.next().await.is_some() {}
}

#[tokio::test]
async fn a_dialect_joins_a_client_whose_third_message_names_the_folder() {
    let workspace = TestWorkspace::default();
    let threads = threads(&workspace).await;
    let (mut client, mut near) = Transport::memory_pair();
    let bridge = tokio::spawn(async move {
        let (first, wanted) = bridge::handshake(&mut near, early).await.expect("it opens");
        assert_eq!(wanted.root.as_deref(), Some(FOLDER.as_ref()));
        let joined = Joined {
            editor: near,
            first: Some(first),
            parent: None,
            server: server(&threads),
        };
        bridge::run(joined, std::future::pending()).await
    });
    play(&mut client).await;
    client.close(&CloseReason::default()).await.expect("closed");
    let end = tokio::time::timeout(PATIENCE, bridge).await.expect("in time");
    assert_eq!(end.expect("no panic"), End::Left);
}
