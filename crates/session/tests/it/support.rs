//! A core, and clients whose dialect is one line a frame: `SEQ KIND` for an event, `SEQ +OFFSET TEXT` for text, with a
//! `*` in front of what comes as news of a Thread that the client does not follow.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::{
    Command, CoreError, Encoded, Frame, FrameBody, Reply, StartedTurn, ThreadHandle, Threads, WireMessage,
};
use bobbin_framing::Transport;
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    Actor, Approval, ApprovalId, Decision, HistoryMode, Identity, InputPart, ThreadId, TurnFeatures,
};
use bobbin_peer::{Handlers, Peer, PeerHandle, PeerOptions};
use bobbin_session::{Dialect, Lifetime, LogSource, Session, Start, SubscribeOptions};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// Longest wait for anything: a lost wake-up fails its test instead of blocking the run.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    workspace: TestWorkspace,
    pub(crate) engine: ScriptEngine,
    pub(crate) threads: Arc<Threads>,
}

pub(crate) async fn server() -> Server {
    let (workspace, engine) = (TestWorkspace::default(), ScriptEngine::default());
    let threads = workspace.open(Arc::new(engine.clone())).await;
    Server {
        workspace,
        engine,
        threads,
    }
}

/// Waits for a command's answer.
async fn answer<T: Send + 'static>(
    thread: &ThreadHandle,
    command: impl FnOnce(Reply<T>) -> Command,
) -> Result<T, CoreError> {
    let (tx, rx) = oneshot::channel();
    let reply = Box::new(move |result| drop(tx.send(result)));
    thread.send(command(reply)).await;
    rx.await.expect("the command is answered")
}

impl Server {
    /// Changes the database beside the server.
    pub(crate) async fn meddle(&self, statement: &'static str) {
        let url = format!("sqlite://{}", self.workspace.database().display());
        let pool = sqlx::SqlitePool::connect(&url).await.expect("it opens");
        sqlx::query(statement).execute(&pool).await.expect("it works");
        pool.close().await;
    }

    pub(crate) async fn thread(&self) -> Arc<ThreadHandle> {
        let (tx, rx) = oneshot::channel();
        let new = NewThread {
            id: self.threads.fresh_thread_id(),
            identity: Identity {
                channel_name: "test".into(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: Some("test".into()),
        };
        let id = new.id.clone();
        self.threads
            .start_thread(new, Box::new(move |result| drop(tx.send(result.map(|_| ())))));
        rx.await.expect("answered").expect("started");
        self.threads.thread(&id).await.expect("live")
    }

    pub(crate) fn client(&self, name: &'static str) -> Client {
        let (near, far) = Transport::memory_pair();
        let (decision, _) = watch::channel(None);
        let plain = Arc::new(Plain {
            name,
            decision,
            asked: Mutex::default(),
            settled: Mutex::default(),
        });
        let peer = Peer::start(near, PeerOptions::default(), |_| Handlers::new()).expect("it starts");
        let (session, pump) = Session::start(peer.handle(), self.threads.clone(), plain.clone());
        Client {
            peer,
            session,
            pump,
            plain,
            far,
        }
    }
}

pub(crate) async fn start(thread: &ThreadHandle, text: &str) -> StartedTurn {
    let request = request(text);
    answer(thread, |reply| Command::StartTurn { request, reply })
        .await
        .expect("the turn starts")
}

/// Puts a Turn into the queue.
pub(crate) async fn enqueue(thread: &ThreadHandle, text: &str) {
    let request = request(text);
    let queued = answer(thread, |reply| Command::Enqueue { request, reply }).await;
    queued.expect("the turn is queued");
}

fn request(text: &str) -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text: text.into() }],
        sender: None,
        channel: None,
        features: TurnFeatures {
            approvals: true,
            ..TurnFeatures::default()
        },
    }
}

/// One client that has finished its handshake.
pub(crate) struct Client {
    pub(crate) peer: Peer,
    pub(crate) session: Arc<Session>,
    pub(crate) pump: JoinHandle<()>,
    pub(crate) plain: Arc<Plain>,
    far: Transport,
}

impl Client {
    pub(crate) fn subscribe_with(&self, thread: &Arc<ThreadHandle>, start: Start, lifetime: Lifetime) {
        self.session.subscribe(&SubscribeOptions {
            handle: thread.clone(),
            start,
            lifetime,
        });
    }

    pub(crate) fn subscribe(&self, thread: &Arc<ThreadHandle>) {
        self.subscribe_with(thread, Start::Now, Lifetime::Unsubscribed);
    }

    /// Reads lines until one ends so; returns all of them. `None` is the end of the connection.
    pub(crate) async fn until(&mut self, end: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let reading = async {
            while !lines.last().is_some_and(|line: &String| line.ends_with(end)) {
                let frame = self
                    .far
                    .next()
                    .await
                    .expect("the connection goes on")
                    .expect("a frame");
                lines.push(String::from_utf8(frame.to_vec()).expect("text"));
            }
        };
        let found = tokio::time::timeout(PATIENCE, reading).await;
        assert!(found.is_ok(), "no {end:?} came: {lines:#?}");
        lines
    }

    /// Returns the lines that wait to be read.
    pub(crate) fn sent(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(Some(Ok(frame))) = self.far.next().now_or_never() {
            lines.push(String::from_utf8(frame.to_vec()).expect("text"));
        }
        lines
    }

    /// Ends the connection; returns the lines that were not read.
    pub(crate) async fn finish(mut self) -> Vec<String> {
        self.peer.start_shutdown();
        let mut lines = Vec::new();
        let reading = async {
            while let Some(Ok(frame)) = self.far.next().await {
                lines.push(String::from_utf8(frame.to_vec()).expect("text"));
            }
            self.pump.await.expect("the pump ends");
        };
        tokio::time::timeout(PATIENCE, reading)
            .await
            .expect("the session ends with its connection");
        lines
    }
}

/// The dialect, and the questions it was given.
pub(crate) struct Plain {
    name: &'static str,
    /// The client's answer to every question, once it answers.
    decision: watch::Sender<Option<Decision>>,
    asked: Mutex<Vec<ApprovalId>>,
    settled: Mutex<Vec<ApprovalId>>,
}

impl Plain {
    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().len()
    }

    /// Questions that were taken back.
    pub(crate) fn settled(&self) -> usize {
        self.settled.lock().len()
    }

    pub(crate) fn decide(&self, decision: Decision) {
        self.decision.send_replace(Some(decision));
    }
}

/// Waits until a condition is true.
pub(crate) async fn eventually(what: &str, so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(came.is_ok(), "{what}");
}

/// Takes note of a question whose future is dropped before it is answered.
struct Pending<'a>(&'a Plain, Option<ApprovalId>);

impl Pending<'_> {
    fn answered(&mut self) {
        self.1 = None;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.0.settled.lock().extend(self.1.take());
    }
}

impl Dialect for Plain {
    fn slot(&self, source: LogSource) -> usize {
        usize::from(source == LogSource::Workspace)
    }

    fn encode(&self, frame: &Frame, source: LogSource) -> Encoded {
        let news = if source == LogSource::Workspace { "*" } else { "" };
        let line = match &frame.body {
            FrameBody::Recorded(event) => format!("{news}{} {}", frame.seq, event.kind()),
            FrameBody::Delta(delta) => format!("{} +{} {}", frame.seq, delta.offset, delta.text),
            FrameBody::Ephemeral(bobbin_core::Ephemeral::Synced) => format!("{} synced", frame.seq),
            FrameBody::Ephemeral(_) => return Encoded::default(),
        };
        Arc::new([WireMessage {
            method: "line",
            json: line.into(),
        }])
    }

    fn wants(&self, _: &WireMessage, _: &ThreadId) -> bool {
        true
    }

    fn approves(&self) -> bool {
        true
    }

    fn actor(&self) -> Actor {
        Actor::Owner
    }

    fn client_name(&self) -> String {
        self.name.to_owned()
    }

    fn ask<'a>(
        &'a self,
        _: &'a PeerHandle,
        _: &'a ThreadId,
        approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>> {
        self.asked.lock().push(approval.id.clone());
        let mut decision = self.decision.subscribe();
        async move {
            let mut pending = Pending(self, Some(approval.id.clone()));
            let decided = *decision.wait_for(Option::is_some).await.ok()?;
            pending.answered();
            decided
        }
        .boxed()
    }
}
