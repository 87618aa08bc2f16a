//! `bobbin threads`: lists and searches the conversations of the workspace; shows, renames, archives, exports and deletes one.
//!
//! Asks the server that runs in the workspace, as `bobbin rules` does.

pub(crate) mod export;
mod markdown;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_client::Client;
use bobbin_model::Person;
use bobbin_native_wire::thread::params::ThreadListResult;
use bobbin_native_wire::thread::types::ThreadSummary;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::call::{ask_server, asking, call};
use bobbin_server::config;
use bobbin_server::state;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, telemetry};
use export::Format;

/// Threads of one request.
const PAGE: usize = 100;

/// Arguments of `bobbin threads`.
#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the threads, the last active one first (the default).
    List {
        /// Archived ones and those of subagents too.
        #[arg(long)]
        all: bool,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show what was said and done in a thread.
    Show {
        /// Its id.
        id: String,
        /// The last so many turns, at most 100; `threads export` writes all.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        turns: u32,
    },
    /// Give a thread another title.
    Rename {
        /// Its id.
        id: String,
        /// The title.
        title: String,
    },
    /// Find text in the history of all threads.
    Search {
        /// Words that are all there; a phrase in quotation marks.
        query: String,
        /// At most so many places.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
    /// Put a thread and its subagents away: it is not listed and takes no turns.
    Archive {
        /// Its id.
        id: String,
    },
    /// Take an archived thread out again.
    Unarchive {
        /// Its id.
        id: String,
    },
    /// Write a thread to a file, or to stdout.
    Export {
        /// Its id.
        id: String,
        /// The format of the file.
        #[arg(long, value_enum, default_value_t = Format::Markdown)]
        format: Format,
        /// A new file, which only you can read.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Delete a thread and everything in it, for good.
    Delete {
        /// Its id.
        id: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// Does what was asked.
pub(crate) async fn run(threads: Threads) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let workspace = state::workspace(threads.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let action = threads.action.unwrap_or(Action::List {
        all: false,
        limit: 50,
    });
    let root = workspace.root.to_string_lossy().into_owned();
    ask_server(&workspace, &config, asking("bobbin-threads"), async |client| {
        act(client, action, &root, threads.json).await
    })
    .await
}

async fn act(client: &Client, action: Action, root: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    match action {
        Action::List { all, limit } => list(client, root, all, limit, as_json).await?,
        Action::Show { id, turns } => show(client, &id, turns, as_json).await?,
        Action::Rename { id, title } => {
            call::<Value>(
                client,
                "thread/rename",
                &json!({ "threadId": id, "displayName": title }),
            )
            .await?;
        }
        Action::Search { query, limit } => search(client, root, &query, limit, as_json).await?,
        Action::Archive { id } => {
            drop(call::<Value>(client, "thread/archive", &json!({ "threadId": id })).await?);
        }
        Action::Unarchive { id } => {
            drop(call::<Value>(client, "thread/unarchive", &json!({ "threadId": id })).await?);
        }
        Action::Export { id, format, output } => {
            export::export(client, &id, format, output.as_deref()).await?;
        }
        Action::Delete { id, yes } => {
            let params = json!({ "threadId": id, "includeTurns": false });
            let read: Value = call(client, "thread/read", &params).await?;
            let title = read["thread"]["displayName"]
                .as_str()
                .unwrap_or("without a title");
            if !yes && !confirmed(&format!("Delete {id} ({title}) for good? [y]es, [n]o: "))? {
                return Ok(ExitCode::FAILURE);
            }
            call::<Value>(client, "thread/delete", &json!({ "threadId": id })).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the Thread that was active last.
///
/// # Errors
/// There is none, or the server refuses.
pub(crate) async fn last(client: &Client, root: &str) -> anyhow::Result<String> {
    let mut params = of_every_channel(client, root).await?;
    params["limit"] = 1.into();
    let listed: Value = call(client, "thread/list", &params).await?;
    match listed["data"][0]["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => bail!("there is no thread to continue"),
    }
}

/// Returns the params of a list that has the threads of every client.
pub(crate) async fn of_every_channel(client: &Client, root: &str) -> anyhow::Result<Value> {
    let listed: Value = call(client, "channel/list", &json!({})).await?;
    let channels = listed["channels"].as_array().into_iter().flatten();
    let channels: Vec<&Value> = channels.map(|channel| &channel["name"]).collect();
    Ok(json!({
        "identity": { "channelName": "cli", "workspacePath": root },
        "crossChannelOrigins": channels,
    }))
}

async fn list(client: &Client, root: &str, all: bool, limit: usize, as_json: bool) -> anyhow::Result<()> {
    let mut params = of_every_channel(client, root).await?;
    params["includeArchived"] = all.into();
    params["includeSubAgents"] = all.into();
    let mut left = limit;
    while left > 0 {
        params["limit"] = left.min(PAGE).into();
        let listed: ThreadListResult = call(client, "thread/list", &params).await?;
        left = left.saturating_sub(listed.data.len());
        for thread in &listed.data {
            if as_json {
                console::data(thread);
            } else {
                console::say(&line(thread));
            }
        }
        match listed.next_cursor {
            Some(cursor) if !listed.data.is_empty() => params["cursor"] = cursor.into(),
            _ => return Ok(()),
        }
    }
    let more = count(client, &mut params).await?;
    console::note(&format!("{limit} of {}; --limit N shows more", limit + more));
    Ok(())
}

/// Returns how many threads are behind the cursor of `params`.
async fn count(client: &Client, params: &mut Value) -> anyhow::Result<usize> {
    params["limit"] = PAGE.into();
    let mut counted = 0;
    loop {
        let listed: ThreadListResult = call(client, "thread/list", params).await?;
        counted += listed.data.len();
        match listed.next_cursor {
            Some(cursor) if !listed.data.is_empty() => params["cursor"] = cursor.into(),
            _ => return Ok(counted),
        }
    }
}

async fn search(client: &Client, root: &str, query: &str, limit: u32, as_json: bool) -> anyhow::Result<()> {
    let mut params = of_every_channel(client, root).await?;
    params["query"] = query.into();
    params["limit"] = limit.into();
    params["includeArchived"] = true.into();
    let found: bobbin_native_wire::history::types::ThreadSearchResult =
        call(client, "thread/search", &params).await?;
    for hit in &found.data {
        if as_json {
            console::data(hit);
            continue;
        }
        let title = hit.display_name.as_deref().unwrap_or("without a title");
        let turn = hit.turn_id.as_deref().unwrap_or("title");
        console::say(&format!("{}  {turn}  {title}", hit.thread_id));
        console::say_quoted(&console::quoted("  ", &hit.snippet));
    }
    if !found.complete {
        console::note("older conversations are still being read in; search again for all of them");
    }
    Ok(())
}

fn line(thread: &ThreadSummary) -> String {
    let at = serde_json::to_value(thread.last_active_at).unwrap_or_default();
    // To the minute; what follows are seconds.
    let at = at
        .as_str()
        .and_then(|at| at.get(..16))
        .unwrap_or_default()
        .replace('T', " ");
    let running = thread.runtime.as_ref().is_some_and(|runtime| runtime.running);
    let state = if running { " (running)" } else { "" };
    let turns = if thread.turn_count == 1 { "turn" } else { "turns" };
    format!(
        "{}  {at}  {:>3} {turns:5}  {:5} {}{state}",
        thread.id,
        thread.turn_count,
        thread.origin_channel,
        thread.display_name.as_deref().unwrap_or("without a title")
    )
}

async fn show(client: &Client, id: &str, turns: u32, as_json: bool) -> anyhow::Result<()> {
    let params = json!({ "threadId": id, "includeTurns": true, "turnLimit": turns });
    let read: Value = call(client, "thread/read", &params).await?;
    if as_json {
        console::data(&read);
        return Ok(());
    }
    if read["turnPage"]["nextCursor"].is_string() {
        console::note("earlier turns are not shown; --turns N shows more, up to 100");
    }
    for turn in read["thread"]["turns"].as_array().into_iter().flatten() {
        let text = |name: &str| turn[name].as_str().unwrap_or_default();
        console::say(&format!(
            "== {} {} {}",
            text("id"),
            text("startedAt"),
            text("status")
        ));
        for item in turn["items"].as_array().into_iter().flatten() {
            show_item(item);
        }
    }
    Ok(())
}

/// Prints what an Item says.
pub(crate) fn show_item(item: &Value) {
    let payload = &item["payload"];
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    match item["type"].as_str().unwrap_or_default() {
        "userMessage" => {
            if let Some(who) = person(payload) {
                console::say(&format!("{who}:"));
            }
            console::say_quoted(&quoted(text("text")));
        }
        "approvalResponse" => {
            if let Some(who) = person(payload) {
                let done = if payload["approved"] == true {
                    "approved"
                } else {
                    "declined"
                };
                console::say(&format!("- {done} by {who}"));
            }
        }
        "agentMessage" => console::say_quoted(text("text")),
        "toolCall" => {
            let arguments = &payload["arguments"];
            let main = ["command", "path", "pattern", "url"]
                .iter()
                .find_map(|name| arguments[*name].as_str());
            console::say(&format!("* {} {}", text("toolName"), main.unwrap_or_default()));
        }
        "error" => console::say(&format!("! {}", text("message"))),
        _ => {}
    }
}

/// Returns the person that a payload names, with the device; `None` for the user of the server.
fn person(payload: &Value) -> Option<String> {
    let person: Person = serde_json::from_value(payload["actor"].clone()).ok()?;
    Some(person.to_string())
}

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| console::quoted("> ", line)).collect();
    lines.join("\n")
}

fn confirmed(question: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("say --yes to delete without a question");
    }
    console::ask(question);
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
