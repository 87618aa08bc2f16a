//! `bobbin chat`: a Thread in this terminal.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bobbin_chat::{Opens, Settings};
use bobbin_client::Connect;
use bobbin_framing::Transport;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_server::models::variable;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{attach, console, state, telemetry};
use bobbin_workspace::Workspace;
use clap::Args;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::first_start;

/// Time that a server runs on after its last client has left: a running Turn goes on in any case.
const IDLE: Duration = Duration::ZERO;

/// Arguments of `bobbin chat`.
#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// The first prompt.
    pub(crate) prompt: Vec<String>,
    /// Go on with this thread instead of starting one.
    #[arg(long, value_name = "ID", conflicts_with_all = ["last", "pick"])]
    pub(crate) thread: Option<String>,
    /// Go on with the thread that was active last.
    #[arg(long, conflicts_with = "pick")]
    pub(crate) last: bool,
    /// Choose the thread from a list.
    #[arg(long)]
    pub(crate) pick: bool,
    /// The model of a new thread: offline, PROVIDER/MODEL, or a model that the configuration names.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The agent that runs the turns of a new thread: an engine of the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Write and read lines only, and redraw nothing: for screen readers. Without a terminal it is always so.
    #[arg(long)]
    pub(crate) plain: bool,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogOptions,
}

/// Joins the server of a workspace, and starts it where there is none.
struct Server {
    workspace: Workspace,
    log: LogOptions,
}

impl Connect for Server {
    fn connect(&mut self) -> BoxFuture<'_, Result<Transport, String>> {
        async {
            let keys = attach::keys_of(&self.workspace);
            let joined = attach::native(&self.workspace, IDLE, &self.log, keys, false).await;
            joined
                .map(|joined| joined.transport)
                .map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }
}

/// Runs the client until its user leaves.
pub(crate) async fn run(chat: Chat) -> anyhow::Result<ExitCode> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    telemetry::start(&chat.log, "off")?;
    let workspace = state::workspace(chat.workspace.as_deref())?;
    let (config, trusted) = crate::exec::settle_trust(&workspace, false, is_terminal)?;
    if is_terminal {
        first_start::choose_policy(&workspace).await?;
    }
    let opens = match (chat.thread, chat.last, chat.pick) {
        (Some(id), ..) => Opens::Thread(id),
        (None, true, _) => Opens::Last,
        (None, false, true) => Opens::Choice,
        (None, false, false) => Opens::New,
    };
    let prompt = chat.prompt.join(" ");
    let settings = Settings {
        workspace: workspace.root.to_string_lossy().into_owned(),
        opens,
        prompt: Some(prompt).filter(|prompt| !prompt.trim().is_empty()),
        config: ThreadConfiguration {
            model: chat.model.map(|name| config.models.meaning(&name)),
            engine: chat.agent,
            ..ThreadConfiguration::default()
        },
        trusted,
        version: env!("CARGO_PKG_VERSION"),
        // A dumb terminal cannot move its cursor.
        is_plain: chat.plain || !is_terminal || variable("TERM").as_deref() == Some("dumb"),
        has_colors: variable("NO_COLOR").is_none(),
        drafts: Some(workspace.folder().join("drafts.json")),
        theme: Some(workspace.state_directory().path().join("theme")),
        editor: variable("VISUAL").or_else(|| variable("EDITOR")),
    };
    let server = Server {
        workspace: workspace.clone(),
        log: chat.log,
    };
    let ended = bobbin_chat::run(server, settings).await;
    attach::leave(&workspace).await?;
    if let Some(thread) = ended? {
        console::note(&format!("`bobbin chat --thread {thread}` goes on here"));
    }
    Ok(ExitCode::SUCCESS)
}
