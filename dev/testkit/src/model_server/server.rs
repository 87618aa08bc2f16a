//! The listening server: one task accepts and owns a task for each connection; all end when it is dropped.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::check;
use super::http::{self, Request};
use super::prompt;
use super::script::{ErrorPart, Reply, Script, Usage};
use super::wire::{Step, Wire};

/// Requests that are remembered.
const MAX_REMEMBERED: usize = 1000;
/// Most bytes of their bodies; the newest request is always remembered.
const MAX_REMEMBERED_BYTES: usize = 32 << 20;
/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server. Ends when dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Value,
}

impl Asked {
    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

struct Shared {
    script: Script,
    asked: Mutex<Remembered>,
    /// How many entries of the script were said.
    said: AtomicUsize,
    progress: watch::Sender<Progress>,
}

impl Shared {
    /// Returns what the script says to a request, if it says anything.
    fn reply(&self, asked: &Value) -> Option<Reply> {
        let offers_tools = asked["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        if let Some(aside) = self.script.aside.as_ref().filter(|_| !offers_tools) {
            return Some(aside.clone());
        }
        let next = self.said.fetch_add(1, Ordering::Relaxed);
        let replies = &self.script.replies;
        replies.get(next).or(replies.last()).cloned()
    }
}

/// Requests for a reply, the newest last. Their bodies are read by who looks at them.
#[derive(Debug, Default)]
struct Remembered {
    requests: VecDeque<Request>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// Requests for a reply.
    asked: usize,
    /// Replies whose client closed the connection before their end.
    abandoned: usize,
}

impl ModelServer {
    /// Starts on a free port of this machine.
    ///
    /// # Errors
    /// There is none.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), script).await
    }

    /// Starts on an address.
    ///
    /// # Errors
    /// It cannot be listened on.
    pub async fn start_at(address: SocketAddr, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            asked: Mutex::default(),
            said: AtomicUsize::default(),
            progress: watch::Sender::default(),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Returns what a client is configured with.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests for a reply so far; the last 1,000, or 32 MiB of them.
    pub fn asked(&self) -> Vec<Asked> {
        let read = |request: &Request| Asked {
            path: request.path.clone(),
            headers: request.headers.clone(),
            body: body(request),
        };
        self.shared.asked.lock().requests.iter().map(read).collect()
    }

    /// Returns how many requests for a reply have come.
    pub fn asked_count(&self) -> usize {
        self.shared.progress.borrow().asked
    }

    /// Waits until this many requests have come.
    ///
    /// # Panics
    /// They do not come.
    pub async fn until_asked(&self, count: usize) {
        self.until("asked", |progress| progress.asked >= count).await;
    }

    /// Waits until the clients of this many replies have closed their connection before the end.
    ///
    /// # Panics
    /// They do not.
    pub async fn until_abandoned(&self, count: usize) {
        self.until("left", |progress| progress.abandoned >= count).await;
    }

    async fn until(&self, what: &str, wanted: impl FnMut(&Progress) -> bool) {
        let mut progress = self.shared.progress.subscribe();
        let waited = tokio::time::timeout(PATIENCE, progress.wait_for(wanted)).await;
        assert!(waited.is_ok(), "the model server was not {what} in time");
    }

    /// Runs until the task is ended from outside.
    pub async fn run(mut self) {
        // Its end is ours.
        drop((&mut self.accepting).await);
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((socket, _)) = accepted {
                let shared = shared.clone();
                connections.spawn(async move {
                    // A client that breaks a connection is no news here; those that wait for it ask for it.
                    drop(serve(socket, &shared).await);
                });
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let (reader, writer) = socket.into_split();
    let (mut reader, mut writer) = (BufReader::new(reader), BufWriter::new(writer));
    while let Some(request) = http::read(&mut reader).await? {
        let none = std::iter::empty();
        if request.method == "GET"
            && request
                .path
                .split('?')
                .next()
                .is_some_and(|path| path.ends_with("/models"))
        {
            let (status, body) = match refused(&request, &shared.script) {
                Some(body) => (401, body),
                None => (200, models(&shared.script).to_string()),
            };
            http::answer(&mut writer, status, none, &body).await?;
            continue;
        }
        let Some(wire) = Wire::of_path(&request.path) else {
            http::answer(
                &mut writer,
                404,
                none,
                "{\"error\":{\"message\":\"no such path\"}}",
            )
            .await?;
            continue;
        };
        let (asked, size) = (body(&request), request.body.len());
        let refused = refused(&request, &shared.script);
        let number = shared.note(request);
        if let Some(body) = refused {
            http::answer(&mut writer, 401, none, &body).await?;
            continue;
        }
        if let Err(message) = check::check(wire, &asked) {
            let kind = "invalid_request_error".to_owned();
            let body = wire.error(&ErrorPart { kind, message });
            http::answer(&mut writer, 400, none, &body).await?;
            continue;
        }
        let mut reply = shared
            .reply(&asked)
            .unwrap_or_else(|| prompt::reply(&asked, size, number));
        if shared.script.counts {
            let input = u64::try_from(size / 4).unwrap_or(u64::MAX);
            reply.usage.get_or_insert(Usage {
                input,
                output: 100,
                ..Usage::default()
            });
        }
        if let Some(status) = reply.status.filter(|status| *status != 200) {
            let body = reply
                .body
                .clone()
                .unwrap_or_else(|| wire.error(&reply.error.clone().unwrap_or_default()));
            http::answer(&mut writer, status, reply.headers.iter(), &body).await?;
            continue;
        }
        if let Some(body) = &reply.body {
            http::answer(&mut writer, 200, reply.headers.iter(), body).await?;
            continue;
        }
        http::begin(&mut writer).await?;
        let whole = {
            let streaming = stream(&mut writer, wire, &reply, &asked["model"]);
            tokio::select! {
                // Nobody sends anything while a reply comes in, but closes the connection.
                () = closed(&mut reader) => None,
                whole = streaming => whole.ok(),
            }
        };
        match whole {
            Some(Whole::Yes) => http::end(&mut writer).await?,
            Some(Whole::Cut) => return writer.flush().await,
            None => {
                shared.progress.send_modify(|progress| progress.abandoned += 1);
                return Ok(());
            }
        }
    }
    Ok(())
}

enum Whole {
    Yes,
    Cut,
}

async fn stream(writer: &mut http::Out, wire: Wire, reply: &Reply, model: &Value) -> io::Result<Whole> {
    let pace = Duration::from_millis(reply.pace_ms);
    // What nobody asked to have in pieces goes out at once.
    let in_pieces = !pace.is_zero() || reply.piece_bytes.is_some();
    for step in wire.steps(reply, model) {
        match step {
            Step::Send(text) => {
                let size = reply.piece_bytes.unwrap_or(usize::MAX).max(1);
                for piece in text.as_bytes().chunks(size) {
                    http::piece(writer, piece).await?;
                    if in_pieces {
                        writer.flush().await?;
                    }
                    if !pace.is_zero() {
                        tokio::time::sleep(pace).await;
                    }
                }
            }
            Step::PauseMs(millis) => {
                writer.flush().await?;
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
            Step::Stall => {
                writer.flush().await?;
                std::future::pending::<()>().await;
            }
            Step::Cut => return Ok(Whole::Cut),
        }
    }
    Ok(Whole::Yes)
}

async fn closed(reader: &mut BufReader<OwnedReadHalf>) {
    let mut bytes = [0; 64];
    while reader.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

/// Reads a request's body; what is no JSON is nothing.
fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

/// Returns what is said to a client without the right key.
fn refused(request: &Request, script: &Script) -> Option<String> {
    let wanted = script.key.as_deref()?;
    let bearer = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let given = request.header("x-api-key").or(bearer);
    if given == Some(wanted) {
        return None;
    }
    let error = ErrorPart {
        kind: "invalid_api_key".to_owned(),
        message: format!("Incorrect API key provided: {}", given.unwrap_or("none")),
    };
    Some(Wire::Chat.error(&error))
}

fn models(script: &Script) -> Value {
    let model =
        |id: &String| json!({ "id": id, "object": "model", "created": 1_700_000_000, "owned_by": "script" });
    json!({ "object": "list", "data": script.models.iter().map(model).collect::<Vec<_>>() })
}

impl Remembered {
    fn push(&mut self, request: Request) {
        self.bytes += request.body.len();
        self.requests.push_back(request);
        while self.requests.len() > MAX_REMEMBERED
            || self.bytes > MAX_REMEMBERED_BYTES && self.requests.len() > 1
        {
            let oldest = self.requests.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.body.len());
        }
    }
}

impl Shared {
    /// Remembers a request and returns its number, from 1.
    fn note(&self, request: Request) -> usize {
        self.asked.lock().push(request);
        let mut number = 0;
        self.progress.send_modify(|progress| {
            progress.asked += 1;
            number = progress.asked;
        });
        number
    }
}
