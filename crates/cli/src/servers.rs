//! `bobbin ps` and `bobbin stop`: the servers of this user.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_server::exit::Failure;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{attach, console, state, telemetry};
use bobbin_workspace::{State, Workspace};
use clap::Args;
use serde_json::{Value, json};

use crate::call::{ask_through, asking, call};
use crate::threads::of_every_channel;

/// Threads of a workspace that are looked at for Turns.
const MAX_THREADS: usize = 100;

/// Arguments of `bobbin ps`.
#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Print JSON, a server a line.
    #[arg(long)]
    json: bool,
}

/// Arguments of `bobbin stop`.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    workspace: Option<PathBuf>,
    /// End all servers of this user.
    #[arg(long)]
    all: bool,
}

/// Lists the servers.
pub(crate) async fn ps(ps: Ps) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let servers = running()?;
    if servers.is_empty() && !ps.json {
        console::note("no server runs; `bobbin` starts one");
    }
    for (workspace, server) in servers {
        let counts = counts(&workspace).await;
        if ps.json {
            console::data(&json!({
                "workspace": workspace.root,
                "name": workspace.name(),
                "pid": server.pid,
                "version": server.version,
                "startedAt": server.started_at,
                "address": server.address,
                "detached": server.detached,
                "clients": counts.as_ref().map(|counts| counts.clients),
                "runningTurns": counts.as_ref().map(|counts| counts.running),
                "openQuestions": counts.as_ref().map(|counts| counts.waiting),
            }));
            continue;
        }
        let address = server.address.as_deref().unwrap_or("no port");
        let counts = counts.map_or_else(
            || "it does not answer".to_owned(),
            |counts| {
                format!(
                    "{}, {}, {}",
                    plural(counts.clients, "client"),
                    plural(counts.running, "running turn"),
                    plural(counts.waiting, "open question"),
                )
            },
        );
        let (pid, root) = (server.pid, workspace.root.display());
        console::say(&format!("{pid:>7}  {root}  {address}  {counts}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends one server, or all.
pub(crate) async fn stop(stop: Stop) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let servers = if stop.all {
        running()?
    } else {
        let workspace = state::workspace(stop.workspace.as_deref())?;
        let Some(server) = workspace.holder() else {
            bail!("no server runs in {}", workspace.root.display());
        };
        vec![(workspace, server)]
    };
    for (workspace, server) in servers {
        bobbin_local::end(&workspace, server.pid)
            .await
            .map_err(Failure::from)?;
        let root = workspace.root.display();
        console::say(&format!("stopped the server of {root} (process {})", server.pid));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the servers of this user.
fn running() -> anyhow::Result<Vec<(Workspace, State)>> {
    let directory = state::directory()?;
    let mut found = Vec::new();
    for (root, _) in directory.workspaces()? {
        let workspace = Workspace::at(&root, state::directory()?)?;
        if let Some(server) = workspace.holder() {
            found.push((workspace, server));
        }
    }
    Ok(found)
}

/// The clients and the work of a server.
struct Counts {
    clients: u64,
    running: u64,
    waiting: u64,
}

/// Asks a server, if it answers.
async fn counts(workspace: &Workspace) -> Option<Counts> {
    let joined = attach::running(workspace).await.ok()?;
    let root = workspace.root.to_string_lossy().into_owned();
    let counts = ask_through(joined.transport, asking("bobbin-ps"), async |client| {
        let stats: Value = call(client, "server/stats", &json!({})).await?;
        let mut params = of_every_channel(client, &root).await?;
        params["includeSubAgents"] = true.into();
        params["limit"] = MAX_THREADS.into();
        let listed: Value = call(client, "thread/list", &params).await?;
        let threads = listed["data"].as_array().cloned().unwrap_or_default();
        let count = |members: &[&str]| {
            let is_so = |thread: &&Value| members.iter().any(|member| thread["runtime"][member] == true);
            threads.iter().filter(is_so).count() as u64
        };
        let clients = stats["connections"].as_u64().unwrap_or_default();
        anyhow::Ok(Counts {
            // This question is one of them.
            clients: clients.saturating_sub(1),
            running: count(&["running"]),
            waiting: count(&["waitingOnApproval", "waitingOnInput"]),
        })
    });
    match counts.await {
        Ok(counts) => Some(counts),
        Err(error) => {
            tracing::debug!(%error, "a server does not answer");
            None
        }
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
