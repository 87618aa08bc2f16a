//! `bobbin node`: one address for all workspaces, and `bobbin workspace`: which these are.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_config::Config;
use bobbin_node::{LeaseRow, Member, NodeRow, Settings};
use bobbin_server::attach::{self, IDLE, Start};
use bobbin_server::listen::{Listen, Listening, TlsOptions};
use bobbin_server::telemetry::LogOptions;
use bobbin_server::token::TokenOptions;
use bobbin_server::{config, console, database, state, telemetry};
use bobbin_workspace::{NamedWorkspace, NodeRecord, StateDirectory, Workspace};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::listen_address;

/// Arguments of `bobbin node`.
#[derive(Debug, Args)]
pub(crate) struct NodeCommand {
    #[command(subcommand)]
    action: Option<NodeAction>,
    /// The address to listen on, as `ws://HOST:PORT`; a free port when the default one, 9100, is taken.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    #[command(flatten)]
    token: TokenOptions,
    #[command(flatten)]
    tls: TlsOptions,
    #[command(flatten)]
    log: LogOptions,
}

#[derive(Debug, Subcommand)]
enum NodeAction {
    /// Say whether the node runs, where, and what it serves.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `bobbin workspace`.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceCommand {
    #[command(subcommand)]
    action: WorkspaceAction,
}

#[derive(Debug, Subcommand)]
enum WorkspaceAction {
    /// Have the node serve a folder.
    Add {
        /// The folder; the current directory when left out.
        path: Option<PathBuf>,
        /// Its name in the address, of a-z, 0-9, '-' and '_'; one made of the folder's when left out.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Continue the conversations of a workspace that another machine has served, with the database of both: its id, as
        /// `bobbin workspace list` prints it there.
        #[arg(long, value_name = "ID")]
        join: Option<String>,
    },
    /// List the workspaces that the node serves.
    List {
        /// Print JSON, a workspace a line.
        #[arg(long)]
        json: bool,
    },
    /// Take a workspace from those that the node serves. Its conversations stay.
    Remove {
        /// Its name, or its folder.
        workspace: String,
    },
}

/// Runs the node, or asks about it.
pub(crate) async fn run(command: NodeCommand) -> anyhow::Result<ExitCode> {
    if let Some(NodeAction::Status { json }) = command.action {
        telemetry::start(&LogOptions::default(), "error")?;
        return status(json).await;
    }
    telemetry::start(&command.log, "warn")?;
    let state = state::directory()?;
    let config = own_config(&state)?;
    for warning in &config.warnings {
        console::complain(warning);
    }
    let token = command.token.wanted(&config)?;
    let listen = match &command.listen {
        Some(address) => Listen {
            token,
            tls: command.tls,
            ..listen_address(address)?
        },
        None => Listen {
            address: config.listener.address(),
            may_move: config.listener.port.is_none(),
            token,
            tls: command.tls,
        },
    };
    let log = command.log;
    let member = database::nodes(&config, &state)?.map(|(nodes, own)| Member {
        nodes,
        own,
        address: config.database.node.clone(),
    });
    let settings = Settings {
        member,
        state: state.clone(),
        config,
        listen,
        launch: Box::new(move |workspace| attach::launch(workspace, IDLE, &log, &Start::default())),
    };
    let workspaces = state.named()?;
    bobbin_node::run(settings, |listening| greet(listening, &workspaces)).await?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the configuration of no folder: the user's own.
fn own_config(state: &StateDirectory) -> anyhow::Result<Config> {
    let home = state::home();
    let own = home.clone().unwrap_or_else(|| state.path().to_owned());
    config::read(&own, home.as_deref())
}

/// Prints where the node listens, and what it serves.
fn greet(listening: &Listening, workspaces: &[NamedWorkspace]) {
    let opened = listening.opened(std::io::stdout().is_terminal());
    if let Some(page) = &opened.page {
        // On a terminal, where only the user reads it, the code is in the address.
        let code = opened.code.as_ref().map(|code| format!("#{code}"));
        console::say(&format!("{page}w/{}", code.unwrap_or_default()));
    }
    let address = opened.web_socket.trim_end_matches("/ws");
    console::say(&format!("  WebSocket  {address}/w/NAME/ws"));
    if opened.is_guarded {
        console::say("  Token      `bobbin token` prints it; clients add ?token=TOKEN to the address");
    }
    if let (Some(url), Some(_)) = (opened.elsewhere.first(), &opened.page) {
        console::say(&format!("  Elsewhere  {url}   (`bobbin pair` lets a device in)"));
    }
    if workspaces.is_empty() {
        console::say("  Workspaces none yet; `bobbin workspace add FOLDER` adds one, at any time");
    }
    for workspace in workspaces {
        console::say(&format!("  {:10} {}", workspace.name, workspace.root.display()));
    }
    console::say("  Stop       Ctrl-C; the workspaces' servers go on until nothing uses them");
}

/// Other nodes and their leases, by the database.
#[derive(Default)]
struct Others {
    nodes: Vec<NodeRow>,
    leases: Vec<LeaseRow>,
}

impl Others {
    async fn of(state: &StateDirectory, named: &[NamedWorkspace]) -> anyhow::Result<Self> {
        let Some((nodes, _)) = database::nodes(&own_config(state)?, state)? else {
            return Ok(Self::default());
        };
        let ids: Vec<String> = named.iter().filter_map(|named| named.id.clone()).collect();
        Ok(Self {
            nodes: nodes.list().await?,
            leases: nodes.leases(&ids).await?,
        })
    }

    fn lease(&self, id: Option<&str>) -> Option<&LeaseRow> {
        self.leases
            .iter()
            .find(|lease| Some(lease.workspace.as_str()) == id)
    }
}

async fn status(as_json: bool) -> anyhow::Result<ExitCode> {
    let state = state::directory()?;
    let named = state.named()?;
    // Without its database, this node has a status all the same.
    let others = Others::of(&state, &named).await.unwrap_or_else(|error| {
        console::complain(&format!("other nodes are not known: {error:#}"));
        Others::default()
    });
    let node = NodeRecord::of(&state);
    let mut workspaces = Vec::new();
    for NamedWorkspace { name, root, id } in named {
        let server = Workspace::at(&root, state.clone())?.holder();
        let lease = others.lease(id.as_deref());
        workspaces.push((name, root, server, lease));
    }
    if as_json {
        let workspaces = workspaces.iter().map(|(name, root, server, lease)| {
            json!({
                "name": name,
                "path": root,
                "pid": server.as_ref().map(|server| server.pid),
                "version": server.as_ref().and_then(|server| server.version.as_deref()),
                "startedAt": server.as_ref().map(|server| &server.started_at),
                "lease": lease.map(|lease| json!({
                    "machine": lease.machine,
                    "fence": lease.fence,
                    "remainingSeconds": lease.remaining,
                })),
            })
        });
        let nodes = others.nodes.iter().map(|node| {
            json!({ "id": node.id, "machine": node.machine, "version": node.version, "address": node.address, "ageSeconds": node.age })
        });
        console::data(&json!({
            "node": node,
            "nodes": nodes.collect::<Vec<_>>(),
            "workspaces": workspaces.collect::<Vec<_>>(),
        }));
    } else {
        match &node {
            Some(NodeRecord {
                pid,
                address,
                started_at,
                version,
                ..
            }) => console::say(&format!(
                "The node {version} runs: process {pid} at {address}, since {started_at}"
            )),
            None => console::say("No node runs; `bobbin node` starts one."),
        }
        for NodeRow {
            machine,
            version,
            address,
            age,
            ..
        } in &others.nodes
        {
            let place = address.as_deref().unwrap_or("without an address for other nodes");
            console::say(&format!(
                "  node {machine}  {place}, {version}, seen {age:.0} s ago"
            ));
        }
        for (name, root, server, lease) in &workspaces {
            let server = match (server, lease) {
                (Some(server), _) => {
                    let version = server.version.as_deref().unwrap_or("of an earlier version");
                    format!("process {}, {version}", server.pid)
                }
                (None, Some(lease)) if lease.remaining > 0.0 => {
                    format!(
                        "on {}, for {:.0} s if not renewed",
                        lease.machine, lease.remaining
                    )
                }
                (None, _) => "no server".to_owned(),
            };
            console::say(&format!("  {name:20} {}  {server}", root.display()));
        }
    }
    Ok(if node.is_some() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Refuses the id of a workspace that the database does not know, and names those that it knows.
async fn check_known(id: &str, state: &StateDirectory) -> anyhow::Result<()> {
    let Some((nodes, _)) = database::nodes(&own_config(state)?, state)? else {
        bail!("a workspace is joined in the database of both machines; set Database.Url first");
    };
    let known = nodes.workspaces().await?;
    if known.iter().any(|known| known.id.eq_ignore_ascii_case(id)) {
        return Ok(());
    }
    let known = known.iter().map(|known| {
        let path = known.path.as_deref().unwrap_or("no folder yet");
        format!("{} ({path}, last served by {})", known.id, known.machine)
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        bail!(
            "the database has no workspace yet; a workspace is in it once its server has run on the first machine"
        );
    }
    bail!("the database has no workspace {id}; it has {}", known.join(", "));
}

/// Changes or prints the list of workspaces.
pub(crate) async fn workspace(command: WorkspaceCommand) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let state = state::directory()?;
    match command.action {
        WorkspaceAction::Add { path, name, join } => {
            let path = path.unwrap_or_else(|| PathBuf::from("."));
            let workspace = state::workspace(Some(&path))?;
            if let Some(id) = join {
                check_known(&id, &state).await?;
                workspace.join(&id)?;
            }
            let name = state.add_name(&workspace, name.as_deref())?;
            console::say(&format!("{name}  {}", workspace.root.display()));
            let node = NodeRecord::of(&state);
            match node.and_then(|node| node.page_of(&name)) {
                Some(page) => console::note(&format!("it is at {page}; `bobbin open` opens it")),
                None => console::note("no node runs; `bobbin node` starts one"),
            }
        }
        WorkspaceAction::List { json } => {
            let named = state.named()?;
            if named.is_empty() && !json {
                console::note("the node serves no workspace; `bobbin workspace add FOLDER` adds one");
            }
            for NamedWorkspace { name, root, id } in named {
                if json {
                    let mut row = json!({ "name": name, "path": root });
                    if let Some(id) = id {
                        row["id"] = id.into();
                    }
                    console::data(&row);
                } else {
                    let id = id.map(|id| format!("  {id}")).unwrap_or_default();
                    console::say(&format!("{name:20} {}{id}", root.display()));
                }
            }
        }
        WorkspaceAction::Remove { workspace } => {
            let named = state.named()?;
            let path = Workspace::at(workspace.as_ref(), state.clone())?.root;
            // A name goes before a folder that is called so.
            let by_name = named.iter().find(|named| named.name == workspace);
            let found = by_name.or_else(|| named.iter().find(|named| named.root == path));
            let Some(NamedWorkspace { name, root, .. }) = found else {
                bail!("the node serves no {workspace}; `bobbin workspace list` lists them");
            };
            state.remove_name(root)?;
            console::say(&format!(
                "{name} is taken out; the conversations of {} stay",
                root.display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
