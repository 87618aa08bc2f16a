//! `bobbin exec`: one prompt, as a client of the native endpoint like any other.
//!
//! Joins the server that holds the workspace, or opens the workspace by itself and speaks to it over a
//! pair in memory. The agent's text goes to stdout, everything else to stderr.

mod client;
mod question;
mod render;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use bobbin_agent_api::trust::TrustChange;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::exit::Failure;
use crate::join::{self, Endpoint};
use crate::signals::Signals;
use crate::state::StateDirectory;
use crate::token::TokenOptions;
use crate::trust::{self, Scan, TrustFile};
use crate::workspace::Workspace;
use crate::{cli, console, exit, logging, server};

use client::{Approvals, Prompt};

/// Longest prompt read from stdin.
const MAX_PROMPT_BYTES: u64 = 4 << 20;

/// Arguments of `bobbin exec`.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// What to ask; `-` reads it from stdin.
    prompt: String,
    /// Continue this thread instead of starting one.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// The model for this thread: offline, PROVIDER/MODEL, or a model that the configuration names.
    ///
    /// The thread keeps it. Left out, a new thread has the configuration's model.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Accept everything the agent asks for in this run.
    #[arg(long)]
    approve: bool,
    /// Trust this folder: what it brings along to run, to loosen or to instruct counts from now on.
    #[arg(long)]
    trust: bool,
    /// Print the protocol's notifications as JSON lines instead of text.
    #[arg(long)]
    json: bool,
    /// The workspace; the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    token: TokenOptions,
    /// What to log to stderr.
    #[arg(long, value_name = "FILTER", env = "BOBBIN_LOG")]
    log: Option<String>,
}

/// Runs one prompt.
pub(crate) async fn run(exec: Exec) -> anyhow::Result<ExitCode> {
    logging::start(exec.log.as_deref().unwrap_or("error"))?;
    let workspace = Workspace::find(exec.workspace.as_deref())?;
    let trusted = settle_trust(&workspace, exec.trust, exec.prompt != "-")?;
    let config = Config::read(&workspace.root, cli::home().as_deref())?;
    let text = prompt_text(&exec.prompt)?;
    let approvals = match (exec.approve, std::io::stdin().is_terminal() && exec.prompt != "-") {
        (true, _) => Approvals::AcceptAll,
        (false, true) => Approvals::AskHere,
        (false, false) => Approvals::Nobody,
    };
    let prompt = Prompt {
        text,
        thread: exec.thread,
        model: exec.model.map(|name| config.models.meaning(&name)),
        approvals,
        trusted,
        json: exec.json,
        workspace: workspace.root.to_string_lossy().into_owned(),
    };
    let mut signals = Signals::listen()?;
    if let Some(holder) = workspace.holder() {
        let Some(address) = holder.address else {
            return Err(workspace.busy().into());
        };
        let token = exec.token.presented(&config)?;
        let joined = join::connect(&address, Endpoint::Native, token.as_deref()).await;
        let transport = joined.map_err(Failure::from)?;
        return client::run(transport, prompt, &mut signals).await;
    }
    let held = workspace.hold().await?;
    held.announce(None)?;
    let removed = CancellationToken::new();
    let opened = server::open(&held, &config, &removed).await?;
    for complaint in config.warnings.iter().chain(&opened.complaints) {
        console::complain(complaint);
    }
    let (ours, serving) = server::serve_in_memory(&opened);
    let ended = tokio::select! {
        ended = client::run(ours, prompt, &mut signals) => ended,
        () = removed.cancelled() => Err(exit::removed(&workspace.database()).into()),
    };
    opened.end().await;
    drop(serving.await);
    ended
}

/// Says what of the folder waits, or takes the user's trust in it. Returns the fingerprints of what is trusted anew.
fn settle_trust(workspace: &Workspace, trusts: bool, may_ask: bool) -> anyhow::Result<Option<Vec<String>>> {
    let file = TrustFile::of(&StateDirectory::find(None)?, &workspace.root);
    let (record, home) = (file.read(), cli::home());
    let config = Config::read_with(&workspace.root, home.as_deref(), &record)?;
    let scan = Scan::of(&config, &record, &workspace.root, home.as_deref());
    let Some(sentence) = scan.sentence() else {
        return Ok(None);
    };
    let asks = may_ask && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if trusts || asks && trust::ask(&scan) {
        file.change(|record| scan.apply(&TrustChange::TrustAll, record))?;
        let fingerprints = scan.fingerprints().into_iter().map(str::to_owned);
        return Ok(Some(fingerprints.collect()));
    }
    console::complain(&sentence);
    Ok(None)
}

fn prompt_text(argument: &str) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES)
        .read_to_string(&mut text)
        .context("stdin cannot be read")?;
    if text.trim().is_empty() {
        bail!("stdin holds no prompt");
    }
    Ok(text)
}
