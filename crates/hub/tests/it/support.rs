//! A Hub in this process, and requests to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_children::{Children, Environment};
use bobbin_hub::{Hub, Launch, LockContent, Settings, Started};
use bobbin_workspace::StateDirectory;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct TestHub {
    home: TempDir,
    pub(crate) lock: LockContent,
    running: JoinHandle<()>,
    stop: CancellationToken,
}

fn settings(home: &Path, files: &Path) -> Settings {
    let mut environment = Environment::empty();
    environment.set("KETTLE_STATE", home.join("state"));
    let arguments = ["kettle_server", "--exact", "--ignored", "--nocapture"];
    let launch = Launch {
        program: std::env::current_exe().unwrap().into(),
        arguments: arguments.map(Into::into).into(),
        environment,
        token: Box::new(|| Ok(Some("tea & milk".to_owned()))),
    };
    Settings {
        directory: files.join("hub"),
        address: ([127, 0, 0, 1], 0).into(),
        launch,
        children: Children::new(None),
        state: StateDirectory::at(&home.join("state")),
    }
}

impl TestHub {
    pub(crate) async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    pub(crate) async fn start_in(home: TempDir) -> Self {
        let started = Hub::start(settings(home.path(), home.path())).await.unwrap();
        Self::run(home, started)
    }

    /// Starts a Hub with other files and the same state.
    pub(crate) async fn stranger(&self) -> Self {
        let home = tempfile::tempdir().unwrap();
        let started = Hub::start(settings(self.home.path(), home.path())).await.unwrap();
        Self::run(home, started)
    }

    fn run(home: TempDir, started: Started) -> Self {
        let Started::Running(hub) = started else {
            panic!("another Hub is there");
        };
        let stop = hub.stop();
        let lock = LockContent::read(&home.path().join("hub")).unwrap();
        assert_eq!(lock.api_base_url, hub.address());
        let running = tokio::spawn(hub.run());
        Self {
            home,
            lock,
            running,
            stop,
        }
    }

    /// Tries to become the Hub beside this one.
    pub(crate) async fn start_another(&self) -> Started {
        let settings = settings(self.home.path(), self.home.path());
        Hub::start(settings).await.unwrap()
    }

    /// Makes a workspace.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        let root = self.home.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(root.join(".craft")).unwrap();
        root
    }

    /// Sends a request as existing clients do: with its writing side closed behind it.
    pub(crate) async fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect().await;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        let read = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
        read.unwrap().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.authority()).await.unwrap()
    }

    pub(crate) fn authority(&self) -> &str {
        self.lock.api_base_url.strip_prefix("http://").unwrap()
    }

    pub(crate) fn headers(&self) -> String {
        let (authority, token) = (self.authority(), &self.lock.token);
        format!("Host: {authority}\r\nAuthorization: Bearer {token}\r\n")
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (status, body) = self.raw(method, path, &self.headers(), &body.to_string()).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    pub(crate) async fn post(&self, what: &str, root: &Path) -> (u16, Value) {
        let path = format!("/v1/appservers/{what}");
        self.ask("POST", &path, &json!({ "workspacePath": root })).await
    }

    /// Subscribes to events.
    pub(crate) async fn events(&self) -> Events {
        let mut stream = self.connect().await;
        let request = format!("GET /v1/events HTTP/1.1\r\n{}\r\n", self.headers());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut events = Events(BufReader::new(stream).lines());
        while events.line().await != ": connected" {}
        events
    }

    /// Ends the Hub and returns its home.
    pub(crate) async fn end(self) -> TempDir {
        self.stop.cancel();
        timeout(PATIENCE, self.running).await.unwrap().unwrap();
        self.home
    }
}

pub(crate) struct Events(Lines<BufReader<TcpStream>>);

impl Events {
    async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.0.next_line()).await.unwrap();
        line.unwrap().expect("the stream goes on")
    }

    /// Returns the next event of this kind.
    pub(crate) async fn next(&mut self, kind: &str) -> Value {
        loop {
            let line = self.line().await;
            let Some(data) = line.strip_prefix("data: ") else {
                continue;
            };
            let data: Value = serde_json::from_str(data).unwrap();
            if data["kind"] == kind {
                return data;
            }
        }
    }
}
