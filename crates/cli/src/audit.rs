//! `bobbin audit`: shows who did what in a workspace, checks that nothing of it is missing or changed, and removes what is old.
//!
//! The check is made here, from the rows as they are stored: the server only reads them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_client::Client;
use bobbin_model::{ApprovalKind, Decision, Lines, UnixMillis, visible};
use bobbin_native_wire::audit::types::AuditListResult;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{config, console, state, telemetry};
use bobbin_store::{AuditCheck, AuditEntry, AuditRow, Cause, Deed, decoded};
use clap::{Args, Subcommand};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::{Value, json};

use crate::call::{ask_server, asking, call};

/// Arguments of `bobbin audit`.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    /// Leave out what was before: a day, a time such as 2027-03-01T08:00:00Z, or an age such as 30d.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<UnixMillis>,
    /// Leave out what was at that time or later.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<UnixMillis>,
    /// Show only what a person did; `owner` stands for you.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Show only what was done in a thread.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Print JSON, an entry a line.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check that no entry is missing or was changed.
    Verify,
    /// Remove the entries before a time. An entry says so.
    Cut {
        /// A day, a time or an age, as for `--since`.
        #[arg(long, value_name = "TIME", value_parser = time)]
        before: UnixMillis,
    },
}

/// Shows, checks or removes.
pub(crate) async fn run(audit: Audit) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let workspace = state::workspace(audit.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    ask_server(
        &workspace,
        &config,
        asking("bobbin-audit"),
        async |client| match &audit.action {
            None => show(client, &audit).await,
            Some(Action::Verify) => verify(client).await,
            Some(Action::Cut { before }) => cut(client, *before).await,
        },
    )
    .await
}

async fn show(client: &Client, audit: &Audit) -> anyhow::Result<ExitCode> {
    let mut is_empty = true;
    each(client, |row| {
        let Some(entry) = decoded(&row) else {
            console::say(&format!("{}  an entry of a later version", row.seq));
            return Ok(());
        };
        if !audit.shows(&entry) {
            return Ok(());
        }
        is_empty = false;
        if audit.json {
            let entry: Value = serde_json::from_str(&row.entry)?;
            console::say(&json!({ "seq": row.seq, "entry": entry, "hash": row.hash }).to_string());
        } else {
            console::say(&visible(&line(&entry), Lines::One));
        }
        Ok(())
    })
    .await?;
    if is_empty && !audit.json {
        console::note("There is no entry.");
    }
    Ok(ExitCode::SUCCESS)
}

async fn verify(client: &Client) -> anyhow::Result<ExitCode> {
    let mut check = AuditCheck::default();
    each(client, |row| Ok(check.take(&row)?)).await?;
    let head = check.finish()?;
    if head.seq == 0 {
        console::say("There is no entry.");
    } else {
        console::say(&format!(
            "Nothing is missing and nothing was changed up to entry {}.",
            head.seq
        ));
        console::say(&head.hash);
    }
    Ok(ExitCode::SUCCESS)
}

async fn cut(client: &Client, before: UnixMillis) -> anyhow::Result<ExitCode> {
    let (mut check, mut last) = (AuditCheck::default(), None);
    each(client, |row| {
        check.take(&row)?;
        if decoded(&row).is_some_and(|entry| entry.at < before) {
            last = Some(row.seq);
        }
        Ok(())
    })
    .await?;
    // What is removed cannot be checked later.
    check.finish()?;
    let Some(up_to) = last else {
        bail!("there is no entry before that time");
    };
    call::<Value>(client, "audit/cut", &json!({ "upTo": up_to })).await?;
    console::say(&format!("Removed: the entries up to {up_to}."));
    Ok(ExitCode::SUCCESS)
}

/// Reads all rows, oldest first.
async fn each(client: &Client, mut take: impl FnMut(AuditRow) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut after = 0;
    loop {
        let listed: AuditListResult = call(client, "audit/list", &json!({ "after": after })).await?;
        if listed.rows.is_empty() {
            return Ok(());
        }
        for row in listed.rows {
            after = row.seq;
            take(AuditRow {
                seq: row.seq,
                entry: row.entry,
                hash: row.hash,
            })?;
        }
    }
}

impl Audit {
    fn shows(&self, entry: &AuditEntry) -> bool {
        let actor = entry.actor.as_ref().map_or("owner", |person| &person.name);
        self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
            && self.actor.as_ref().is_none_or(|name| name == actor)
            && self
                .thread
                .as_ref()
                .is_none_or(|thread| entry.thread.as_ref().is_some_and(|id| id.as_str() == thread))
    }
}

/// Returns an entry as a line.
fn line(entry: &AuditEntry) -> String {
    let at = Timestamp::from_millisecond(entry.at.0).unwrap_or_default();
    let actor = entry
        .actor
        .as_ref()
        .map_or_else(|| "owner".to_owned(), ToString::to_string);
    let thread = entry.thread.as_ref().map_or_else(String::new, |thread| {
        let turn = entry.turn.map_or_else(String::new, |turn| format!(" {turn}"));
        format!("  {thread}{turn}")
    });
    let client = entry
        .client
        .as_ref()
        .map_or_else(String::new, |client| format!("  by {client}"));
    format!("{at:.3}  {actor}  {}{thread}{client}", done(&entry.deed))
}

fn done(deed: &Deed) -> String {
    match deed {
        Deed::TurnStarted {
            command: Some(command),
            ..
        } => format!("ran `{command}`"),
        Deed::TurnStarted { command: None, .. } => "started a turn".to_owned(),
        Deed::Answered {
            decision,
            cause,
            kind,
            operation,
            target,
            rule,
        } => {
            let what = match kind {
                ApprovalKind::Shell => "a command",
                ApprovalKind::File => "a file",
                ApprovalKind::RemoteResource => "a request",
            };
            let how = match decision {
                Decision::Accept => "allowed once",
                Decision::AcceptForSession => "allowed in this thread",
                Decision::AcceptAlways => "always allowed",
                Decision::Decline => "declined",
                Decision::Cancel => "declined, and stopped the turn",
            };
            let why = match cause {
                None => "",
                Some(Cause::SameScope) => " (the answer to another request covered it)",
                Some(Cause::Interrupt) => " (the turn was stopped)",
                Some(Cause::Timeout) => " (nobody answered in time)",
                Some(Cause::Policy) => " (nobody could be asked)",
                Some(Cause::CallEnded) => " (the call ended)",
            };
            let of = match (operation, target) {
                (Some(operation), Some(target)) => format!(": `{operation}` {target}"),
                _ => String::new(),
            };
            let rule = rule
                .as_ref()
                .map_or_else(String::new, |rule| format!(", rule `{rule}`"));
            format!("{how} {what}{why}{of}{rule}")
        }
        Deed::Requested { method } => format!("asked for {method}"),
        Deed::Cut { up_to, .. } => format!("removed the entries up to {up_to}"),
    }
}

/// Reads a day, a time, or an age.
fn time(text: &str) -> Result<UnixMillis, String> {
    let at = if let Ok(at) = text.parse::<Timestamp>() {
        Ok(at)
    } else if let Ok(day) = text.parse::<Date>() {
        day.to_zoned(TimeZone::system()).map(|day| day.timestamp())
    } else {
        let now = Timestamp::now().to_zoned(TimeZone::UTC);
        let age = text.parse::<Span>().map_err(|_| {
            format!("{text:?} is no day, no time such as 2027-03-01T08:00:00Z and no age such as 30d")
        })?;
        now.checked_sub(age.abs()).map(|at| at.timestamp())
    };
    let at = at.map_err(|error| error.to_string())?;
    Ok(UnixMillis(at.as_millisecond()))
}
