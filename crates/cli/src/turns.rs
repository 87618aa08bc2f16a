//! `bobbin diff`, `bobbin undo`, `bobbin fork`: what a conversation changed, its return, and a copy of it.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_client::Client;
use bobbin_native_wire::history::types::{TurnDiffReadResult, TurnRevertResult};
use bobbin_native_wire::thread::params::ThreadReadResult;
use bobbin_native_wire::turn::types::Turn;
use bobbin_server::models::variable;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{config, console, state, telemetry};
use clap::Args;
use serde_json::{Value, json};

use crate::call::{ask_server, asking, call};
use crate::threads;

/// Turns that are looked through for the last one that changed files.
const MAX_TURNS: u32 = 100;

/// Arguments of `bobbin diff`, `bobbin undo` and `bobbin fork`.
#[derive(Debug, Args)]
pub(crate) struct OfThread {
    /// The thread; the one that was active last when left out.
    thread: Option<String>,
    /// The turn: of `diff` and `undo` the last one that changed files when left out, of `fork` the last one of the copy.
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    log: LogOptions,
}

/// Arguments of `bobbin undo`.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    #[command(flatten)]
    of: OfThread,
    /// Put back files that were changed since, too: what was done to them is lost.
    #[arg(long)]
    force: bool,
}

/// Prints the changes of a Turn.
pub(crate) async fn diff(of: OfThread) -> anyhow::Result<ExitCode> {
    asked(&of, "bobbin-diff", async |client, thread| {
        let turn = changed(client, thread, of.turn.as_deref()).await?;
        let params = json!({ "threadId": thread, "turnId": turn });
        let read: TurnDiffReadResult = call(client, "turn/diff/read", &params).await?;
        if of.json {
            console::data(&read);
            return Ok(());
        }
        if std::io::stdout().is_terminal() {
            let has_colors = variable("NO_COLOR").is_none();
            console::painted(&bobbin_chat::painted_diff(
                &read.diff,
                console::width(),
                has_colors,
            ));
        } else {
            console::say_quoted(read.diff.trim_end());
        }
        if read.truncated {
            console::note("the diff is too long and was cut; --json lists all files");
        }
        Ok(())
    })
    .await
}

/// Puts back the files that a Turn changed.
pub(crate) async fn undo(undo: Undo) -> anyhow::Result<ExitCode> {
    let Undo { of, force } = undo;
    asked(&of, "bobbin-undo", async |client, thread| {
        let turn = changed(client, thread, of.turn.as_deref()).await?;
        let params = json!({ "threadId": thread, "turnId": turn, "force": force });
        let reverted: TurnRevertResult = call(client, "turn/revert", &params).await?;
        if of.json {
            console::data(&reverted);
            return Ok(());
        }
        for file in &reverted.files {
            console::say_quoted(&console::quoted("", &file.path));
        }
        if reverted.files.is_empty() {
            console::note("the files are as they were before the turn");
        }
        for note in &reverted.notes {
            console::note(note);
        }
        Ok(())
    })
    .await
}

/// Copies a Thread and prints the id of the copy.
pub(crate) async fn fork(of: OfThread) -> anyhow::Result<ExitCode> {
    asked(&of, "bobbin-fork", async |client, thread| {
        let mut params = json!({ "threadId": thread });
        if let Some(turn) = &of.turn {
            params["turnId"] = turn.as_str().into();
        }
        let forked: Value = call(client, "thread/fork", &params).await?;
        match forked["thread"]["id"].as_str() {
            _ if of.json => console::data(&forked),
            Some(id) => console::say(id),
            None => bail!("the server's answer names no thread"),
        }
        Ok(())
    })
    .await
}

/// Asks the server of the workspace about the Thread.
async fn asked(
    of: &OfThread,
    name: &str,
    ask: impl AsyncFnOnce(&Client, &str) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    telemetry::start(&of.log, "error")?;
    let workspace = state::workspace(of.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let root = workspace.root.to_string_lossy().into_owned();
    ask_server(&workspace, &config, asking(name), async |client| {
        let thread = match &of.thread {
            Some(id) => id.clone(),
            None => threads::last(client, &root).await?,
        };
        ask(client, &thread).await
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the Turn that is named, or the last one that changed files.
async fn changed(client: &Client, thread: &str, named: Option<&str>) -> anyhow::Result<String> {
    if let Some(turn) = named {
        return Ok(turn.to_owned());
    }
    let params = json!({ "threadId": thread, "includeTurns": true, "turnLimit": MAX_TURNS });
    let read: ThreadReadResult = call(client, "thread/read", &params).await?;
    let turns = read.thread.turns.unwrap_or_default();
    let changed = |turn: &&Turn| turn.files_changed.unwrap_or_default() > 0;
    match turns.iter().rev().find(changed) {
        Some(turn) => Ok(turn.id.clone()),
        None => bail!("no turn of {thread} changed a file"),
    }
}
