//! Starting the binary in a temporary workspace and speaking to it.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Says that a test ends early, since this machine lacks something.
///
/// # Panics
/// On a machine of continuous integration, where that is a failure.
#[expect(clippy::disallowed_methods, reason = "tests are told by CI where they run")]
pub(crate) fn not_tested(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "not tested: {why}");
    println!("!! not tested: {why}");
}

/// How long a process may take to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Where `app-server` listens that is the server itself, with a client on its stdio.
pub(crate) const ALONE: &str = "ws+stdio://127.0.0.1:0";

/// Capabilities of a client that shows everything.
pub(crate) fn rich() -> Value {
    json!({ "approvalSupport": true, "commandExecutionStreaming": true, "toolExecutionLifecycle": true })
}

/// A workspace with a state directory, both gone when dropped. It is also the home of its user.
pub(crate) struct Workspace {
    folder: TempDir,
    state: TempDir,
}

impl Workspace {
    /// Runs git in the workspace and returns what it prints.
    #[expect(clippy::disallowed_methods, reason = "the machine's own tool")]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let names = ["-c", "user.name=Mika", "-c", "user.email=mika@example.org"];
        let run = std::process::Command::new("git")
            .args(names)
            .args(args)
            .current_dir(self.path())
            .output();
        let run = run.unwrap();
        assert!(run.status.success(), "git {args:?}: {run:?}");
        String::from_utf8(run.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            state: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns one in memory if the machine has room there: many thousand files are made and removed in no time.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let room = nix::sys::statvfs::statvfs(memory);
        if room.is_ok_and(|room| room.fragment_size() * room.blocks_available() > 2 << 30) {
            let directory = || tempfile::tempdir_in(memory).unwrap();
            return Self {
                folder: directory(),
                state: directory(),
            };
        }
        Self::new()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The state directory.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// The folder of this workspace in the state directory.
    pub(crate) fn state_folder(&self) -> PathBuf {
        state_folder(self.state(), self.path())
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.state_folder().join("bobbin.db")
    }

    /// Leaves bubblewrap out, so that process ids of commands are those that the test sees.
    pub(crate) fn without_bubblewrap(&self) {
        self.configure(&json!({ "Sandbox": { "Bubblewrap": "off" } }));
    }

    /// Writes the configuration, which here is the user's own.
    pub(crate) fn configure(&self, value: &Value) {
        let craft = self.path().join(".craft");
        std::fs::create_dir_all(&craft).unwrap();
        std::fs::write(craft.join("config.json"), value.to_string()).unwrap();
    }

    /// Returns a workspace in which persons are asked, too.
    pub(crate) fn asking() -> Self {
        let workspace = Self::new();
        workspace.configure(&serde_json::json!({ "Permissions": { "DefaultApprovalPolicy": "default" } }));
        workspace
    }

    /// Prepares to run `bobbin` here, with a home of its own and nothing else of the machine's.
    #[expect(clippy::disallowed_methods, reason = "the test starts the binary it tests")]
    pub(crate) fn bobbin(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bobbin"));
        command
            .args(args)
            .current_dir(self.path())
            .env("HOME", self.path())
            .env_remove("XDG_STATE_HOME")
            .env("BOBBIN_STATE", self.state())
            .env_remove("BOBBIN_LOG")
            .env_remove("BOBBIN_MODEL")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .env_remove("OPENROUTER_API_KEY")
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
        self.with_stdio(&["app-server", "--listen", ALONE])
    }

    pub(crate) fn with_stdio(&self, args: &[&str]) -> (Process, Link) {
        let mut command = self.bobbin(args);
        command.stderr(Stdio::inherit());
        self.spawn_stdio(command)
    }

    /// As [`stdio`](Self::stdio), with everything logged and nobody there to read it.
    pub(crate) fn with_deaf_stderr(&self) -> (Process, Link) {
        let mut command = self.bobbin(&["app-server", "--listen", ALONE]);
        command.env("BOBBIN_LOG", "trace");
        let (mut process, link) = self.spawn_stdio(command);
        drop(process.child.stderr.take());
        (process, link)
    }

    /// Starts the server as a child on stdio, of a user whose state directory is that of another workspace.
    pub(crate) fn stdio_with_state_of(&self, other: &Self) -> (Process, Link) {
        let mut command = self.bobbin(&["app-server", "--listen", ALONE]);
        command
            .env("BOBBIN_STATE", other.state())
            .stderr(Stdio::inherit());
        self.spawn_stdio(command)
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

    /// Starts the server of a user with another home.
    pub(crate) fn web_socket_with_home(&self, home: &Path) -> Process {
        let mut command = self.bobbin(&["app-server", "--listen", "ws://127.0.0.1:0"]);
        command.env("HOME", home).stdout(Stdio::null());
        Process {
            child: command.stderr(Stdio::inherit()).spawn().unwrap(),
            state: self.state_file(),
        }
    }

    /// Starts the server by a program that becomes it.
    #[expect(clippy::disallowed_methods, reason = "the test starts the binary it tests")]
    pub(crate) fn web_socket_through(&self, program: &[&str]) -> Process {
        let server = self.bobbin(&["app-server", "--listen", "ws://127.0.0.1:0"]);
        let server = server.as_std();
        let mut command = Command::new(program[0]);
        command
            .args(&program[1..])
            .arg(server.get_program())
            .args(server.get_args())
            .current_dir(self.path())
            .env("HOME", self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Process {
            child: command.spawn().unwrap(),
            state: self.state_file(),
        }
    }

    /// Where it is said at which step a server dies that [`Workspace::web_socket_armed`] starts.
    pub(crate) fn kill_at(&self) -> PathBuf {
        self.path().join("kill-at")
    }

    /// Starts the server so that it can be told at which step to die.
    pub(crate) fn web_socket_armed(&self) -> Process {
        let mut command = self.bobbin(&["app-server", "--listen", "ws://127.0.0.1:0"]);
        command.env("BOBBIN_KILL_AT", self.kill_at());
        Process {
            child: command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
            state: self.state_file(),
        }
    }

    /// Starts the server as a child on stdio, so that it can be told at which step to die.
    pub(crate) fn stdio_armed(&self) -> (Process, ChildStdout, ChildStdin) {
        let mut command = self.bobbin(&["app-server", "--listen", ALONE]);
        command.env("BOBBIN_KILL_AT", self.kill_at());
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let state = self.state_file();
        (Process { child, state }, reader, writer)
    }

    fn state_file(&self) -> PathBuf {
        self.state_folder().join("bobbin.json")
    }
}

/// A running server.
pub(crate) struct Process {
    child: Child,
    state: PathBuf,
}

impl Process {
    /// Returns the server that a test has started by itself, with the file in which it says where it listens.
    pub(crate) fn of(child: Child, state: PathBuf) -> Self {
        Self { child, state }
    }

    /// Returns the address it listens on, once it does, with the token that a client of its user presents.
    pub(crate) async fn address(&self) -> String {
        self.address_by(&self.state).await
    }

    /// The same, with its state's folder seen from elsewhere.
    pub(crate) async fn address_in(&self, folder: &Path) -> String {
        self.address_by(&folder.join("bobbin.json")).await
    }

    async fn address_by(&self, path: &Path) -> String {
        let pid = self.child.id().unwrap();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let state = std::fs::read_to_string(path).unwrap_or_default();
            let state: Value = serde_json::from_str(&state).unwrap_or_default();
            if state["pid"] == pid
                && let Some(address) = state["address"].as_str()
            {
                return with_token(address, path);
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "the server does not listen"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the address it listens on, once it does, or `None` when it ended before.
    pub(crate) async fn listening(&mut self) -> Option<String> {
        while self.child.try_wait().unwrap().is_none() {
            let state = std::fs::read_to_string(&self.state).unwrap_or_default();
            let state: Value = serde_json::from_str(&state).unwrap_or_default();
            if state["pid"] == self.child.id().unwrap_or_default()
                && let Some(address) = state["address"].as_str()
            {
                return Some(with_token(address, &self.state));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        None
    }

    /// Ends it as a crash would, and waits until it is gone.
    pub(crate) async fn kill_now(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Asks it to end, without waiting.
    pub(crate) fn end_softly(&self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.pid()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    }

    /// Lets no file of it grow beyond a size, or beyond nothing. Returns whether that was possible.
    #[expect(
        clippy::disallowed_methods,
        reason = "the machine's own tool makes the trouble"
    )]
    pub(crate) fn limit_files(&self, bytes: Option<u64>) -> bool {
        let Some(pid) = self.child.id() else { return false };
        let size = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        std::process::Command::new("prlimit")
            .args([format!("--pid={pid}"), format!("--fsize={size}:unlimited")])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Returns everything it complains of until it ends; only of one started by another program.
    pub(crate) async fn complaint(&mut self) -> String {
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        tokio::io::AsyncReadExt::read_to_string(&mut stderr, &mut text)
            .await
            .unwrap();
        text
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
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
        self.end_softly();
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

/// Returns the folder of a workspace in a state directory, as the server names it.
pub(crate) fn state_folder(state: &Path, workspace: &Path) -> PathBuf {
    use sha2::Digest as _;
    let root = workspace.canonicalize().unwrap();
    let name = root.file_name().unwrap().to_str().unwrap();
    let name: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' })
        .collect();
    let digest = sha2::Sha256::digest(root.to_str().unwrap());
    let digest = u64::from_be_bytes(digest[..8].try_into().unwrap());
    state.join("workspaces").join(format!("{name}-{digest:016x}"))
}

/// Returns an address with the token of the state directory that a server's state file is in, if one was made there.
fn with_token(address: &str, state: &Path) -> String {
    let tokens = state.ancestors().map(|directory| directory.join("token"));
    let token = tokens
        .into_iter()
        .find_map(|path| std::fs::read_to_string(path).ok());
    token.map_or_else(
        || address.to_owned(),
        |token| format!("{address}?token={}", token.trim()),
    )
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
