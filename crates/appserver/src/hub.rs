//! `bobbin hub`, and what a server does that a Hub has started.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, bail};
use bobbin_children::Environment;
use bobbin_config::Config;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_hub::{Hub, Launch, LockContent, Managed, Notification, Remote, Settings, Started};
use bobbin_model::ContextWindow;
use clap::{Args, Subcommand};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::listen::{Listen, TlsOptions};
use crate::models::variable;
use crate::server::{self, Endpoints};
use crate::signals::Signals;
use crate::telemetry::LogOptions;
use crate::token::TokenOptions;
use crate::{cli, config, console, state, telemetry};

/// Arguments of `bobbin hub`.
#[derive(Debug, Args)]
pub(crate) struct HubCommand {
    #[command(subcommand)]
    action: Option<Action>,
    /// The port on 127.0.0.1; a free one when left out.
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    log: LogOptions,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the workspaces that the Hub knows.
    List,
    /// End the Hub, and the servers that it has started.
    Stop,
}

/// Does what was asked; without an action, is the Hub until it is ended.
pub(crate) async fn run(command: HubCommand) -> anyhow::Result<ExitCode> {
    let home = cli::home().context("there is no HOME to have a Hub in")?;
    let directory = home.join(".craft/hub");
    match command.action {
        None => serve(&command, &home, directory).await,
        Some(action) => ask(&action, &directory).await,
    }
}

async fn ask(action: &Action, directory: &Path) -> anyhow::Result<ExitCode> {
    let content = LockContent::read(directory).filter(LockContent::process_exists);
    let hub = content.as_ref().map(Remote::new);
    let Some(hub) = hub else {
        bail!("no Hub runs; `bobbin hub` starts one");
    };
    match action {
        Action::List => {
            for server in hub.servers().await? {
                let pid = server
                    .pid
                    .map(|pid| format!("  process {pid}"))
                    .unwrap_or_default();
                let path = server.canonical_workspace_path.display();
                console::say(&format!("{:<10} {path}{pid}", server.state()));
            }
        }
        Action::Stop => {
            hub.shut_down().await?;
            console::say("The Hub ends, and the servers that it has started.");
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(command: &HubCommand, home: &Path, directory: PathBuf) -> anyhow::Result<ExitCode> {
    telemetry::start(&command.log, "warn")?;
    let mut signals = Signals::listen()?;
    leave_the_terminal();
    let state = state::directory()?;
    let home_ = home.to_owned();
    let token = move || {
        let config = config::read(&home_, Some(&home_)).map_err(|error| format!("{error:#}"))?;
        TokenOptions::default()
            .wanted(&config)
            .map_err(|error| format!("{error:#}"))
    };
    let mut environment = Environment::empty();
    // A server is the same program with the same variables.
    for (name, value) in own_variables() {
        environment.set(name, value);
    }
    environment.set("BOBBIN_STATE", state.path());
    let launch = Launch {
        program: std::env::current_exe()
            .context("this program has no path")?
            .into(),
        arguments: vec!["app-server".into(), "--workspace".into(), ".".into()],
        environment,
        token: Box::new(token),
    };
    let settings = Settings {
        directory,
        port: command.port,
        launch,
        children: server::children(),
        state,
    };
    let hub = match Hub::start(settings).await? {
        Started::Running(hub) => hub,
        Started::Already(Some(other)) => {
            console::say(&format!(
                "A Hub runs already: process {} at {}",
                other.pid, other.api_base_url
            ));
            return Ok(ExitCode::SUCCESS);
        }
        Started::Already(None) => {
            console::say("Another Hub is just starting.");
            return Ok(ExitCode::SUCCESS);
        }
    };
    console::say(&format!("The Hub listens at {}", hub.address()));
    let stop = hub.stop();
    let running = hub.run();
    tokio::pin!(running);
    tokio::select! {
        () = &mut running => return Ok(ExitCode::SUCCESS),
        () = signals.next() => stop.cancel(),
    }
    running.await;
    Ok(ExitCode::SUCCESS)
}

/// Leaves the terminal of the client that started this process, if its streams lead elsewhere: the Hub outlives it.
fn leave_the_terminal() {
    use std::io::IsTerminal as _;
    let here = [
        std::io::stdin().is_terminal(),
        std::io::stdout().is_terminal(),
        std::io::stderr().is_terminal(),
    ];
    if !here.contains(&true) {
        // Refused to the leader of a group, which has a group of its own already.
        let _ = nix::unistd::setsid();
    }
}

/// Returns the variables of this process, without what a Hub has said in some of them: that is for this process alone.
pub(crate) fn own_variables() -> Vec<(OsString, OsString)> {
    let variables = std::env::vars_os();
    variables
        .filter(|(name, _)| !bobbin_hub::is_managed_variable(name))
        .collect()
}

/// The Hub that has started this process, if one has.
static HUB: OnceLock<(String, String)> = OnceLock::new();

/// Returns what the Hub says that has started this process.
///
/// # Errors
/// It says something that cannot be.
pub(crate) fn managed() -> anyhow::Result<Option<Managed>> {
    Ok(Managed::from_variables(variable)?)
}

/// Returns the endpoints of a server that a Hub has started, and takes what else the Hub says.
///
/// # Errors
/// The address of the proxy cannot be used.
pub(crate) fn endpoints(managed: Managed, config: &mut Config) -> anyhow::Result<Endpoints> {
    if let Some((address, key)) = &managed.proxy {
        config.set_endpoint(address, key)?;
    }
    if let Some(hub) = managed.hub {
        drop(HUB.set(hub));
    }
    let address: SocketAddr = managed.address;
    Ok(Endpoints {
        stdio: true,
        listen: Some(Listen {
            address,
            token: managed.token,
            may_move: false,
            tls: TlsOptions::default(),
        }),
    })
}

/// Returns the address of the Hub that has started this process.
pub(crate) fn base_url() -> Option<&'static str> {
    HUB.get().map(|(base_url, _)| base_url.as_str())
}

/// Returns an engine that notifies the Hub of the ends of Turns, where a Hub has started this process.
pub(crate) fn notifying(engine: impl Engine, root: &Path) -> Arc<dyn Engine> {
    let engine: Arc<dyn Engine> = Arc::new(engine);
    match HUB.get() {
        Some((base_url, token)) => Arc::new(Notifying {
            engine,
            hub: Arc::new(Remote::at(base_url.clone(), token.clone())),
            workspace: root.to_string_lossy().into_owned(),
        }),
        None => engine,
    }
}

struct Notifying {
    engine: Arc<dyn Engine>,
    hub: Arc<Remote>,
    workspace: String,
}

impl Engine for Notifying {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let (running, hub) = (self.engine.run(turn.clone()), self.hub.clone());
        let workspace_path = self.workspace.clone();
        async move {
            let ended = running.await;
            let header = turn.header();
            let (kind, title, severity) = match &ended {
                Ok(()) => ("turnCompleted", "The turn is done", "success"),
                Err(EngineFailure::Failed(_) | EngineFailure::Stopped { .. }) => {
                    ("turnFailed", "The turn has failed", "error")
                }
                Err(EngineFailure::Gone(_)) => return ended,
            };
            if header.source.sub_agent().is_none() {
                let name = header.display_name.clone();
                let notification = Notification {
                    workspace_path,
                    kind,
                    title: title.to_owned(),
                    body: name.unwrap_or_else(|| "A conversation".to_owned()),
                    severity,
                    source: "appserver",
                };
                // The Turn's end does not wait for it, and a Hub that is gone is no failure.
                tokio::spawn(async move { drop(hub.notify(&notification).await) });
            }
            ended
        }
        .boxed()
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.engine.window(model)
    }
}
