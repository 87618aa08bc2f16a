//! A server that is started for its clients, and the program on stdio that passes messages to it.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use bobbin_editor_kit::bridge;
use bobbin_local::{Ready, Report};
use bobbin_server::attach::{self, IDLE, Start};
use bobbin_server::exit::{self, Failure};
use bobbin_server::server::{self, Endpoints};
use bobbin_server::signals::Signals;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, state, telemetry};
use bobbin_workspace::Workspace;
use clap::Args;

use crate::eca::joined;

/// Longest line with which a server is started.
const MAX_START_BYTES: u64 = 4 << 20;

/// Arguments of `bobbin detached`.
#[derive(Debug, Args)]
pub(crate) struct Detached {
    /// The workspace.
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// How long it goes on when nothing uses it.
    #[arg(long, value_name = "MS")]
    idle_ms: u64,
    #[command(flatten)]
    log: LogOptions,
}

/// Serves until nothing uses the server. Says on stdout whether it is ready, and nothing else.
pub(crate) async fn run(detached: Detached) -> anyhow::Result<ExitCode> {
    let mut has_reported = false;
    let ended = serve(detached, &mut has_reported).await;
    if let (Err(error), false) = (&ended, has_reported) {
        let failure = error.downcast_ref::<Failure>();
        let busy = exit::is_busy(error);
        let otherwise = if busy { exit::BUSY } else { exit::FAILED };
        say(&Report::Failed {
            code: failure.map_or(otherwise, |failure| failure.code),
            busy,
            message: format!("{error:#}"),
        });
    }
    ended
}

async fn serve(detached: Detached, has_reported: &mut bool) -> anyhow::Result<ExitCode> {
    // A Ctrl-C at the terminal of the program that starts us is none for us.
    let _ = nix::unistd::setsid();
    telemetry::start(&detached.log, "warn")?;
    let mut text = String::new();
    std::io::stdin()
        .take(MAX_START_BYTES)
        .read_to_string(&mut text)
        .context("the start cannot be read")?;
    let start: Start = serde_json::from_str(&text).context("the start cannot be read")?;
    let workspace = state::workspace(Some(&detached.workspace))?;
    let config = attach::configuration(&workspace, &start)?;
    let locked = workspace.hold().await?;
    let endpoints = Endpoints {
        idle: Some(Duration::from_millis(detached.idle_ms)),
        ..Endpoints::default()
    };
    server::run(locked, &config, endpoints, |greeting| {
        if let Some(waiting) = greeting.waiting {
            console::complain(waiting);
        }
        *has_reported = true;
        say(&Report::Ready(Ready {
            warnings: greeting.warnings,
        }));
    })
    .await
}

/// Writes the one line to stdout, and gives stdout up.
fn say(report: &Report) {
    let text = serde_json::to_string(report).unwrap_or_default();
    let mut stdout = std::io::stdout();
    // The program that started this one may have ended.
    drop(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
    if let Ok(nothing) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdout(nothing);
    }
}

/// Passes messages between stdio and the server of a workspace, which it starts where there is none.
pub(crate) async fn bridge(workspace: &Workspace, log: &LogOptions) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let editor = bobbin_transport::stdio()?;
    let reached = attach::native(workspace, IDLE, log, attach::keys_of(workspace), false).await?;
    for warning in reached.started.iter().flat_map(|ready| &ready.warnings) {
        console::complain(warning);
    }
    let both = bridge::Joined {
        editor,
        first: None,
        parent: None,
        server: reached.transport,
    };
    joined(bridge::run(both, signals.next()).await)
}
