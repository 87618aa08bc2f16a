//! Starting the binary in a temporary workspace and speaking to it.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// How long a process may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Capabilities of a client that shows everything.
pub(crate) fn rich() -> Value {
    json!({ "approvalSupport": true, "commandExecutionStreaming": true, "toolExecutionLifecycle": true })
}

/// A workspace that is gone when dropped.
pub(crate) struct Workspace(TempDir);

impl Workspace {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Prepares to run `bobbin` here, with a home of its own and nothing else of the machine's.
    #[expect(clippy::disallowed_methods, reason = "the test starts the binary it tests")]
    pub(crate) fn bobbin(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bobbin"));
        command
            .args(args)
            .current_dir(self.path())
            .env("HOME", self.path())
            .env_remove("BOBBIN_LOG")
            .env_remove("BOBBIN_MODEL")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> std::process::Output {
        tokio::time::timeout(PATIENCE, self.bobbin(args).output())
            .await
            .unwrap()
            .unwrap()
    }

    /// Starts the server as a child on stdio.
    pub(crate) fn stdio(&self) -> (Process, Link) {
        self.with_stdio(&["app-server"])
    }

    pub(crate) fn with_stdio(&self, args: &[&str]) -> (Process, Link) {
        let mut command = self.bobbin(args);
        command.stderr(Stdio::inherit());
        self.spawn_stdio(command)
    }

    /// As [`stdio`](Self::stdio), with everything logged and nobody there to read it.
    pub(crate) fn with_deaf_stderr(&self) -> (Process, Link) {
        let mut command = self.bobbin(&["app-server"]);
        command.env("BOBBIN_LOG", "trace");
        let (mut process, link) = self.spawn_stdio(command);
        drop(process.child.stderr.take());
        (process, link)
    }

    fn spawn_stdio(&self, mut command: Command) -> (Process, Link) {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
        (
            Process {
                child,
                state: self.state_file(),
            },
            link,
        )
    }

    /// Starts the server on a free port.
    pub(crate) fn web_socket(&self) -> Process {
        self.web_socket_with(&[])
    }

    pub(crate) fn web_socket_with(&self, more: &[&str]) -> Process {
        let args = [&["app-server", "--listen", "ws://127.0.0.1:0"], more].concat();
        let child = self
            .bobbin(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Process {
            child,
            state: self.state_file(),
        }
    }

    fn state_file(&self) -> PathBuf {
        self.path().join(".craft/bobbin.json")
    }
}

/// A running server.
pub(crate) struct Process {
    child: Child,
    state: PathBuf,
}

impl Process {
    /// Returns the address it listens on, once it does.
    pub(crate) async fn address(&self) -> String {
        let pid = self.child.id().unwrap();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let state = std::fs::read_to_string(&self.state).unwrap_or_default();
            let state: Value = serde_json::from_str(&state).unwrap_or_default();
            if state["pid"] == pid
                && let Some(address) = state["address"].as_str()
            {
                return address.to_owned();
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "the server does not listen"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Connects another client.
    pub(crate) async fn client(&self, name: &str) -> Client {
        self.client_with(name, rich()).await
    }

    pub(crate) async fn client_with(&self, name: &str, capabilities: Value) -> Client {
        Client::ready(Link::web_socket(&self.address().await).await, name, capabilities).await
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Ends it as a crash would.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Ends it as a service manager would, and returns how it ended.
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.pid()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        self.exit().await
    }

    /// Waits for its end.
    pub(crate) async fn exit(&mut self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("the server ends")
            .unwrap()
    }
}

/// Returns the methods of notifications, in order.
pub(crate) fn methods(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| message["method"].as_str())
        .collect()
}

/// Returns the final text of the agent's messages of a Turn.
pub(crate) fn agent_text(turn: &Value) -> String {
    let items = turn["items"].as_array().unwrap();
    let texts = items.iter().filter(|item| item["type"] == "agentMessage");
    texts
        .map(|item| item["payload"]["text"].as_str().unwrap())
        .collect()
}
