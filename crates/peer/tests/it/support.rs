//! One peer, and a far end that a test plays, over any of the three framings.

use std::cell::RefCell;
use std::future::Future;
use std::sync::{Arc, Once};
use std::time::Duration;

use bobbin_framing::{Limits, WebSocketOptions};
use bobbin_peer::{Handlers, LogEntry, NoParams, Peer, PeerHandle, PeerOptions, Phase, Transport};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

/// What a test runs over. With a log the connection's task writes everything; without one, as where it matters, senders
/// write by themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wire {
    Lines,
    ContentLength,
    WebSocket,
    /// The same without a log callback: what was noted is told by traces, and what was read and written is not.
    Unlogged(Framing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Lines,
    ContentLength,
    WebSocket,
}

impl Wire {
    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::Lines => Framing::Lines,
            Self::ContentLength => Framing::ContentLength,
            Self::WebSocket => Framing::WebSocket,
            Self::Unlogged(framing) => framing,
        }
    }

    pub(crate) fn is_logged(self) -> bool {
        !matches!(self, Self::Unlogged(_))
    }
}

/// Longest wait for something that must come; driven time passes it in no time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Kind and text of every log entry.
#[derive(Clone, Default)]
pub(crate) struct Entries(Arc<Mutex<Vec<(&'static str, String)>>>);

impl Entries {
    pub(crate) fn callback(&self) -> bobbin_peer::LogFn {
        let entries = self.clone();
        Arc::new(move |entry: LogEntry<'_>| entries.0.lock().push((entry.kind(), entry.text().to_owned())))
    }

    pub(crate) fn of(&self, kind: &str) -> Vec<String> {
        self.0
            .lock()
            .iter()
            .filter(|entry| entry.0 == kind)
            .map(|entry| entry.1.clone())
            .collect()
    }
}

thread_local! {
    /// Where the notes of the peer that this thread runs go.
    static NOTES: RefCell<Option<Entries>> = const { RefCell::new(None) };
}

/// Gives the notes to the thread they are made on. One for the whole process: `tracing` keeps for every place of a note
/// whether anybody listens, and a subscriber of one thread may be overlooked while another thread comes by first.
struct Traces;

/// Ends the taking down of notes on this thread.
pub(crate) struct Listening(());

impl Listening {
    fn to(entries: Entries) -> Self {
        NOTES.set(Some(entries));
        Self(())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        NOTES.set(None);
    }
}

/// The fields of one note.
#[derive(Default)]
struct Note {
    kind: Option<&'static str>,
    text: String,
}

impl tracing::field::Visit for Note {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        const KINDS: [&str; 3] = ["RpcError", "RpcWarn", "RpcDebug"];
        if field.name() == "kind" {
            self.kind = KINDS.into_iter().find(|kind| *kind == value);
        }
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.text = format!("{value:?}");
        }
    }
}

impl tracing::Subscriber for Traces {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "bobbin_peer"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut note = Note::default();
        event.record(&mut note);
        if let Some(kind) = note.kind {
            NOTES.with_borrow(|entries| {
                if let Some(entries) = entries {
                    entries.0.lock().push((kind, note.text));
                }
            });
        }
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// A peer under test and the far end of its connection.
pub(crate) struct World {
    pub(crate) peer: Peer,
    pub(crate) far: Far,
    pub(crate) log: Entries,
    /// Collects the notes of a peer without a log.
    pub(crate) traced: Option<Listening>,
}

/// Two transports of one framing, connected by a pipe that holds this many bytes each way.
pub(crate) async fn connected(wire: Wire, pipe: usize) -> (Transport, Transport) {
    static LISTENER: Once = Once::new();
    // Before any peer is there: a place of a note that comes up meanwhile might stay without a listener.
    LISTENER.call_once(|| tracing::subscriber::set_global_default(Traces).expect("nobody else listens"));
    let (near, far) = duplex(pipe);
    let limits = Limits::default();
    match wire.framing() {
        Framing::Lines => {
            let ((near_read, near_write), (far_read, far_write)) = (split(near), split(far));
            (
                Transport::lines(near_read, near_write, limits),
                Transport::lines(far_read, far_write, limits),
            )
        }
        Framing::ContentLength => {
            let ((near_read, near_write), (far_read, far_write)) = (split(near), split(far));
            (
                Transport::content_length(near_read, near_write, limits),
                Transport::content_length(far_read, far_write, limits),
            )
        }
        Framing::WebSocket => {
            let options = WebSocketOptions {
                keep_alive: None,
                ..WebSocketOptions::default()
            };
            let near = WebSocketStream::from_raw_socket(near, Role::Server, None).await;
            let far = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
            (
                Transport::websocket(near, options),
                Transport::websocket(far, options),
            )
        }
    }
}

impl World {
    /// Starts a peer with these handlers and one for `probe`.
    pub(crate) async fn new(wire: Wire, configure: impl FnOnce(PeerHandle) -> Handlers) -> Self {
        Self::with(wire, PeerOptions::default(), configure).await
    }

    pub(crate) async fn with(
        wire: Wire,
        mut options: PeerOptions,
        configure: impl FnOnce(PeerHandle) -> Handlers,
    ) -> Self {
        let (near, far) = connected(wire, 1 << 16).await;
        let log = Entries::default();
        let traced = if wire.is_logged() {
            options.log = Some(log.callback());
            None
        } else {
            Some(Listening::to(log.clone()))
        };
        let peer = Peer::start(near, options, |me| {
            configure(me).on_call("probe", |_, _: NoParams| async { Ok("here") })
        })
        .unwrap();
        Self {
            peer,
            far: Far(far),
            log,
            traced,
        }
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.log.of("RpcError")
    }

    /// Everything the peer sends until it has answered a probe sent now.
    pub(crate) async fn until_probe(&mut self) -> Vec<Value> {
        self.far
            .send(r#"{"jsonrpc":"2.0","id":"probe","method":"probe"}"#)
            .await;
        let mut messages = Vec::new();
        loop {
            let message = self.far.recv().await;
            if message["id"] == "probe" {
                assert_eq!(message["result"], "here");
                return messages;
            }
            messages.push(message);
        }
    }

    /// Fails if the peer sends anything that was caused by what it has been sent so far.
    pub(crate) async fn expect_silence(&mut self) {
        let messages = self.until_probe().await;
        assert!(messages.is_empty(), "{messages:?}");
    }

    /// Waits until the peer's state is as wanted.
    pub(crate) async fn eventually(&self, wanted: impl Fn(&bobbin_peer::Stats) -> bool) {
        eventually(|| wanted(&self.peer.stats())).await;
    }

    pub(crate) async fn stopped(&self) {
        within(self.peer.closed()).await;
        assert_eq!(self.peer.phase(), Phase::Stopped);
    }
}

/// Waits, but not for ever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("in time")
}

pub(crate) async fn eventually(wanted: impl Fn() -> bool) {
    within(async {
        while !wanted() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// The far end: sends texts, reads messages.
pub(crate) struct Far(pub(crate) Transport);

impl Far {
    pub(crate) async fn send(&mut self, text: impl AsRef<str>) {
        self.0.send(text.as_ref().to_owned().into()).await.unwrap();
    }

    pub(crate) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message.to_string()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message.to_string()).await;
    }

    pub(crate) async fn answer(&mut self, id: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
            .await;
    }

    pub(crate) async fn cancel(&mut self, id: impl Into<Value>) {
        self.notify("$/cancelRequest", json!({ "id": id.into() })).await;
    }

    /// The next message as text.
    pub(crate) async fn text(&mut self) -> String {
        let frame = within(self.0.next()).await.expect("open").expect("framed");
        String::from_utf8(frame.to_vec()).unwrap()
    }

    pub(crate) async fn recv(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// The next message, or `None` at the end of output.
    pub(crate) async fn recv_or_end(&mut self) -> Option<Value> {
        let frame = within(self.0.next()).await?.expect("framed");
        Some(serde_json::from_slice(&frame).unwrap())
    }

    /// The error code of the answer to this id, which comes next.
    pub(crate) async fn error_of(&mut self, id: impl Into<Value>) -> i64 {
        let message = self.recv().await;
        assert_eq!(message["id"], id.into(), "{message}");
        message["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("{message}"))
    }

    /// Ends the peer's input.
    pub(crate) async fn hang_up(&mut self) {
        within(self.0.close(&bobbin_peer::CloseReason::default()))
            .await
            .unwrap();
    }
}

/// A handler that waits until its token is cancelled or it is dropped, telling that it has begun.
pub(crate) fn sleeper() -> (Arc<tokio::sync::Semaphore>, Handlers) {
    let begun = Arc::new(tokio::sync::Semaphore::new(0));
    let tell = Arc::clone(&begun);
    let handlers = Handlers::new().on_call("sleep", move |_, _: NoParams| {
        tell.add_permits(1);
        async {
            std::future::pending::<()>().await;
            Ok(())
        }
    });
    (begun, handlers)
}

/// Waits until this many handlers told that they have begun.
pub(crate) async fn begun(semaphore: &tokio::sync::Semaphore, count: u32) {
    within(semaphore.acquire_many(count)).await.unwrap().forget();
}
