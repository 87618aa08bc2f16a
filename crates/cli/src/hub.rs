//! `bobbin hub`, and what a server does that a Hub has started.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use bobbin_children::Environment;
use bobbin_config::Config;
use bobbin_hub::{Hub, Launch, LockContent, Remote, Settings, Started};
use clap::{Args, Subcommand};

use bobbin_server::environment::children;
use bobbin_server::managed::own_variables;
use bobbin_server::signals::Signals;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::token::TokenOptions;
use bobbin_server::{config, console, state, telemetry};

/// Arguments of `bobbin hub`.
#[derive(Debug, Args)]
pub(crate) struct HubCommand {
    #[command(subcommand)]
    action: Option<Action>,
    /// The port, 0 for a free one; the configuration's Hub.Port when left out.
    #[arg(long)]
    port: Option<u16>,
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
    let home = state::home().context("there is no HOME to have a Hub in")?;
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
            let servers = hub.servers().await?;
            if servers.is_empty() {
                console::say("The Hub knows no workspace yet.");
            }
            for server in servers {
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
    let mut address = match config::read(home, Some(home)) {
        Ok(config) => config.listener.hub_address()?,
        Err(error) => {
            // Clients start the Hub, and read from it why their servers do not start.
            console::complain(&format!("{error:#}"));
            Config::default().listener.hub_address()?
        }
    };
    if let Some(port) = command.port {
        address.set_port(port);
    }
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
        address,
        launch,
        children: children(),
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
