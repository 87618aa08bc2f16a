//! An extension that a test drives: a process that carries bytes between its standard streams and a socket.
//!
//! It shares no code with the host. It ignores the end of its standard input, as published extensions do.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;
use tokio::time::timeout;

use crate::support::PATIENCE;

/// Instructions of a test to the process.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Do {
    Print = b'o',
    PrintError = b'e',
    Flood = b'f',
    CloseOutput = b'c',
    Exit = b'x',
}

/// The process.
pub(crate) fn run() {
    // The environment names the test's socket.
    let variables: Vec<String> = std::env::vars()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let socket = std::env::vars()
        .find(|(name, _)| name == "FAKE_SOCKET")
        .unwrap()
        .1;
    let mut socket = UnixStream::connect(socket).unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    let about =
        json!({ "variables": variables, "arguments": arguments, "pid": std::process::id() }).to_string();
    socket
        .write_all(&u32::try_from(about.len()).unwrap().to_le_bytes())
        .unwrap();
    socket.write_all(about.as_bytes()).unwrap();
    let mut input = socket.try_clone().unwrap();
    std::thread::spawn(move || std::io::copy(&mut std::io::stdin(), &mut input));
    let mut head = [0; 5];
    while socket.read_exact(&mut head).is_ok() {
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize];
        socket.read_exact(&mut body).unwrap();
        match head[0] {
            b'o' => {
                std::io::stdout().write_all(&body).unwrap();
                std::io::stdout().flush().unwrap();
            }
            b'e' => std::io::stderr().write_all(&body).unwrap(),
            b'f' => {
                let line = [&[b'x'; 99][..], b"\n"].concat().repeat(10_000);
                for _ in 0..100 {
                    std::io::stderr().write_all(&line).unwrap();
                }
            }
            b'c' => close_output(),
            _ => std::process::exit(i32::from(body[0])),
        }
    }
    std::process::exit(0);
}

fn close_output() {
    let null = std::fs::File::create("/dev/null").unwrap();
    nix::unistd::dup2_stdout(&null).unwrap();
}

/// The socket that a fake extension connects to.
pub(crate) struct Socket(UnixListener);

impl Socket {
    pub(crate) fn new(path: &std::path::Path) -> Self {
        Self(UnixListener::bind(path).unwrap())
    }

    /// Returns the next process that was started for this entry.
    pub(crate) async fn started(&self) -> Fake {
        let (mut stream, _) = timeout(PATIENCE, self.0.accept()).await.unwrap().unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).await.unwrap();
        let mut about = vec![0; u32::from_le_bytes(length) as usize];
        stream.read_exact(&mut about).await.unwrap();
        let about = serde_json::from_slice(&about).unwrap();
        Fake {
            stream,
            about,
            raw: Vec::new(),
            at: 0,
        }
    }

    /// Whether no process has connected.
    pub(crate) async fn is_quiet(&self) -> bool {
        timeout(Duration::from_millis(1), self.0.accept()).await.is_err()
    }
}

/// A fake extension that a test controls.
pub(crate) struct Fake {
    stream: tokio::net::UnixStream,
    pub(crate) about: Value,
    /// Everything that the host has written to it.
    pub(crate) raw: Vec<u8>,
    at: usize,
}

impl Fake {
    async fn act(&mut self, act: Do, body: &[u8]) {
        let mut bytes = vec![act as u8];
        bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
        bytes.extend(body);
        // The process may have been killed.
        drop(self.stream.write_all(&bytes).await);
    }

    /// Writes bytes to its standard output.
    pub(crate) async fn print(&mut self, bytes: impl AsRef<[u8]>) {
        self.act(Do::Print, bytes.as_ref()).await;
    }

    /// Writes to its standard error.
    pub(crate) async fn print_error(&mut self, text: &str) {
        self.act(Do::PrintError, text.as_bytes()).await;
    }

    /// Writes 100 MB of lines to its standard error.
    pub(crate) async fn flood(&mut self) {
        self.act(Do::Flood, &[]).await;
    }

    pub(crate) async fn close_output(&mut self) {
        self.act(Do::CloseOutput, &[]).await;
    }

    pub(crate) async fn exit(&mut self, code: u8) {
        self.act(Do::Exit, &[code]).await;
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: Value) {
        let body = message.to_string();
        self.print(frame(&body)).await;
    }

    pub(crate) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
            .await;
    }

    /// Sends a request and returns its answer, which has to be the next message.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.request(77, method, params).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], 77, "{answer}");
        answer
    }

    /// As [`Fake::ask`], for the result.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// As [`Fake::ask`], for the code of the error.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).await["error"]["code"].clone()
    }

    /// Answers `initialize`.
    pub(crate) async fn greet(&mut self, result: Value) {
        let initialize = self.receive().await;
        assert_eq!(initialize["method"], "initialize");
        self.answer(&initialize, result).await;
    }

    /// Returns the next message.
    pub(crate) async fn receive(&mut self) -> Value {
        let next = timeout(PATIENCE, self.next()).await.expect("no message came");
        next.expect("the process has ended")
    }

    /// Returns the next message, which has to be of this method.
    pub(crate) async fn receive_method(&mut self, method: &str) -> Value {
        let message = self.receive().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Waits until the process has ended.
    pub(crate) async fn ended(&mut self) {
        timeout(PATIENCE, async { while self.next().await.is_some() {} })
            .await
            .expect("the process runs");
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            let rest = &self.raw[self.at..];
            if let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = std::str::from_utf8(&rest[..end]).unwrap();
                let length: usize = head.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
                if let Some(body) = rest.get(end + 4..end + 4 + length) {
                    let message = serde_json::from_slice(body).unwrap();
                    self.at += end + 4 + length;
                    return Some(message);
                }
            }
            if self.stream.read_buf(&mut self.raw).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }
}

pub(crate) fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}
