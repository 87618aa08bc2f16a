//! Starts a server as a child and waits until it is ready; ends it.
//!
//! Ready means: it answers on its stdio and on its WebSocket, and it has the lock of its workspace. A start that fails
//! leaves no process behind.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Children, Environment, Exit, ProcessSpec};
use bobbin_framing::{Limits, Transport};
use bobbin_peer::{Handlers, Peer, PeerOptions};
use bobbin_supervise::{Child, Line, Streams, causes};
use bobbin_workspace::{Workspace, write_small};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::timeout;

use crate::error::HubError;
use crate::managed;
use crate::probe::{initialize, probe};
use crate::runtime::RuntimeTools;

/// How long a start may take (guess: a database that a crash left in the middle is read first).
const READY: Duration = Duration::from_secs(30);
/// How long a server has after the end of its input.
const GRACE: Duration = Duration::from_secs(3);
/// How long a message to it may take to be written.
const WRITE: Duration = Duration::from_secs(1);
/// Most bytes that are stored of a server's standard error.
const MAX_STDERR: usize = 16_384;

/// The file with the port of the last start, in the state of a workspace.
const PORT_FILE: &str = "hub-port";
/// Most bytes of it that are read.
const MAX_PORT_BYTES: u64 = 16;

/// How servers are started.
pub struct Launch {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its variables, beside those of a managed launch.
    pub environment: Environment,
    /// Returns what clients of a server present, read anew for each; `None` where the user wants no token.
    pub token: Box<dyn Fn() -> Result<Option<String>, String> + Send + Sync>,
}

/// The end of what a child has written to its standard error.
#[derive(Clone, Default)]
pub(crate) struct Stderr(Arc<Mutex<String>>);

impl Stderr {
    pub(crate) fn text(&self) -> Option<String> {
        Some(self.0.lock().clone()).filter(|text| !text.is_empty())
    }

    fn push(&self, line: &str) {
        let mut text = self.0.lock();
        text.push_str(line);
        text.push('\n');
        if text.len() > MAX_STDERR {
            let cut = text.ceil_char_boundary(text.len() - MAX_STDERR);
            text.drain(..cut);
        }
    }

    /// Starts a child whose lines are stored here.
    pub(crate) async fn start(
        &self,
        children: &Children,
        spec: ProcessSpec,
    ) -> Result<(Child, Streams), String> {
        let lines_of_child = self.clone();
        let sink = Box::new(move |line: Line<'_>| match line {
            Line::Text(text) => lines_of_child.push(text),
            Line::Lost(lines) => lines_of_child.push(&format!("[{lines} lines are lost]")),
        });
        let started = Child::start_lossy(children, spec, sink).await;
        started.map_err(|error| causes(&error))
    }
}

/// A server that is ready.
pub(crate) struct Server {
    child: Child,
    peer: Peer,
    pub(crate) stderr: Stderr,
    pub(crate) pid: u32,
    /// Its address with its token.
    pub(crate) url: String,
    pub(crate) version: Option<String>,
    workspace: Workspace,
}

/// The port and the token of a server that is to start.
#[derive(Debug, Clone)]
pub(crate) struct LaunchTarget {
    pub(crate) port: u16,
    token: Option<String>,
}

impl LaunchTarget {
    /// Finds a free port: that of the last start if it is one, so that clients which connect again by themselves find the
    /// server.
    pub(crate) fn find(launch: &Launch, workspace: &Workspace) -> Result<Self, HubError> {
        let token = (launch.token)().map_err(HubError::Internal)?;
        let file = workspace.folder().join(PORT_FILE);
        let last = bobbin_files::read_text(&file, MAX_PORT_BYTES).ok();
        let last = last.and_then(|text| text.trim().parse().ok());
        let free =
            |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|bound| bound.local_addr());
        let bound = match last.map(free) {
            Some(Ok(bound)) => Ok(bound),
            Some(Err(_)) | None => free(0),
        };
        let port = bound.map_err(|error| HubError::NoPort(error.to_string()))?.port();
        let made = workspace.state_directory().make_folder(&workspace.root);
        if let Err(error) = made.and_then(|_| write_small(&file, port.to_string().as_bytes())) {
            tracing::warn!(%error, "the next start of this folder's server takes another port");
        }
        Ok(Self { port, token })
    }

    fn address(&self) -> String {
        format!("ws://127.0.0.1:{}/ws", self.port)
    }

    /// Returns the address with the token in it.
    pub(crate) fn url(&self) -> String {
        with_token(&self.address(), self.token.as_deref())
    }
}

/// Returns a server's address as clients open it.
pub(crate) fn with_token(address: &str, token: Option<&str>) -> String {
    match token {
        Some(token) => {
            let token: String = url::form_urlencoded::byte_serialize(token.as_bytes()).collect();
            format!("{address}?token={}", token.replace('+', "%20"))
        }
        None => address.to_owned(),
    }
}

/// Starts a server and waits until it is ready.
///
/// # Errors
/// [`HubError::StartFailed`] and [`HubError::Unhealthy`]. Nothing runs then.
pub(crate) async fn start(
    children: &Children,
    launch: &Launch,
    workspace: &Workspace,
    place: &LaunchTarget,
    hub: (&str, &str),
    proxy: Option<(&str, &str)>,
    tools: &RuntimeTools,
) -> Result<Server, HubError> {
    let mut environment = launch.environment.clone();
    for (name, value) in tools.variables() {
        environment.set(name, value);
    }
    let variables = managed::variables(place.port, place.token.as_deref(), hub, proxy);
    for (name, value) in variables {
        environment.set(name, value);
    }
    let spec = ProcessSpec::new(&launch.program, &workspace.root, environment).args(&launch.arguments);
    let stderr = Stderr::default();
    let failed = |reason: String| HubError::StartFailed {
        reason,
        stderr: stderr.text(),
    };
    let (mut child, Streams { input, output }) = stderr.start(children, spec).await.map_err(failed)?;
    let transport = Transport::lines(output, input, Limits::default());
    let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new());
    let peer = peer.map_err(|error| HubError::Internal(error.to_string()))?;
    let answer = tokio::select! {
        biased;
        () = child.lost() => None,
        answered = timeout(READY, shake_hands(&peer, workspace, place)) => Some(answered),
    };
    let reason = match answer {
        Some(Ok(Ok((pid, version)))) => {
            return Ok(Server {
                child,
                peer,
                stderr,
                pid,
                url: place.url(),
                version,
                workspace: workspace.clone(),
            });
        }
        Some(Ok(Err(reason))) => Ok(reason),
        Some(Err(_)) => Err(format!("it is not ready after {READY:?}")),
        None => Ok("it ended".to_owned()),
    };
    drop(timeout(WRITE, peer.shutdown()).await);
    let ended = child.end(GRACE).await;
    let stderr = stderr.text();
    Err(match (reason, ended.exit) {
        (Ok(reason), Some(exit)) => HubError::StartFailed {
            reason: format!("{reason} (exit code {})", code(exit)),
            stderr,
        },
        (Ok(reason), None) => HubError::StartFailed { reason, stderr },
        (Err(reason), _) => HubError::Unhealthy { reason, stderr },
    })
}

async fn shake_hands(
    peer: &Peer,
    workspace: &Workspace,
    place: &LaunchTarget,
) -> Result<(u32, Option<String>), String> {
    let version = initialize(peer, "dotcraft-cli").await?;
    let sent = peer.notify("initialized", json!({})).await;
    sent.map_err(|error| error.to_string())?;
    probe(&place.url()).await?;
    let pid = holder(workspace).await.and_then(|holder| {
        let address = holder.address?;
        (address == place.address()).then_some(holder.pid)
    });
    let pid = pid.ok_or("it does not have the lock of its workspace")?;
    Ok((pid, version))
}

/// Returns who has the lock of a workspace.
pub(crate) async fn holder(workspace: &Workspace) -> Option<bobbin_workspace::State> {
    let workspace = workspace.clone();
    let look = tokio::task::spawn_blocking(move || workspace.holder());
    look.await.ok().flatten()
}

impl Server {
    /// Returns once its process has ended.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn lost(&mut self) {
        self.child.lost().await;
    }

    /// Returns what is wrong with it, if anything is.
    pub(crate) async fn check(&self) -> Result<(), String> {
        if holder(&self.workspace)
            .await
            .is_none_or(|holder| holder.pid != self.pid)
        {
            return Err("it has lost the lock of its workspace".to_owned());
        }
        probe(&self.url).await
    }

    /// Ends it with everything that it started, and returns its exit code.
    pub(crate) async fn end(self) -> Option<i32> {
        // The end of its input.
        drop(timeout(WRITE, self.peer.shutdown()).await);
        drop(self.peer);
        self.child.end(GRACE).await.exit.map(code)
    }
}

/// Returns an exit as a shell shows it.
pub(crate) fn code(exit: Exit) -> i32 {
    match exit {
        Exit::Exited(code) => code,
        Exit::Signaled(signal) => 128 + signal,
        Exit::OverMemory(_) | Exit::TimedOut | Exit::Cancelled => -1,
    }
}

/// Returns whether a path can be a workspace for the Hub's clients: a directory with a directory `.craft`.
pub(crate) fn has_craft(root: &Path) -> bool {
    root.join(".craft").is_dir()
}
