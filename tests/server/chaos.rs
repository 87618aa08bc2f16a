//! A client that loses its connection at any moment, repeats everything, and reads on from where it stopped,
//! while the server is killed under it. In the end it knows what the store knows, and nothing happened twice.
//!
//! `cargo xtask chaos --rounds 200` for the long form. The seed of a round that fails is in its message;
//! `cargo xtask chaos --seed SEED` plays that round alone.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::support::{Process, Workspace};

/// Prompts of a round.
const PROMPTS: usize = 6;
/// Rounds of the short form.
const ROUNDS: u64 = 3;
/// Connections after which a round has failed.
const MOST_CONNECTIONS: usize = 400;

/// A fixed row of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// Why a connection ended.
struct Broken;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What the client knows, whatever becomes of its connections.
#[derive(Default)]
struct Knowledge {
    thread: Option<String>,
    /// Last number it has dealt with.
    seq: u64,
    /// Final Items by Turn and id, as events told them.
    items: BTreeMap<(String, String), Value>,
    ended: BTreeMap<String, Value>,
    /// Turn of each prompt that was answered.
    turns: HashMap<usize, String>,
    snapshots: usize,
}

impl Knowledge {
    fn learn(&mut self, message: &Value) {
        let params = &message["params"];
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
        let turn = || params["turnId"].as_str().unwrap_or_default().to_owned();
        match message["method"].as_str().unwrap_or_default() {
            "item/completed" => {
                let item = &params["item"];
                let key = (turn(), item["id"].as_str().unwrap().to_owned());
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
        self.items.clear();
        self.ended.clear();
        let (items, ended) = picture(read);
        self.items = items;
        self.ended = ended;
    }
}

type Picture = (BTreeMap<(String, String), Value>, BTreeMap<String, Value>);

/// Final Items and ends of Turns in an answer of `thread/read`.
fn picture(read: &Value) -> Picture {
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

/// One connection, for as long as it lasts.
struct Line<'a> {
    socket: Socket,
    next_id: u64,
    known: &'a mut Knowledge,
}

impl Line<'_> {
    async fn write(&mut self, message: Value) -> Result<(), Broken> {
        self.socket
            .send(Message::text(message.to_string()))
            .await
            .map_err(|_| Broken)
    }

    async fn read(&mut self) -> Result<Value, Broken> {
        loop {
            let message = self.socket.next().await.ok_or(Broken)?.map_err(|_| Broken)?;
            if let Message::Text(text) = message {
                return Ok(serde_json::from_str(text.as_str()).unwrap());
            }
        }
    }

    /// Deals with whatever comes that is no answer.
    async fn take(&mut self, message: Value) -> Result<(), Broken> {
        if message["method"] == "item/approval/request" {
            let id = &message["id"];
            return self
                .write(json!({ "jsonrpc": "2.0", "id": id, "result": { "decision": "accept" } }))
                .await;
        }
        self.known.learn(&message);
        Ok(())
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value, Broken> {
        self.next_id += 1;
        let id = self.next_id;
        self.write(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await?;
        loop {
            let message = self.read().await?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
            self.take(message).await?;
        }
    }

    /// Does what is left to do. Returns when all of it is done.
    async fn work(&mut self) -> Result<(), Broken> {
        let hello = json!({
            "clientInfo": { "name": "chaos", "version": "1" },
            "capabilities": { "eventCursors": true, "toolExecutionLifecycle": true },
        });
        self.call("initialize", hello).await?;
        self.write(json!({ "jsonrpc": "2.0", "method": "initialized" }))
            .await?;
        let start = json!({ "identity": { "channelName": "chaos" }, "clientRequestId": "thread" });
        let started = self.call("thread/start", start).await?;
        let Some(thread) = started["result"]["thread"]["id"].as_str().map(str::to_owned) else {
            return Err(Broken);
        };
        let first = self.known.thread.get_or_insert_with(|| thread.clone());
        assert_eq!(*first, thread, "two threads for one request");
        let subscribe = json!({ "threadId": thread, "afterSeq": self.known.seq });
        let answer = self.call("thread/subscribe", subscribe).await?;
        if answer["result"]["mode"] == "snapshot" {
            let read = json!({ "threadId": thread, "includeTurns": true });
            let read = self.call("thread/read", read).await?;
            self.known.replace(&read["result"]);
        }
        for prompt in 0..PROMPTS {
            self.prompt(&thread, prompt).await?;
        }
        Ok(())
    }

    async fn prompt(&mut self, thread: &str, prompt: usize) -> Result<(), Broken> {
        let input = json!([{ "type": "text", "text": format!("run `echo {prompt} >> done.txt`") }]);
        let start = json!({ "threadId": thread, "input": input, "clientRequestId": format!("p{prompt}") });
        let answer = self.call("turn/start", start).await?;
        let Some(turn) = answer["result"]["turn"]["id"].as_str().map(str::to_owned) else {
            return Err(Broken);
        };
        let first = self.known.turns.entry(prompt).or_insert_with(|| turn.clone());
        assert_eq!(*first, turn, "two turns for one prompt");
        while !self.known.ended.contains_key(&turn) {
            let message = self.read().await?;
            self.take(message).await?;
        }
        Ok(())
    }
}

async fn connect(server: &Process) -> Option<Socket> {
    let address = server.address().await;
    let connected = tokio_tungstenite::connect_async(address).await;
    connected.ok().map(|(socket, _)| socket)
}

async fn round(seed: u64) {
    let mut random = Random(seed);
    let workspace = Workspace::new();
    let mut server = workspace.web_socket();
    let mut known = Knowledge::default();
    let (mut connections, mut kills) = (0, 0);
    loop {
        connections += 1;
        assert!(
            connections < MOST_CONNECTIONS,
            "seed {seed}: it does not come to an end"
        );
        let Some(socket) = connect(&server).await else {
            continue;
        };
        let mut line = Line {
            socket,
            next_id: 0,
            known: &mut known,
        };
        // Ever longer, so that every round ends.
        let patience = Duration::from_micros(random.below(6000) * (connections as u64).div_ceil(4) + 2000);
        if let Ok(Ok(())) = tokio::time::timeout(patience, line.work()).await {
            break;
        }
        drop(line);
        if random.below(3) == 0 {
            server.kill().await;
            kills += 1;
            server = workspace.web_socket();
        }
    }
    let mut socket = None;
    while socket.is_none() {
        socket = connect(&server).await;
    }
    let mut late = Knowledge::default();
    let mut line = Line {
        socket: socket.unwrap(),
        next_id: 0,
        known: &mut late,
    };
    let hello = json!({ "clientInfo": { "name": "late", "version": "1" }, "capabilities": { "toolExecutionLifecycle": true } });
    assert!(line.call("initialize", hello).await.is_ok(), "seed {seed}");
    assert!(
        line.write(json!({ "jsonrpc": "2.0", "method": "initialized" }))
            .await
            .is_ok()
    );
    let read = json!({ "threadId": known.thread, "includeTurns": true });
    let Ok(read) = line.call("thread/read", read).await else {
        panic!("seed {seed}: it cannot be read");
    };
    let told = format!(
        "seed {seed}, {connections} connections, {kills} kills, {} snapshots",
        known.snapshots
    );
    println!("{told}");
    let (items, ended) = picture(&read["result"]);
    assert_eq!(known.ended, ended, "{told}");
    assert_eq!(known.items, items, "{told}");
    assert_eq!(ended.len(), PROMPTS, "{told}");
    // Interrupted, a command may have run or not; never twice.
    let done = std::fs::read_to_string(workspace.path().join("done.txt")).unwrap_or_default();
    for prompt in 0..PROMPTS {
        let times = done.lines().filter(|line| *line == prompt.to_string()).count();
        assert!(times <= 1, "{told}: prompt {prompt} ran {times} times");
    }
}

#[tokio::test]
async fn whatever_breaks_the_client_ends_with_what_the_store_has() {
    let rounds = from_outside("BOBBIN_CHAOS_ROUNDS").unwrap_or(ROUNDS);
    // A row of zeros would never leave zero.
    let first = from_outside("BOBBIN_CHAOS_SEED").unwrap_or(1).max(1);
    for seed in (first..).take(usize::try_from(rounds).unwrap()) {
        round(seed).await;
    }
}

/// A number that whoever starts the tests may give.
#[expect(
    clippy::disallowed_methods,
    reason = "how long to go on, and from where, is said from outside"
)]
fn from_outside(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {value}")),
    )
}
