//! Connects a user's programs to the server of a workspace, and starts it if none runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use bobbin_config::Config;
use bobbin_editor_kit::{EditorOptions, OpenRequest};
use bobbin_framing::Transport;
use bobbin_local::{
    CONTROL_LEAVE, CONTROL_LISTEN, Dialect, Hello, JoinError, Joined, Launch, LaunchError, Leave, Left,
    ListenRequest, Opened, connect, join,
};
use bobbin_model::ClientKeys;
use bobbin_models::settings::{KeyPlace, ModelSettings};
use bobbin_peer::{CallError, Handlers, Peer, PeerOptions};
use bobbin_workspace::Workspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::exit::{self, Failure};
use crate::managed;
use crate::models::variable;
use crate::telemetry::LogOptions;

/// Time that a server runs on after its last editor or desktop has left, so that a reopened window finds it.
pub const IDLE: Duration = Duration::from_secs(10);
/// The command of a server that is started for its clients.
pub const DETACHED: &str = "detached";
/// The log of such a server, in the workspace's state.
const LOG: &str = "server.log";
/// Longest wait for the server's decision whether it ends.
const LEAVING: Duration = Duration::from_secs(5);

/// Longest key that is sent to a server, in bytes; keys of today have less than 300.
const MAX_KEY_BYTES: usize = 2 << 10;
/// Most keys that are sent to a server.
const MAX_KEYS: usize = 16;

/// The line that a started server reads from stdin.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Start {
    /// Providers from the options of the editor that starts it.
    pub providers: Map<String, Value>,
    /// MCP servers from these options.
    pub mcp_servers: Map<String, Value>,
}

impl From<EditorOptions> for Start {
    fn from(options: EditorOptions) -> Self {
        Self {
            providers: options.providers,
            mcp_servers: options.mcp_servers,
        }
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        let code = match &error {
            JoinError::Workspace(error) if error.is_busy() => exit::BUSY,
            JoinError::Launch(LaunchError::Refused { code, .. }) => *code,
            _ => exit::FAILED,
        };
        let message = match &error {
            JoinError::Workspace(error) => format!("{:#}", anyhow::Error::msg(error.to_string())),
            other => other.to_string(),
        };
        Self { code, message }
    }
}

/// Returns the command that starts the server of a workspace for its clients.
///
/// # Errors
/// The program's own path is unknown, or the state's folder cannot be created.
pub fn launch(
    workspace: &Workspace,
    idle: Duration,
    log: &LogOptions,
    start: &Start,
) -> anyhow::Result<Launch> {
    let folder = workspace.make_folder()?;
    let arguments: [OsString; 7] = [
        DETACHED.into(),
        "--state".into(),
        workspace.state_directory().path().into(),
        "--workspace".into(),
        workspace.root.clone().into(),
        "--idle-ms".into(),
        idle.as_millis().to_string().into(),
    ];
    Ok(Launch {
        program: std::env::current_exe().context("the program's own path is not known")?,
        arguments: arguments.into_iter().chain(log.arguments()).collect(),
        without: managed::variables_of_this_process(),
        directory: workspace.root.clone(),
        // With an explicit level and no idle time, as for one prompt, the log goes to this terminal.
        log: (log.log.is_none() || !idle.is_zero()).then(|| folder.join(LOG)),
        input: serde_json::to_string(start)?,
    })
}

/// Returns the keys of model providers from the environment, for the variables that a configuration names.
pub fn keys(models: &ModelSettings) -> ClientKeys {
    let named = models
        .providers
        .iter()
        .filter_map(|provider| match &provider.key {
            KeyPlace::Variable(name) | KeyPlace::VariableOr(name, _) => Some(name),
            _ => None,
        });
    let set = named.filter_map(|name| Some((name.clone(), variable(name)?)));
    let set = set.filter(|(_, key)| key.len() <= MAX_KEY_BYTES).take(MAX_KEYS);
    ClientKeys::from(set.collect::<BTreeMap<_, _>>())
}

/// As [`keys`], for the configuration of a workspace; empty if it cannot be read, which its server reports.
pub fn keys_of(workspace: &Workspace) -> ClientKeys {
    match crate::config::read(&workspace.root, crate::state::home().as_deref()) {
        Ok(config) => keys(&config.models),
        Err(error) => {
            tracing::warn!("the server gets no keys of this process: {error:#}");
            ClientKeys::default()
        }
    }
}

/// Joins the server of a workspace as a native client, and starts it if none runs.
///
/// # Errors
/// A [`Failure`] with its exit code.
pub async fn native(
    workspace: &Workspace,
    idle: Duration,
    log: &LogOptions,
    keys: ClientKeys,
    ends_turns: bool,
) -> anyhow::Result<Joined> {
    let launch = launch(workspace, idle, log, &Start::default())?;
    let hello = Hello {
        ends_turns,
        keys,
        ..Hello::new(Dialect::Native, &workspace.root)
    };
    Ok(join(workspace, &hello, Some(&launch))
        .await
        .map_err(Failure::from)?)
}

/// Joins the server of the workspace that an editor names, and starts it if none runs.
///
/// # Errors
/// The folder does not exist; else a [`Failure`] with its exit code.
pub async fn editor(wanted: OpenRequest, log: &LogOptions) -> anyhow::Result<Transport> {
    let workspace = crate::state::workspace(wanted.root.as_deref())?;
    let launch = launch(&workspace, IDLE, log, &Start::from(wanted.options))?;
    let hello = Hello {
        keys: keys_of(&workspace),
        ..Hello::new(Dialect::Eca, &workspace.root)
    };
    let joined = join(&workspace, &hello, Some(&launch)).await;
    Ok(joined.map_err(Failure::from)?.transport)
}

/// Joins the server of a workspace for a Codex client, and starts it if none runs.
///
/// # Errors
/// A [`Failure`] with its exit code.
pub async fn codex(workspace: &Workspace, log: &LogOptions) -> anyhow::Result<Transport> {
    let launch = launch(workspace, IDLE, log, &Start::default())?;
    let hello = Hello {
        keys: keys_of(workspace),
        ..Hello::new(Dialect::Codex, &workspace.root)
    };
    let joined = join(workspace, &hello, Some(&launch)).await;
    Ok(joined.map_err(Failure::from)?.transport)
}

/// Joins servers for a client of the Agent Client Protocol. The workspace of a session is its directory itself.
pub struct AcpServers {
    log: LogOptions,
}

impl AcpServers {
    /// Servers that are started log as `log` says.
    pub fn new(log: LogOptions) -> Self {
        Self { log }
    }
}

impl bobbin_acp::router::Connect for AcpServers {
    fn connect(&self, folder: PathBuf) -> BoxFuture<'static, Result<Transport, String>> {
        let log = self.log.clone();
        async move {
            let joined = acp(&folder, &log).await;
            joined.map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }

    fn knows(&self, folder: &Path) -> bool {
        let workspace = crate::state::workspace(Some(folder));
        workspace.is_ok_and(|workspace| workspace.database().exists() || workspace.has_id())
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

async fn acp(folder: &Path, log: &LogOptions) -> anyhow::Result<Transport> {
    let workspace = crate::state::workspace(Some(folder))?;
    let launch = launch(&workspace, IDLE, log, &Start::default())?;
    let hello = Hello {
        keys: keys_of(&workspace),
        ..Hello::new(Dialect::Acp, &workspace.root)
    };
    let joined = join(&workspace, &hello, Some(&launch)).await;
    Ok(joined.map_err(Failure::from)?.transport)
}

/// Joins the server of a workspace as a native client, if one runs.
///
/// # Errors
/// A [`Failure`] with its exit code.
pub async fn running(workspace: &Workspace) -> anyhow::Result<Joined> {
    let hello = Hello::new(Dialect::Native, &workspace.root);
    Ok(join(workspace, &hello, None).await.map_err(Failure::from)?)
}

/// Leaves the server of a workspace. A server that was started for its clients has ended on return if it has no
/// client left.
///
/// # Errors
/// The server does not end in time.
pub async fn leave(workspace: &Workspace) -> anyhow::Result<()> {
    let Some(server) = workspace.holder().filter(|server| server.detached) else {
        return Ok(());
    };
    // A server that does not answer is already ending, since it notices by itself that nothing uses it.
    if ask_to_leave(workspace).await.is_none_or(|left| left.ends) {
        bobbin_local::ended(workspace, server.pid)
            .await
            .map_err(Failure::from)?;
    }
    Ok(())
}

/// Returns the server's answer; `None` if it gives none.
async fn ask_to_leave(workspace: &Workspace) -> Option<Left> {
    let hello = Hello::new(Dialect::Control, &workspace.root);
    // A server without clients may have closed its socket; another one must not be awaited.
    let transport = connect(workspace, &hello).await.ok()?;
    let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).ok()?;
    let params = Leave {
        pid: std::process::id(),
    };
    peer.call_with_timeout(CONTROL_LEAVE, &params, LEAVING).await.ok()
}

/// A listener that another server opened for this process. Dropping the value closes it.
pub struct Borrowed {
    /// The addresses for its user.
    pub opened: Opened,
    /// The server's process.
    pub pid: u32,
    peer: Peer,
}

impl Borrowed {
    /// Asks the running server of the workspace to open its listener.
    ///
    /// # Errors
    /// No server runs, or it already listens or cannot listen there.
    pub async fn open(workspace: &Workspace, wanted: &ListenRequest) -> anyhow::Result<Self> {
        let hello = Hello::new(Dialect::Control, &workspace.root);
        let joined = join(workspace, &hello, None).await.map_err(Failure::from)?;
        let pid = workspace.holder().map_or(0, |server| server.pid);
        let peer = Peer::start(joined.transport, PeerOptions::default(), |_| Handlers::new())?;
        match peer.call(CONTROL_LISTEN, wanted).await {
            Ok(opened) => Ok(Self { opened, pid, peer }),
            Err(CallError::Remote(error)) => anyhow::bail!("{}", error.message),
            Err(error) => Err(error).context("the server of this folder gave no answer"),
        }
    }

    /// Closes the listener and waits until its clients are disconnected.
    pub async fn close(self) {
        self.peer.shutdown().await;
    }

    /// Waits until the server has ended.
    pub async fn closed(&self) {
        self.peer.closed().await;
    }
}

/// Reads the configuration with the options of the editor that starts the server.
///
/// # Errors
/// A file cannot be read or used.
pub fn configuration(workspace: &Workspace, start: &Start) -> anyhow::Result<Config> {
    let mut config = crate::config::read(&workspace.root, crate::state::home().as_deref())?;
    if !(start.providers.is_empty() && start.mcp_servers.is_empty())
        && let Err(error) = config.add_editors(&start.providers, &start.mcp_servers)
    {
        // An editor with a wrong option still works.
        let text = format!("the editor's options are not used: {error:#}");
        config.warnings.push(text);
    }
    Ok(config)
}
