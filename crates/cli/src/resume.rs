//! `bobbin resume`: shows the last exchange of a conversation and goes on with it, as `exec` does.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use bobbin_client::Client;
use bobbin_server::{config, console, state};
use clap::Args;
use serde_json::{Value, json};

use crate::call::{ask_server, asking, call};
use crate::chat;
use crate::exec::{self, Exec};
use crate::threads;

/// Arguments of `bobbin resume`.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    exec: Exec,
}

/// Shows the last exchange, and runs the prompt if there is one.
pub(crate) async fn run(resume: Resume) -> anyhow::Result<ExitCode> {
    let mut exec = resume.exec;
    let is_free = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if exec.prompt.is_empty() && is_free {
        return chat::run(exec.into_chat()).await;
    }
    let workspace = state::workspace(exec.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let root = workspace.root.to_string_lossy().into_owned();
    let chosen = exec.thread.take();
    let thread = ask_server(&workspace, &config, asking("bobbin-resume"), async |client| {
        let thread = match chosen {
            Some(id) => id,
            None => threads::last(client, &root).await?,
        };
        show(client, &thread).await?;
        anyhow::Ok(thread)
    })
    .await?;
    if exec.prompt.is_empty() && !exec::has_input() {
        console::note("`bobbin resume PROMPT` goes on here");
        return Ok(ExitCode::SUCCESS);
    }
    exec.thread = Some(thread);
    exec.last = false;
    exec::run(exec).await
}

/// Shows the last Turn on stderr: stdout has the answer, as with `exec`.
async fn show(client: &Client, thread: &str) -> anyhow::Result<()> {
    let params = json!({ "threadId": thread, "includeTurns": true, "turnLimit": 1 });
    let read: Value = call(client, "thread/read", &params).await?;
    let title = read["thread"]["displayName"]
        .as_str()
        .unwrap_or("without a title");
    console::note(&format!("== {thread}  {title}"));
    let items = read["thread"]["turns"][0]["items"].as_array();
    let said = |item: &&Value| matches!(item["type"].as_str(), Some("userMessage" | "agentMessage"));
    for item in items.into_iter().flatten().filter(said) {
        let text = item["payload"]["text"].as_str().unwrap_or_default();
        let prefix = if item["type"] == "userMessage" { "> " } else { "" };
        let lines: Vec<String> = text.lines().map(|line| console::quoted(prefix, line)).collect();
        console::note_quoted(&lines.join("\n"));
    }
    Ok(())
}
