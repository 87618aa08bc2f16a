//! A native client made of plain JSON: what a stranger would write from the protocol's pages.
//!
//! Reads on its own task, so that it never stalls the server by accident; keeps everything it was sent in
//! order. Waiting is bounded, and a wait that fails says what did arrive.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

/// How long a wait for one message may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Messages kept before the reading task waits for the test.
const KEPT: usize = 200_000;

/// One side of a connection, message by message.
pub struct Link {
    outgoing: mpsc::Sender<String>,
    incoming: mpsc::Receiver<Value>,
    tasks: [JoinHandle<()>; 2],
}

impl Link {
    /// Speaks lines over any pair of streams.
    pub fn lines(
        reader: impl AsyncRead + Send + Unpin + 'static,
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (outgoing, mut to_write) = mpsc::channel::<String>(1024);
        let (received, incoming) = mpsc::channel(KEPT);
        let writing = tokio::spawn(async move {
            while let Some(text) = to_write.recv().await {
                if writer.write_all(format!("{text}\n").as_bytes()).await.is_err()
                    || writer.flush().await.is_err()
                {
                    break;
                }
            }
            drop(writer.shutdown().await);
        });
        let reading = tokio::spawn(async move {
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "garbage": line }));
                if received.send(message).await.is_err() {
                    break;
                }
            }
        });
        Self {
            outgoing,
            incoming,
            tasks: [writing, reading],
        }
    }

    /// Speaks header blocks over any pair of streams, as editors do.
    pub fn headers(
        reader: impl AsyncRead + Send + Unpin + 'static,
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (outgoing, mut to_write) = mpsc::channel::<String>(1024);
        let (received, incoming) = mpsc::channel(KEPT);
        let writing = tokio::spawn(async move {
            while let Some(text) = to_write.recv().await {
                // A text that brings its own header is sent as it is.
                let framed = if text.contains("\r\n\r\n") {
                    text
                } else {
                    format!("Content-Length: {}\r\n\r\n{text}", text.len())
                };
                if writer.write_all(framed.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                    break;
                }
            }
            drop(writer.shutdown().await);
        });
        let reading = tokio::spawn(async move {
            let mut reader = BufReader::new(reader);
            while let Some(body) = framed(&mut reader).await {
                let message =
                    serde_json::from_slice(&body).unwrap_or_else(|_| json!({ "garbage": body.len() }));
                if received.send(message).await.is_err() {
                    break;
                }
            }
        });
        Self {
            outgoing,
            incoming,
            tasks: [writing, reading],
        }
    }

    /// Connects to a WebSocket address such as `ws://127.0.0.1:9100/ws`.
    ///
    /// # Panics
    /// There is no server.
    #[expect(clippy::expect_used, reason = "a test without a server cannot go on")]
    pub async fn web_socket(address: &str) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(address)
            .await
            .expect("the server accepts");
        Self::over(socket)
    }

    fn over(
        socket: tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>,
    ) -> Self {
        let (mut sink, mut stream) = socket.split();
        let (outgoing, mut to_write) = mpsc::channel::<String>(1024);
        let (received, incoming) = mpsc::channel(KEPT);
        let writing = tokio::spawn(async move {
            while let Some(text) = to_write.recv().await {
                if sink.send(Message::text(text)).await.is_err() {
                    break;
                }
            }
            drop(sink.close().await);
        });
        let reading = tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                let value = match message {
                    Message::Text(text) => serde_json::from_str(text.as_str())
                        .unwrap_or_else(|_| json!({ "garbage": text.as_str() })),
                    Message::Close(frame) => {
                        let (code, reason) = frame.map_or((1005, String::new()), |frame| {
                            (frame.code.into(), frame.reason.to_string())
                        });
                        json!({ "close": code, "reason": reason })
                    }
                    _ => continue,
                };
                if received.send(value).await.is_err() {
                    break;
                }
            }
        });
        Self {
            outgoing,
            incoming,
            tasks: [writing, reading],
        }
    }
}

/// Reads one message with its header block; `None` at the end or when there is none.
async fn framed(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse::<usize>().ok(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length?];
    reader.read_exact(&mut body).await.ok()?;
    Some(body)
}

impl Drop for Link {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A client with numbered requests and everything it was told.
pub struct Client {
    link: Link,
    next_id: i64,
    /// Messages that arrived and nobody asked for yet, oldest first.
    unread: VecDeque<Value>,
}

impl Client {
    /// Begins to speak over a link, without a handshake.
    pub fn new(link: Link) -> Self {
        Self {
            link,
            next_id: 0,
            unread: VecDeque::new(),
        }
    }

    /// Begins to speak and shakes hands with these capabilities.
    pub async fn ready(link: Link, name: &str, capabilities: Value) -> Self {
        let mut client = Self::new(link);
        let info = json!({ "name": name, "version": "1" });
        client
            .call(
                "initialize",
                json!({ "clientInfo": info, "capabilities": capabilities }),
            )
            .await;
        client.notify("initialized", json!({})).await;
        client
    }

    /// Sends any text.
    pub async fn send_text(&self, text: impl Into<String>) {
        drop(self.link.outgoing.send(text.into()).await);
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) {
        self.send_text(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())
            .await;
    }

    /// Sends a request and returns its id.
    pub async fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_text(request.to_string()).await;
        id
    }

    /// Sends a request and returns its whole answer.
    pub async fn answer_to(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer(id).await
    }

    /// Sends a request and returns its result.
    ///
    /// # Panics
    /// It is answered with an error.
    #[expect(clippy::panic, reason = "the test expected a result")]
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer_to(method, params).await;
        match answer.get("result") {
            Some(result) => result.clone(),
            None => panic!("{method}: {answer}"),
        }
    }

    /// Sends a request and returns its error.
    ///
    /// # Panics
    /// It is answered with a result.
    #[expect(clippy::panic, reason = "the test expected an error")]
    pub async fn error(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer_to(method, params).await;
        match answer.get("error") {
            Some(error) => error.clone(),
            None => panic!("{method}: {answer}"),
        }
    }

    /// Waits for the answer to a request.
    pub async fn answer(&mut self, id: i64) -> Value {
        self.find(&format!("the answer to {id}"), |message| {
            message.get("method").is_none() && message["id"] == id
        })
        .await
    }

    /// Answers a request of the server.
    pub async fn reply(&self, request: &Value, result: Value) {
        self.send_text(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string())
            .await;
    }

    /// Waits for the next message of a method, keeping the others for later.
    pub async fn wait_for(&mut self, method: &str) -> Value {
        self.find(method, |message| message["method"] == method).await
    }

    /// Waits for a message, keeping the others for later.
    ///
    /// # Panics
    /// It does not come in time, or the connection ends.
    #[expect(clippy::panic, reason = "the test expected a message")]
    pub async fn find(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.unread.iter().position(&wanted)
            && let Some(found) = self.unread.remove(index)
        {
            return found;
        }
        loop {
            match tokio::time::timeout(PATIENCE, self.link.incoming.recv()).await {
                Ok(Some(message)) if wanted(&message) => return message,
                Ok(Some(message)) => self.unread.push_back(message),
                Ok(None) => panic!("the connection ended before {what}; unread: {:#?}", self.unread),
                Err(late) => panic!("{what} did not come ({late}); unread: {:#?}", self.unread),
            }
        }
    }

    /// Returns how many messages have arrived and were not asked for.
    pub fn unread(&mut self) -> usize {
        while let Ok(message) = self.link.incoming.try_recv() {
            self.unread.push_back(message);
        }
        self.unread.len()
    }

    /// Returns the next message, whatever it is; `None` when the connection has ended.
    ///
    /// # Panics
    /// Nothing comes in time.
    #[expect(clippy::panic, reason = "the test expected a message")]
    pub async fn next(&mut self) -> Option<Value> {
        if let Some(message) = self.unread.pop_front() {
            return Some(message);
        }
        match tokio::time::timeout(PATIENCE, self.link.incoming.recv()).await {
            Ok(message) => message,
            Err(late) => panic!("no message came: {late}"),
        }
    }

    /// Returns everything up to and including the next message of a method, in order.
    pub async fn until(&mut self, method: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        while let Some(message) = self.next().await {
            let last = message["method"] == method;
            seen.push(message);
            if last {
                break;
            }
        }
        seen
    }

    /// Ends the sending side (end of input for the server) and returns what still came.
    pub async fn finish(mut self) -> Vec<Value> {
        let (closed, _) = mpsc::channel(1);
        self.link.outgoing = closed;
        let mut seen: Vec<Value> = self.unread.drain(..).collect();
        while let Ok(Some(message)) = tokio::time::timeout(PATIENCE, self.link.incoming.recv()).await {
            seen.push(message);
        }
        seen
    }

    /// Starts a Thread and returns its id.
    pub async fn start_thread(&mut self) -> String {
        let identity = json!({ "channelName": "test" });
        let result = self.call("thread/start", json!({ "identity": identity })).await;
        result["thread"]["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Starts a Turn with one text and returns its id.
    pub async fn start_turn(&mut self, thread: &str, text: &str) -> String {
        let input = json!([{ "type": "text", "text": text }]);
        let result = self
            .call("turn/start", json!({ "threadId": thread, "input": input }))
            .await;
        result["turn"]["id"].as_str().unwrap_or_default().to_owned()
    }
}
