//! The client that whatever happens does not confuse: it loses its connection at any byte, repeats everything under the
//! same names, and reads on from where it stopped. In the end it knows what the store knows.
//!
//! Shares no code with the server, and checks while it learns: no event twice, no answer that contradicts another.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, ChildStdout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// A fixed row of random numbers (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// A stream that breaks after so many bytes, read and written together, in the middle of whatever that is.
pub(crate) struct Cut<S> {
    inner: S,
    left: Arc<AtomicU64>,
}

impl<S> Cut<S> {
    fn room(&self) -> io::Result<usize> {
        match self.left.load(Ordering::Relaxed) {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            left => Ok(usize::try_from(left).unwrap_or(usize::MAX)),
        }
    }

    fn used(&self, bytes: usize) {
        // One task uses it.
        let left = self.left.load(Ordering::Relaxed);
        self.left
            .store(left.saturating_sub(bytes as u64), Ordering::Relaxed);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Cut<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = self.room()?.min(out.remaining());
        let mut part = vec![0; room.min(16 << 10)];
        let mut read = ReadBuf::new(&mut part);
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, &mut read))?;
        out.put_slice(read.filled());
        self.used(read.filled().len());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cut<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let room = self.room()?.min(bytes.len());
        let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(context, &bytes[..room]))?;
        self.used(written);
        Poll::Ready(Ok(written))
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// What carries messages.
pub(crate) enum Wire {
    Socket(Box<WebSocketStream<Cut<TcpStream>>>),
    Lines(BufReader<Cut<ChildStdout>>, Cut<ChildStdin>),
}

impl Wire {
    /// Connects to a WebSocket; the connection breaks after `bytes`.
    pub(crate) async fn socket(address: &str, bytes: u64) -> Result<Self, Broken> {
        let place = address
            .trim_start_matches("ws://")
            .split('/')
            .next()
            .unwrap_or_default();
        let inner = TcpStream::connect(place).await.map_err(broken)?;
        let left = Arc::new(AtomicU64::new(bytes));
        let (socket, _) = tokio_tungstenite::client_async(address, Cut { inner, left })
            .await
            .map_err(|error| Broken(format!("handshake: {error}")))?;
        Ok(Self::Socket(Box::new(socket)))
    }

    /// Speaks lines with a child; the pipes break after `bytes`.
    pub(crate) fn lines(reader: ChildStdout, writer: ChildStdin, bytes: u64) -> Self {
        let left = Arc::new(AtomicU64::new(bytes));
        let reader = Cut {
            inner: reader,
            left: left.clone(),
        };
        Self::Lines(BufReader::new(reader), Cut { inner: writer, left })
    }

    async fn write(&mut self, text: String) -> Result<(), Broken> {
        match self {
            Self::Socket(socket) => socket.send(Message::text(text)).await.map_err(broken),
            Self::Lines(_, writer) => writer
                .write_all(format!("{text}\n").as_bytes())
                .await
                .map_err(broken),
        }
    }

    async fn read(&mut self) -> Result<Value, Broken> {
        match self {
            Self::Socket(socket) => loop {
                let message = socket
                    .next()
                    .await
                    .ok_or_else(|| broken("the end"))?
                    .map_err(broken)?;
                match message {
                    Message::Text(text) => return Ok(serde_json::from_str(text.as_str()).unwrap()),
                    Message::Close(frame) => return Err(Broken(format!("{frame:?}"))),
                    _ => {}
                }
            },
            Self::Lines(reader, _) => {
                let mut line = String::new();
                match reader.read_line(&mut line).await {
                    Ok(_) if line.ends_with('\n') => Ok(serde_json::from_str(&line).unwrap()),
                    Ok(_) => Err(broken("half a line")),
                    Err(error) => Err(broken(error)),
                }
            }
        }
    }
}

/// Why a connection ended.
pub(crate) struct Broken(pub(crate) String);

fn broken(why: impl std::fmt::Display) -> Broken {
    Broken(why.to_string())
}

/// What the client knows, whatever becomes of its connections.
#[derive(Default)]
pub(crate) struct Knowledge {
    pub(crate) thread: Option<String>,
    /// Last number it has dealt with.
    seq: u64,
    /// Final Items by Turn and id, as events told them.
    pub(crate) items: BTreeMap<(String, String), Value>,
    pub(crate) ended: BTreeMap<String, Value>,
    /// What each named request was answered, where that must not change.
    answers: HashMap<String, Value>,
    pub(crate) snapshots: usize,
    /// What it is waiting for, for whoever wonders why it stands still.
    pub(crate) waits_for: String,
}

impl Knowledge {
    fn learn(&mut self, message: &Value) {
        let params = &message["params"];
        let about = [
            &params["threadId"],
            &params["thread"]["id"],
            &params["turn"]["threadId"],
        ];
        let own = self.thread.as_deref();
        if about.iter().any(|id| id.is_string() && id.as_str() != own) {
            return;
        }
        let Some(seq) = params["seq"].as_u64() else { return };
        if message["method"] == "thread/synced" {
            self.seq = self.seq.max(seq);
            return;
        }
        if seq <= self.seq {
            // Contained in what was read as a whole.
            assert!(self.snapshots > 0, "{seq} came twice: {message}");
            return;
        }
        self.seq = seq;
        match message["method"].as_str().unwrap_or_default() {
            "item/completed" => {
                let item = &params["item"];
                let turn = params["turnId"].as_str().unwrap_or_default().to_owned();
                let key = (turn, item["id"].as_str().unwrap().to_owned());
                let before = self.items.insert(key, item.clone());
                assert_eq!(before, None, "completed twice: {message}");
            }
            "turn/completed" | "turn/failed" | "turn/cancelled" => {
                let id = params["turn"]["id"].as_str().unwrap().to_owned();
                let before = self.ended.insert(id, params["turn"]["status"].clone());
                assert_eq!(before, None, "ended twice: {message}");
            }
            _ => {}
        }
    }

    /// Forgets what events told and takes a Thread as it was read.
    fn replace(&mut self, read: &Value) {
        self.snapshots += 1;
        self.seq = read["seq"].as_u64().unwrap();
        (self.items, self.ended) = picture(read);
    }
}

pub(crate) type Picture = (BTreeMap<(String, String), Value>, BTreeMap<String, Value>);

/// Final Items and ends of Turns in an answer of `thread/read`.
pub(crate) fn picture(read: &Value) -> Picture {
    let (mut items, mut ended) = Picture::default();
    for turn in read["thread"]["turns"].as_array().unwrap() {
        let id = turn["id"].as_str().unwrap();
        for item in turn["items"].as_array().unwrap() {
            if item["status"] == "completed" {
                let key = (id.to_owned(), item["id"].as_str().unwrap().to_owned());
                items.insert(key, item.clone());
            }
        }
        if !turn["completedAt"].is_null() {
            ended.insert(id.to_owned(), turn["status"].clone());
        }
    }
    (items, ended)
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// Has a Turn run to its end; what it asks is accepted.
    Turn(String),
    /// Puts an input into the queue, and waits for its Turn.
    Queue(String),
    /// Starts a Turn that asks, and stops it.
    Stop(String),
    /// Gives the Thread a title.
    Rename(String),
    /// Archives the Thread and takes it back.
    Archive,
    /// Starts another Thread and deletes it.
    Delete,
}

impl Op {
    /// Whether it makes a Turn.
    pub(crate) fn is_turn(&self) -> bool {
        matches!(self, Self::Turn(_) | Self::Queue(_) | Self::Stop(_))
    }
}

/// One connection, for as long as it lasts.
pub(crate) struct Line<'a> {
    pub(crate) wire: Wire,
    pub(crate) next_id: u64,
    pub(crate) known: &'a mut Knowledge,
    /// Distinguishes this client's requests from those of others on the same server.
    pub(crate) name: &'a str,
    /// Whether questions are answered.
    pub(crate) accepts: bool,
    /// Those that were not.
    put_off: Vec<Value>,
}

impl<'a> Line<'a> {
    pub(crate) fn new(wire: Wire, known: &'a mut Knowledge, name: &'a str) -> Self {
        Self {
            wire,
            next_id: 0,
            known,
            name,
            accepts: true,
            put_off: Vec::new(),
        }
    }

    /// Deals with whatever comes that is no answer.
    async fn take(&mut self, message: Value) -> Result<(), Broken> {
        if message["method"] == "item/approval/request" {
            if !self.accepts {
                self.put_off.push(message);
                return Ok(());
            }
            let id = &message["id"];
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "decision": "accept" } });
            return self.wire.write(answer.to_string()).await;
        }
        self.known.learn(&message);
        Ok(())
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Broken> {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.known.waits_for = request.to_string();
        self.wire.write(request.to_string()).await?;
        loop {
            let message = self.wire.read().await?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
            self.take(message).await?;
        }
    }

    /// Makes a named request until it is carried out, as clients do: what cannot be stored or is being carried out is
    /// asked for again.
    async fn once(&mut self, name: &str, method: &str, mut params: Value) -> Result<Value, Broken> {
        params["clientRequestId"] = json!(format!("{}-{name}", self.name));
        loop {
            let answer = self.call(method, params.clone()).await?;
            match answer["error"]["code"].as_i64() {
                Some(-32603 | -32001) => tokio::time::sleep(Duration::from_millis(20)).await,
                _ => return Ok(answer),
            }
        }
    }

    /// Checks that an answer is the same whenever it is given.
    fn same(&mut self, name: &str, answer: &Value) {
        let first = self
            .known
            .answers
            .entry(name.to_owned())
            .or_insert_with(|| answer.clone());
        assert_eq!(first, answer, "two answers for {name}");
    }

    pub(crate) async fn hello(&mut self) -> Result<(), Broken> {
        let hello = json!({
            "clientInfo": { "name": "chaos", "version": "1" },
            "capabilities": { "eventCursors": true, "toolExecutionLifecycle": true },
        });
        self.call("initialize", hello).await?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "initialized" });
        self.wire.write(initialized.to_string()).await
    }

    /// Does what is left to do. Returns when all of it is done.
    pub(crate) async fn work(&mut self, script: &[Op]) -> Result<(), Broken> {
        self.hello().await?;
        let start = json!({ "identity": { "channelName": "chaos" } });
        let started = self.once("thread", "thread/start", start).await?;
        let Some(thread) = started["result"]["thread"]["id"].as_str().map(str::to_owned) else {
            return Err(Broken(started.to_string()));
        };
        self.same("thread", &json!(thread));
        self.known.thread = Some(thread.clone());
        let subscribe = json!({ "threadId": thread, "afterSeq": self.known.seq });
        let answer = self.call("thread/subscribe", subscribe).await?;
        if answer["result"]["mode"] == "snapshot" {
            let read = json!({ "threadId": thread, "includeTurns": true });
            let read = self.call("thread/read", read).await?;
            if read["error"].is_object() {
                return Err(Broken(read.to_string()));
            }
            self.known.replace(&read["result"]);
        }
        let mut turns = 0;
        for (number, op) in script.iter().enumerate() {
            turns += usize::from(op.is_turn());
            self.act(&thread, number, op, turns).await?;
        }
        Ok(())
    }

    async fn act(&mut self, thread: &str, number: usize, op: &Op, turns: usize) -> Result<(), Broken> {
        let name = format!("op{number}");
        let input = |text: &str| json!({ "threadId": thread, "input": [{ "type": "text", "text": text }] });
        match op {
            Op::Turn(text) => {
                let answer = self.once(&name, "turn/start", input(text)).await?;
                let Some(turn) = answer["result"]["turn"]["id"].as_str().map(str::to_owned) else {
                    panic!("{answer}");
                };
                self.same(&name, &json!(turn));
                self.until_ended(turns).await?;
                assert!(
                    self.known.ended.contains_key(&turn),
                    "{turn} is not among {:?}",
                    self.known.ended
                );
            }
            Op::Queue(text) => {
                let answer = self.once(&name, "turn/enqueue", input(text)).await?;
                assert!(answer["result"].is_object(), "{answer}");
                self.same(&name, &answer["result"]["queuedInput"]["id"]);
                self.until_ended(turns).await?;
            }
            Op::Stop(text) => {
                self.accepts = false;
                let answer = self.once(&name, "turn/start", input(text)).await?;
                let turn = answer["result"]["turn"]["id"].clone();
                self.same(&name, &turn);
                let stop = json!({ "threadId": thread, "turnId": turn });
                // Repeated when it is over, it may find nothing to stop.
                self.once(&format!("{name}-stop"), "turn/interrupt", stop).await?;
                self.until_ended(turns).await?;
                self.accepts = true;
                // Repeated, this may have met the questions of what comes behind it.
                for question in std::mem::take(&mut self.put_off) {
                    self.take(question).await?;
                }
            }
            Op::Rename(title) => {
                let rename = json!({ "threadId": thread, "displayName": title });
                let answer = self.once(&name, "thread/rename", rename).await?;
                assert!(answer["result"].is_object(), "{answer}");
            }
            Op::Archive => {
                for (step, method) in [("a", "thread/archive"), ("b", "thread/unarchive")] {
                    let which = json!({ "threadId": thread });
                    let answer = self.once(&format!("{name}{step}"), method, which).await?;
                    assert!(answer["result"].is_object(), "{answer}");
                }
            }
            Op::Delete => {
                let start =
                    json!({ "identity": { "channelName": "chaos" }, "displayName": "a title to find" });
                let answer = self.once(&name, "thread/start", start).await?;
                let id = answer["result"]["thread"]["id"].clone();
                if id.is_null() {
                    // It was started and deleted, and both were answered or would have been.
                    assert_eq!(answer["error"]["code"], -32010, "{answer}");
                    return Ok(());
                }
                let delete = json!({ "threadId": id });
                let answer = self
                    .once(&format!("{name}-delete"), "thread/delete", delete)
                    .await?;
                assert!(
                    answer["result"].is_object() || answer["error"]["code"] == -32010,
                    "{answer}"
                );
            }
        }
        Ok(())
    }

    async fn until_ended(&mut self, turns: usize) -> Result<(), Broken> {
        self.known.waits_for = format!("the end of {turns} turns, after {}", self.known.waits_for);
        while self.known.ended.len() < turns {
            let message = self.wire.read().await?;
            self.take(message).await?;
        }
        Ok(())
    }
}

/// Reads a Thread as a client that comes late, and compares: what was told is what is stored.
pub(crate) async fn check(wire: Wire, known: &Knowledge, script: &[Op], told: &str) -> Result<(), Broken> {
    let mut late = Knowledge::default();
    let mut line = Line::new(wire, &mut late, "late");
    line.hello().await?;
    let read = json!({ "threadId": known.thread, "includeTurns": true });
    let read = line.call("thread/read", read).await?;
    assert!(read["result"].is_object(), "{told}: {read}");
    let (items, ended) = picture(&read["result"]);
    assert_eq!(known.ended, ended, "{told}");
    assert_eq!(known.items, items, "{told}");
    let turns = script.iter().filter(|op| op.is_turn()).count();
    assert_eq!(ended.len(), turns, "{told}: each prompt has run once");
    Ok(())
}
