//! A home, a workspace and a state directory of an ordinary user, and the server run by that user.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long a process may take to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Whose the server is when the tests run as root.
const ORDINARY_USER: u32 = 1500;

/// Whether commands run in bubblewrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bubblewrap {
    Required,
    Off,
}

impl Bubblewrap {
    /// Returns the ways to try here: both where bubblewrap is installed.
    ///
    /// # Panics
    /// It is not, on a machine of continuous integration.
    #[expect(clippy::disallowed_methods, reason = "tests are told by CI where they run")]
    pub(crate) fn all() -> Vec<Self> {
        if Path::new("/usr/bin/bwrap").exists() {
            return vec![Self::Off, Self::Required];
        }
        assert!(std::env::var_os("CI").is_none(), "bubblewrap is not installed");
        println!("bubblewrap is not installed: tried without it only");
        vec![Self::Off]
    }
}

/// A user's machine, gone when dropped.
pub(crate) struct Lab {
    top: TempDir,
    is_root: bool,
    /// A place that the user has put before the others of the search path.
    pub(crate) path_first: Option<PathBuf>,
}

impl Lab {
    pub(crate) fn new(bubblewrap: Bubblewrap) -> Self {
        // `/tmp` is the commands' own.
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let lab = Self {
            top,
            is_root: nix::unistd::Uid::effective().is_root(),
            path_first: None,
        };
        for directory in [lab.home(), lab.work(), lab.home().join(".craft")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        let name = match bubblewrap {
            Bubblewrap::Required => "require",
            Bubblewrap::Off => "off",
        };
        lab.configure(&json!({ "Sandbox": { "Bubblewrap": name } }));
        lab
    }

    /// The user's home, which is not the workspace.
    pub(crate) fn home(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("home")
    }

    /// The workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("work")
    }

    /// The server's state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".local/state/bobbin")
    }

    /// Merges members into the user's own configuration.
    pub(crate) fn configure(&self, more: &Value) {
        let path = self.home().join(".craft/config.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        let mut config: Value = serde_json::from_str(&text).unwrap();
        let members = more.as_object().unwrap().clone();
        config.as_object_mut().unwrap().extend(members);
        config["Titles"] = json!({ "Enabled": false });
        // Machines of tests have other people or none; a test that needs them says so.
        let shared = &mut config["AppServer"]["WebSocket"]["SharedMachine"];
        if shared.is_null() {
            *shared = json!(false);
        }
        std::fs::write(&path, config.to_string()).unwrap();
    }

    /// Writes a file of the workspace, with the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Gives all of it to the user who runs the server. Called before each start.
    #[expect(clippy::disallowed_methods, reason = "the machine's own tool")]
    pub(crate) fn hand_over(&self) {
        if self.is_root {
            let owner = format!("{ORDINARY_USER}:{ORDINARY_USER}");
            let status = std::process::Command::new("chown")
                .args(["-R", "-h", &owner])
                .args([self.home(), self.work()])
                .status();
            assert!(status.unwrap().success());
        }
    }

    /// Prepares to run a program in the workspace as the ordinary user.
    #[expect(clippy::disallowed_methods, reason = "the test starts what it tests")]
    pub(crate) fn program(&self, program: &Path, args: &[&str]) -> Command {
        self.hand_over();
        let mut command = if self.is_root {
            let mut command = Command::new("setpriv");
            let user = [
                format!("--reuid={ORDINARY_USER}"),
                format!("--regid={ORDINARY_USER}"),
            ];
            command.args(user).args(["--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .args(args)
            .current_dir(self.work())
            .env("HOME", self.home())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("BOBBIN_LOG")
            .env_remove("BOBBIN_MODEL")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .env_remove("OPENROUTER_API_KEY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(first) = &self.path_first {
            command.env("PATH", format!("{}:/usr/bin:/bin", first.display()));
        }
        command
    }

    /// Prepares to run `bobbin` in the workspace as the ordinary user.
    pub(crate) fn bobbin(&self, args: &[&str]) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_bobbin")), args)
    }

    /// Runs `bobbin` to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Output {
        let running = self.bobbin(args).output();
        tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap()
    }

    /// Starts a server on a free port and waits until it says where it listens.
    pub(crate) async fn serve(&self) -> Server {
        self.serve_by(self.bobbin(&["serve", "--listen", "ws://127.0.0.1:0"]))
            .await
    }

    /// Starts a server by a command, and waits until it says where it listens.
    pub(crate) async fn serve_by(&self, mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut address = None;
        let reading = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                let words: Vec<&str> = line.split_whitespace().collect();
                address = words.iter().find_map(|word| {
                    let address = word.split('?').next().unwrap_or_default();
                    address.starts_with("ws://").then(|| address.to_owned())
                });
                if address.is_some() {
                    break;
                }
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.unwrap();
        Server {
            child,
            address: address.expect("the server says where it listens"),
            token: std::fs::read_to_string(self.state().join("token"))
                .ok()
                .map(|token| token.trim().to_owned()),
        }
    }
}

/// A server that listens.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// `ws://HOST:PORT/ws`.
    pub(crate) address: String,
    /// What the state directory says clients present.
    pub(crate) token: Option<String>,
}

impl Server {
    /// Returns the address with the token, as a client of the user has it.
    pub(crate) fn with_token(&self) -> String {
        match &self.token {
            Some(token) => format!("{}?token={token}", self.address),
            None => self.address.clone(),
        }
    }

    /// Connects a client of the user that can answer approvals.
    pub(crate) async fn client(&self) -> Client {
        let capabilities = json!({ "approvalSupport": true, "commandExecutionStreaming": true });
        Client::ready(Link::web_socket(&self.with_token()).await, "lab", capabilities).await
    }

    /// Ends it as a crash would.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}
