//! Jobs (20.6, 21.5): the commands that agents left in the background.
//!
//! After a change, the whole list is read and sent, so later changes may already be in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::terminal::{Terminals, Wait};
use bobbin_model::{Lines, Terminal, TerminalStatus, visible};
use bobbin_peer::{CallContext, ErrorObject, Responder};
use serde::{Deserialize, Serialize};

use super::chats::listed_chats;
use super::{Client, params};
use crate::wire::ChatId;

/// Longest label, in characters.
const LABEL_CHARS: usize = 120;
/// Most characters of a job's output in one answer.
const OUTPUT_CHARS: usize = 64 << 10;

/// A job as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    label: String,
    /// RFC 3339; clients compute the running time from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    elapsed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_label: Option<String>,
}

#[derive(Debug, Serialize)]
struct Jobs {
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct JobParams {
    /// Emacs writes the name with a hyphen.
    #[serde(rename = "jobId", alias = "job-id")]
    job_id: String,
}

#[derive(Debug, Serialize)]
struct Killed {
    killed: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    lines: Vec<Line>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

#[derive(Debug, Serialize)]
struct Line {
    text: String,
    stream: &'static str,
}

pub(super) fn list(client: &Client, responder: Responder) {
    let of = client.clone();
    client.tasks.spawn(async move {
        responder.ok(Jobs { jobs: all(&of).await });
    });
}

pub(super) fn kill(client: &Client, request: &CallContext, responder: Responder) {
    let Some((JobParams { job_id }, responder)) = params::<JobParams>(request, responder) else {
        return;
    };
    let Some(terminals) = terminals(client).cloned() else {
        return responder.ok(Killed { killed: false });
    };
    client.tasks.spawn(async move {
        // Stopping a job that has ended changes nothing.
        let found = terminals.read(&job_id, Wait::News(Duration::ZERO), Some(1)).await;
        if found.is_ok_and(|job| job.status != TerminalStatus::Running) {
            return responder.ok(Killed { killed: false });
        }
        let reply = Box::new(move |stopped: Result<Terminal, _>| {
            let killed = stopped.is_ok_and(|job| job.status == TerminalStatus::Killed);
            responder.ok(Killed { killed });
        });
        terminals.stop(&job_id, reply);
    });
}

pub(super) fn read_output(client: &Client, request: &CallContext, responder: Responder) {
    let Some((JobParams { job_id }, responder)) = params::<JobParams>(request, responder) else {
        return;
    };
    let Some(terminals) = terminals(client) else {
        return responder.err(ErrorObject::invalid_params("there are no jobs here"));
    };
    let read = terminals.read(&job_id, Wait::News(Duration::ZERO), Some(OUTPUT_CHARS));
    client.tasks.spawn(async move {
        match read.await {
            Ok(terminal) => responder.ok(output(&terminal)),
            Err(error) => responder.err(ErrorObject::invalid_params(error.to_string())),
        }
    });
}

/// Sends the list whenever jobs have changed, until the connection ends.
pub(super) fn follow(client: &Client) {
    let of = client.clone();
    client.tasks.spawn(async move {
        loop {
            tokio::select! {
                () = of.peer.closed() => return,
                () = of.eca.jobs_changed.notified() => {}
            }
            let jobs = all(&of).await;
            of.notify("jobs/updated", &Jobs { jobs }).await;
        }
    });
}

fn terminals(client: &Client) -> Option<&Arc<dyn Terminals>> {
    client.offer.services.terminals.as_ref()
}

async fn all(client: &Client) -> Vec<Job> {
    let Some(terminals) = terminals(client) else {
        return Vec::new();
    };
    let running = terminals.list(None).await;
    if running.is_empty() {
        return Vec::new();
    }
    // Without the list of chats, jobs have only the ids of their chats.
    let chats = client
        .threads()
        .list(listed_chats(client))
        .await
        .unwrap_or_default();
    let chats: HashMap<_, _> = chats.iter().map(|chat| (&chat.header.id, &chat.header)).collect();
    let job = |terminal: &Terminal| {
        let thread = &terminal.facts.thread;
        let header = chats.get(thread);
        Job {
            id: terminal.facts.id.clone(),
            kind: "shell",
            status: status(terminal.status),
            label: label(&terminal.facts.command),
            started_at: jiff::Timestamp::from_millisecond(terminal.facts.started_at.0)
                .ok()
                .map(|at| at.to_string()),
            elapsed: elapsed(terminal.wall_time_ms / 1000),
            exit_code: terminal.exit_code,
            chat_id: header.map_or_else(|| ChatId::Text(thread.to_string()), |header| client.id_of(header)),
            chat_label: header.and_then(|header| header.display_name.clone()),
        }
    };
    running.iter().map(job).collect()
}

fn output(terminal: &Terminal) -> Output {
    // Both streams of a command are one here.
    let line = |text: &str| Line {
        text: text.to_owned(),
        stream: "stdout",
    };
    Output {
        lines: terminal.output.lines().map(line).collect(),
        status: status(terminal.status),
        exit_code: terminal.exit_code,
    }
}

fn status(status: TerminalStatus) -> &'static str {
    match status {
        TerminalStatus::Running => "running",
        TerminalStatus::Completed => "completed",
        TerminalStatus::Failed | TerminalStatus::TimedOut | TerminalStatus::Lost => "failed",
        TerminalStatus::Killed => "killed",
    }
}

fn label(command: &str) -> String {
    let line: String = command
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(LABEL_CHARS)
        .collect();
    let cut = if line.len() < command.len() { "…" } else { "" };
    format!("{}{cut}", visible(&line, Lines::One))
}

/// Returns a time as `12s`, `3m5s` or `2h7m`.
fn elapsed(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_labels_are_short() {
        assert_eq!([7, 65, 7260].map(elapsed), ["7s", "1m5s", "2h1m"]);
        assert_eq!(label("npm run dev"), "npm run dev");
        assert_eq!(label("a\nb"), "a…");
    }
}
