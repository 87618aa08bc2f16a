//! Input that no good client sends, to the real binary over each of its doors: what is answered is defined,
//! the connection goes on where the protocol says so, and others never notice.

use std::process::Stdio;

use bobbin_framing::{Transport, WebSocketOptions};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::support::{ALONE, Process, Workspace};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Lines,
    WebSocket,
    Headers,
}

enum Wire {
    Pipe(Door, ChildStdin, BufReader<ChildStdout>),
    WebSocket(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
}

/// A server, and one client that has shaken hands and writes what it likes.
struct World {
    wire: Wire,
    pid: u32,
    workspace: Workspace,
    /// Ends the server when dropped.
    _server: Server,
}

#[expect(dead_code, reason = "held to be dropped")]
enum Server {
    Child(Child),
    Listening(Process),
}

impl World {
    async fn open(door: Door) -> Self {
        let workspace = Workspace::new();
        let (wire, server, pid) = match door {
            Door::WebSocket => {
                let process = workspace.web_socket();
                let (socket, _) = tokio_tungstenite::connect_async(process.address().await)
                    .await
                    .unwrap();
                let pid = process.pid();
                (Wire::WebSocket(Box::new(socket)), Server::Listening(process), pid)
            }
            Door::Lines | Door::Headers => {
                let command: &[&str] = match door {
                    Door::Lines => &["app-server", "--listen", ALONE],
                    _ => &["eca"],
                };
                let mut child = workspace
                    .bobbin(command)
                    .stdin(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
                let pid = child.id().unwrap();
                (
                    Wire::Pipe(door, input, BufReader::new(output)),
                    Server::Child(child),
                    pid,
                )
            }
        };
        let mut world = Self {
            wire,
            pid,
            _server: server,
            workspace,
        };
        let hello = if door == Door::Headers {
            let uri = format!("file://{}", world.workspace.path().display());
            json!({
                "processId": null, "clientInfo": { "name": "odd" }, "capabilities": {},
                "workspaceFolders": [{ "uri": uri, "name": "tea" }],
            })
        } else {
            json!({ "clientInfo": { "name": "odd", "version": "1" } })
        };
        let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello });
        world.send(hello.to_string().as_bytes()).await;
        while !world.recv().await.expect("an answer").contains(r#""id":"hello""#) {}
        world
            .send(br#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#)
            .await;
        world
    }

    /// Writes bytes that stand for themselves, with no framing around them.
    async fn write(&mut self, bytes: &[u8]) {
        match &mut self.wire {
            Wire::Pipe(_, input, _) => input.write_all(bytes).await.unwrap(),
            Wire::WebSocket(_) => panic!("a WebSocket has no bytes between messages"),
        }
    }

    /// Writes one message, framed.
    async fn send(&mut self, body: &[u8]) {
        match &mut self.wire {
            Wire::Pipe(Door::Lines, input, _) => {
                input.write_all(body).await.unwrap();
                input.write_all(b"\n").await.unwrap();
            }
            Wire::Pipe(_, input, _) => {
                let head = format!("Content-Length: {}\r\n\r\n", body.len());
                input.write_all(head.as_bytes()).await.unwrap();
                input.write_all(body).await.unwrap();
            }
            Wire::WebSocket(socket) => {
                let frame = Frame::message(Bytes::copy_from_slice(body), OpCode::Data(Data::Text), true);
                socket.send(Message::Frame(frame)).await.unwrap();
            }
        }
    }

    /// Reads one message; `None` at the end, with the code of a WebSocket's close in `closed`.
    async fn recv(&mut self) -> Option<String> {
        let read = async {
            match &mut self.wire {
                Wire::Pipe(Door::Lines, _, output) => {
                    let mut line = String::new();
                    (output.read_line(&mut line).await.unwrap() > 0).then_some(line)
                }
                Wire::Pipe(_, _, output) => {
                    let mut length = 0;
                    loop {
                        let mut line = String::new();
                        if output.read_line(&mut line).await.unwrap() == 0 {
                            return None;
                        }
                        if let Some(digits) = line.strip_prefix("Content-Length: ") {
                            length = digits.trim().parse().unwrap();
                        } else if line == "\r\n" {
                            break;
                        }
                    }
                    let mut body = vec![0; length];
                    output.read_exact(&mut body).await.unwrap();
                    Some(String::from_utf8(body).unwrap())
                }
                Wire::WebSocket(socket) => loop {
                    match socket.next().await? {
                        Ok(Message::Text(text)) => return Some(text.to_string()),
                        Ok(Message::Close(frame)) => {
                            return Some(format!("closed {}", u16::from(frame.unwrap().code)));
                        }
                        Ok(_) => {}
                        Err(_) => return None,
                    }
                },
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), read)
            .await
            .expect("it comes in time")
    }

    /// Everything but notifications that the server sends until it has answered a probe sent now.
    async fn answers(&mut self) -> Vec<String> {
        self.send(br#"{"jsonrpc":"2.0","id":"probe","method":"probe/it"}"#)
            .await;
        let mut answers = Vec::new();
        loop {
            let text = self.recv().await.expect("the connection lives");
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == "probe" {
                assert_eq!(message["error"]["code"], -32601, "{message}");
                return answers;
            }
            if message.is_array() || message.get("method").is_none() {
                answers.push(text);
            }
        }
    }

    /// The most memory the server has held so far, in kB.
    fn peak(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Ids as they stand in the answers, with the code of each error.
    async fn told(&mut self) -> Vec<(String, i64)> {
        let answers = self.answers().await;
        let told = answers.iter().map(|text| {
            let message: Value = serde_json::from_str(text).unwrap();
            let id = text.split_once(r#""id":"#).unwrap().1;
            let id = id.split([',', '}']).next().unwrap().to_owned();
            (id, message["error"]["code"].as_i64().unwrap_or(0))
        });
        told.collect()
    }
}

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nothing/here"}}"#)
}

#[rstest]
#[tokio::test]
async fn unusual_ids_are_answered_digit_for_digit_and_kind_for_kind(
    #[values(Door::Lines, Door::WebSocket, Door::Headers)] door: Door,
) {
    let mut world = World::open(door).await;
    let ids = [
        "1",
        "\"1\"",
        "1.50",
        "12345678901234567890123",
        "-0",
        "\"\"",
        "1e3",
    ];
    for id in ids {
        world.send(request(id).as_bytes()).await;
    }
    let mut told = world.told().await;
    let mut want: Vec<_> = ids.map(|id| (id.to_owned(), -32601)).into();
    told.sort();
    want.sort();
    assert_eq!(told, want);
    for id in ["true", "[]", "{}"] {
        world.send(request(id).as_bytes()).await;
        assert_eq!(world.told().await, [("null".to_owned(), -32600)], "{id}");
    }
}

#[rstest]
#[tokio::test]
async fn shapes_that_are_no_request_are_answered_and_survived(
    #[values(Door::Lines, Door::WebSocket, Door::Headers)] door: Door,
) {
    let mut world = World::open(door).await;
    let invalid = ("null".to_owned(), -32600);
    for shape in ["1", "null", "\"x\"", "[]"] {
        world.send(shape.as_bytes()).await;
        assert_eq!(world.told().await, std::slice::from_ref(&invalid), "{shape}");
    }
    for silent in [r#"{"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","id":99,"result":1}"#] {
        world.send(silent.as_bytes()).await;
        assert_eq!(world.told().await, [], "{silent}");
    }
    let batch = format!("[{},{}]", request("1"), request("2"));
    world.send(batch.as_bytes()).await;
    if door == Door::Headers {
        let answers = world.answers().await;
        let both: Value = serde_json::from_str(&answers[0]).unwrap();
        assert_eq!((answers.len(), both.as_array().map(Vec::len)), (1, Some(2)));
    } else {
        // The native protocol has no batches (01 §2): one is refused as a whole.
        assert_eq!(world.told().await, [invalid]);
    }
}

#[rstest]
#[tokio::test]
async fn text_that_is_not_json_is_a_parse_error_however_deep_or_broken(
    #[values(Door::Lines, Door::WebSocket, Door::Headers)] door: Door,
) {
    let mut world = World::open(door).await;
    let parse_error = ("null".to_owned(), -32700);
    for text in ["not json".to_owned(), "[".repeat(10_000), "[".repeat(1_000_000)] {
        world.send(text.as_bytes()).await;
        assert_eq!(world.told().await, std::slice::from_ref(&parse_error));
    }
    world.send(b"{\"a\":\"\xff\"}").await;
    if door == Door::WebSocket {
        // A text frame that is not UTF-8 breaks the WebSocket itself (RFC 6455 section 8.1).
        assert_eq!(world.recv().await.unwrap(), "closed 1007");
    } else {
        assert_eq!(world.told().await, [parse_error]);
    }
}

#[rstest]
#[tokio::test]
async fn a_body_of_100_megabytes_costs_no_memory(
    #[values(Door::Lines, Door::WebSocket, Door::Headers)] door: Door,
) {
    let mut world = World::open(door).await;
    let before = world.peak();
    let piece = vec![b'x'; 1 << 20];
    match &mut world.wire {
        Wire::WebSocket(socket) => {
            let (mut sink, mut stream) = socket.split();
            let writing = async {
                for number in 0..100 {
                    let code = if number == 0 { Data::Text } else { Data::Continue };
                    let frame = Frame::message(piece.clone(), OpCode::Data(code), number == 99);
                    // Closed before all of it is written.
                    if sink.send(Message::Frame(frame)).await.is_err() {
                        return;
                    }
                }
            };
            let reading = async {
                loop {
                    match stream.next().await {
                        Some(Ok(Message::Close(Some(frame)))) => return u16::from(frame.code),
                        Some(Ok(_)) => {}
                        end => panic!("no close frame: {end:?}"),
                    }
                }
            };
            let both = async { tokio::join!(reading, writing).0 };
            let code = tokio::time::timeout(crate::support::PATIENCE, both)
                .await
                .unwrap();
            assert_eq!(code, 1009);
        }
        Wire::Pipe(..) => {
            if door == Door::Headers {
                world.write(b"Content-Length: 104857600\r\n\r\n").await;
            }
            for _ in 0..100 {
                world.write(&piece).await;
            }
            if door == Door::Lines {
                world.write(b"\n").await;
            }
            assert_eq!(world.told().await, [("null".to_owned(), -32600)]);
        }
    }
    let more = world.peak() - before;
    assert!(more < 30_000, "{more} kB");
}

#[rstest]
#[tokio::test]
async fn an_array_of_a_million_elements_costs_little_more_than_its_text(
    #[values(Door::Lines, Door::WebSocket, Door::Headers)] door: Door,
) {
    let mut world = World::open(door).await;
    let elements = if door == Door::WebSocket {
        1_900_000
    } else {
        7_500_000
    };
    let array = format!("[{}0]", "0,".repeat(elements));
    let before = world.peak();
    world.send(array.as_bytes()).await;
    assert_eq!(world.told().await, [("null".to_owned(), -32600)]);
    let (more, text) = (world.peak() - before, array.len() / 1024);
    // Its buffer grows by doubling.
    assert!(more < 4 * text, "{more} kB for {text} kB");
}

/// A named pipe that holds up whoever reads it.
struct Gate(std::path::PathBuf);

impl Gate {
    fn new(path: std::path::PathBuf) -> Self {
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self(path)
    }

    /// Lets everyone go who waits now.
    fn open(&self) {
        use std::os::unix::fs::OpenOptionsExt;
        // Fails while nobody waits, which is as good.
        let _waiting = std::fs::OpenOptions::new()
            .write(true)
            .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
            .open(&self.0);
    }
}

/// A request that takes as long as its gate is shut: the test of a tool server that says nothing.
fn slow(world: &World) -> (Gate, &'static str, Value) {
    let gate = Gate::new(world.workspace.path().join("gate"));
    let server = json!({
        "name": "mute", "transport": "stdio", "command": "cat", "args": [gate.0.display().to_string()],
    });
    (gate, "mcp/test", json!({ "server": server }))
}

#[rstest]
#[tokio::test]
async fn slow_requests_run_side_by_side_and_1_is_not_the_text_1(
    #[values(Door::Lines, Door::WebSocket)] door: Door,
) {
    let mut world = World::open(door).await;
    let (gate, method, params) = slow(&world);
    let ids = ["1", "\"1\"", "3"];
    for id in ids {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        world.send(request.as_bytes()).await;
    }
    // They hold up nobody, and the ids that are taken are taken.
    assert_eq!(world.told().await, []);
    world.send(request("1").as_bytes()).await;
    assert_eq!(world.told().await, [("1".to_owned(), -32600)]);
    let mut told = Vec::new();
    while told.len() < ids.len() {
        gate.open();
        told.extend(world.told().await);
    }
    told.sort();
    let mut want = ids.map(|id| (id.to_owned(), 0));
    want.sort();
    assert_eq!(told, want);
}

#[tokio::test]
async fn a_batch_is_answered_as_a_whole() {
    let mut world = World::open(Door::Headers).await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "chat/queryFiles", "params": { "chatId": "c", "query": "tea" } },
        { "jsonrpc": "2.0", "method": "nothing/to/answer" },
        { "jsonrpc": "2.0", "id": "1", "method": "nothing/here" },
        7,
    ]);
    world.send(batch.to_string().as_bytes()).await;
    let mut answers = world.answers().await;
    while answers.is_empty() {
        answers = world.answers().await;
    }
    let answer: Value = serde_json::from_str(&answers[0]).unwrap();
    let told: Vec<_> = answer.as_array().unwrap().iter().collect();
    assert_eq!((answers.len(), told.len()), (1, 3));
    assert_eq!(
        (&told[0]["id"], told[0]["result"]["chatId"].as_str()),
        (&json!(1), Some("c"))
    );
    assert_eq!(
        (&told[1]["id"], &told[1]["error"]["code"]),
        (&json!("1"), &json!(-32601))
    );
    assert_eq!(
        (&told[2]["id"], &told[2]["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
}

#[rstest]
#[case::lower_case("content-length: 41\r\n\r\n")]
#[case::third(
    "X-One: 1\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 41\r\n\r\n"
)]
#[case::line_feeds("Content-Length:41\n\n")]
#[case::after_log_text("starting, please wait\r\nContent-Length: 41\r\n\r\n")]
#[case::after_a_bad_block("Content-Length: -5\r\n\r\nContent-Length: 41\r\n\r\n")]
#[tokio::test]
async fn header_blocks_of_every_taste_are_read(#[case] head: &str) {
    let mut world = World::open(Door::Headers).await;
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"no/it"}"#;
    assert_eq!(body.len(), 41);
    world.write(head.as_bytes()).await;
    world.write(body.as_bytes()).await;
    let told = world.told().await;
    assert_eq!(told.last(), Some(&("7".to_owned(), -32601)), "{told:?}");
}

#[tokio::test]
async fn a_client_that_never_reads_is_not_noticed_by_another() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut busy = server.client("busy").await;
    let thread = busy.start_thread().await;
    // It subscribes, and from then on reads nothing at all.
    let (socket, _) = tokio_tungstenite::connect_async(server.address().await)
        .await
        .unwrap();
    let options = WebSocketOptions {
        keep_alive: None,
        ..WebSocketOptions::default()
    };
    let mut stalled = Transport::websocket(socket, options);
    let hello = json!({ "clientInfo": { "name": "stalled", "version": "1" } });
    for text in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "thread/subscribe", "params": { "threadId": thread } }),
    ] {
        stalled.send(text.to_string().into()).await.unwrap();
    }
    for _ in 0..30 {
        busy.start_turn(&thread, "list files").await;
        busy.wait_for("turn/completed").await;
    }
    busy.finish().await;
}
