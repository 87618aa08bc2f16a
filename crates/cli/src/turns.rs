//! `bobbin diff`, `undo`, `redo`, `fork` and `compact`: what a conversation changed, its return, a copy of it, and a summary in
//! its place.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bobbin_client::{Client, ThreadState};
use bobbin_native_wire::history::types::{TurnDiffReadResult, TurnRevertResult};
use bobbin_native_wire::turn::types::Turn;
use bobbin_server::models::variable;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{attach, config, console, state, telemetry};
use clap::Args;
use serde_json::{Value, json};

use crate::call::{ask_server, ask_through, asking, call};
use crate::threads;

/// Turns that are looked through for the last one that changed files.
const MAX_TURNS: u32 = 100;

/// Arguments of `bobbin diff`, `undo`, `redo` and `fork`.
#[derive(Debug, Args)]
pub(crate) struct OfThread {
    /// The thread; the one that was active last when left out.
    thread: Option<String>,
    /// The turn. When left out: of `diff` the last one that changed files, of `undo` the last one that is not undone yet, of `redo`
    /// the one that was undone last, of `fork` the last one of the copy.
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

/// Arguments of `bobbin undo` and `bobbin redo`.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    #[command(flatten)]
    of: OfThread,
    /// Change files that were changed since, too: what was done to them is lost.
    #[arg(long)]
    force: bool,
}

/// Arguments of `bobbin compact`.
#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// The thread; the one that was active last when left out.
    thread: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    log: LogOptions,
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

/// Puts back the files that a Turn changed, or changes them again.
pub(crate) async fn undo(undo: Undo, redo: bool) -> anyhow::Result<ExitCode> {
    let Undo { of, force } = undo;
    let name = if redo { "bobbin-redo" } else { "bobbin-undo" };
    asked(&of, name, async |client, thread| {
        let turn = if let Some(turn) = of.turn.clone() {
            turn
        } else {
            let state = read(client, thread).await?;
            let turn = if redo {
                state.turn_to_redo()
            } else {
                state.turn_to_undo()
            };
            turn.map(|turn| turn.id.clone()).with_context(|| {
                if redo {
                    format!("no changes of {thread} were undone since its last change")
                } else {
                    format!("no turn of {thread} changed a file that is not put back yet")
                }
            })?
        };
        let params = json!({ "threadId": thread, "turnId": turn, "force": force, "redo": redo });
        let reverted: TurnRevertResult = call(client, "turn/revert", &params).await?;
        if of.json {
            console::data(&reverted);
            return Ok(());
        }
        for file in &reverted.files {
            console::say_quoted(&console::quoted("", &file.path));
        }
        if reverted.files.is_empty() {
            console::note("the files are so already");
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

/// Compacts a Thread.
pub(crate) async fn compact(compact: Compact) -> anyhow::Result<ExitCode> {
    telemetry::start(&compact.log, "error")?;
    let workspace = state::workspace(compact.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let root = workspace.root.to_string_lossy().into_owned();
    let keys = attach::keys(&config.models);
    // A model is asked, so this is work for the workspace's server.
    let joined = attach::native(&workspace, Duration::ZERO, &compact.log, keys, true).await?;
    let compacted = ask_through(joined.transport, asking("bobbin-compact"), async |client| {
        let thread = match &compact.thread {
            Some(id) => id.clone(),
            None => threads::last(client, &root).await?,
        };
        let params = json!({ "threadId": thread });
        call::<Value>(client, "thread/compact/start", &params).await
    });
    let compacted = compacted.await;
    attach::leave(&workspace).await?;
    let compacted = compacted?;
    let outcome = compacted["outcome"].as_str().unwrap_or_default();
    let left = compacted["contextUsage"]["percentLeft"].as_f64();
    if compact.json {
        console::data(&compacted);
    } else if let Some(message) = compacted["message"].as_str() {
        console::note(message);
    } else if let ("partial", Some(left)) = (outcome, left) {
        console::note(&format!("compacted: {:.0}% of the window left", left * 100.0));
    }
    Ok(match outcome {
        "partial" | "skipped" => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
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

/// Returns the newest Turns of a Thread.
async fn read(client: &Client, thread: &str) -> anyhow::Result<ThreadState> {
    let params = json!({ "threadId": thread, "includeTurns": true, "turnLimit": MAX_TURNS });
    let mut state = ThreadState::default();
    state.replace(call(client, "thread/read", &params).await?);
    Ok(state)
}

/// Returns the Turn that is named, or the last one that changed files.
async fn changed(client: &Client, thread: &str, named: Option<&str>) -> anyhow::Result<String> {
    if let Some(turn) = named {
        return Ok(turn.to_owned());
    }
    let state = read(client, thread).await?;
    let turns = state.turns.iter().rev().map(|turn| &turn.turn);
    let changed = |turn: &&Turn| turn.files_changed.unwrap_or_default() > 0;
    match turns.into_iter().find(changed) {
        Some(turn) => Ok(turn.id.clone()),
        None => bail!("no turn of {thread} changed a file"),
    }
}
