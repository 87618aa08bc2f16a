//! `bobbin rules`: shows the rules in force and what is always allowed, removes that, and says what would happen
//! to a command line, or to those that agents have run before.
//!
//! Asks the server that runs in the workspace, so that what is taken back does not count there any more. Where none runs,
//! the command opens the workspace by itself, and starts and resumes nothing in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_client::Client;
use bobbin_model::{ApprovalKind, Judgement};
use bobbin_native_wire::policy::types;
use bobbin_native_wire::policy::types::{ApprovalRulesListResult, PolicyExplainResult, StandingAnswer};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::call::{ask_server, asking, call};
use crate::threads;
use bobbin_server::config;
use bobbin_server::state;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, telemetry};

/// Commands that `test` judges at most.
const MAX_COMMANDS: usize = 500;

/// Arguments of `bobbin rules`.
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the rules in force and what is always allowed (the default).
    List,
    /// Remove requests from what is always allowed.
    Forget {
        /// Their numbers, as `bobbin rules` lists them.
        #[arg(value_name = "N", required_unless_present = "all")]
        numbers: Vec<usize>,
        /// All of them.
        #[arg(long, conflicts_with = "numbers")]
        all: bool,
    },
    /// Say what would happen to a command line, and why. Runs nothing.
    Explain {
        /// The line, as an agent would write it.
        line: String,
    },
    /// Say what would happen now to the commands that agents have run in this workspace. Runs nothing.
    Test {
        /// Look at the last so many threads.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        threads: u32,
    },
}

/// Does what was asked.
pub(crate) async fn run(rules: Rules) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let workspace = state::workspace(rules.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let action = rules.action.unwrap_or(Action::List);
    let root = workspace.root.to_string_lossy().into_owned();
    let mut options = asking("bobbin-rules");
    options.capabilities.sandboxed_policy = true;
    ask_server(&workspace, &config, options, async |client| {
        act(client, action, &root).await
    })
    .await
}

async fn act(client: &Client, action: Action, root: &str) -> anyhow::Result<ExitCode> {
    match action {
        Action::List => list(&listed(client).await?),
        Action::Forget { all: true, .. } => {
            let count = listed(client).await?.answers.len();
            call::<Value>(client, "approval/rules/remove", &json!({})).await?;
            console::say(&format!("Removed: all that was always allowed ({count})."));
        }
        Action::Forget { numbers, .. } => forget(client, &numbers).await?,
        Action::Explain { line } => {
            explain(&call(client, "policy/explain", &json!({ "command": line })).await?);
        }
        Action::Test { threads } => test(client, root, threads).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn listed(client: &Client) -> anyhow::Result<ApprovalRulesListResult> {
    call(client, "approval/rules/list", &json!({})).await
}

fn list(listed: &ApprovalRulesListResult) {
    if listed.rules.is_empty() {
        console::say("There are no rules (Permissions.Rules): plain reads run, all else is asked about.");
    } else {
        console::say("Rules in force; deny beats ask beats allow:");
    }
    for rule in &listed.rules {
        let why = rule
            .reason
            .as_ref()
            .map_or_else(String::new, |why| format!(": {why}"));
        console::say(&format!("  {}  ({}){why}", rule.text, rule.source));
    }
    if listed.answers.is_empty() {
        console::say("Nothing is always allowed yet.");
        return;
    }
    console::say("Always allowed; these exact requests, in every thread of this workspace:");
    for (number, answer) in (1..).zip(&listed.answers) {
        console::say(&format!("  {number}  {}", covered(answer)));
    }
    console::say("`bobbin rules forget N` takes one back, `bobbin rules forget --all` all of them.");
}

async fn forget(client: &Client, numbers: &[usize]) -> anyhow::Result<()> {
    let answers = listed(client).await?.answers;
    let mut chosen = Vec::new();
    for number in numbers {
        match number.checked_sub(1).and_then(|at| answers.get(at)) {
            Some(answer) => chosen.push(answer),
            None => bail!("there is no answer {number}; `bobbin rules` lists those there are"),
        }
    }
    let ids: Vec<&str> = chosen.iter().map(|answer| answer.id.as_str()).collect();
    call::<Value>(client, "approval/rules/remove", &json!({ "ids": ids })).await?;
    for answer in chosen {
        console::say(&format!("Taken back: {}", covered(answer)));
    }
    Ok(())
}

/// Says of each command that agents have run what would happen to it now: refused ones first, then those that are asked
/// about, each with how often it ran.
async fn test(client: &Client, root: &str, count: u32) -> anyhow::Result<()> {
    let mut params = threads::of_every_channel(client, root).await?;
    params["limit"] = count.into();
    params["includeArchived"] = true.into();
    params["includeSubAgents"] = true.into();
    let listed: Value = call(client, "thread/list", &params).await?;
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for thread in listed["data"].as_array().into_iter().flatten() {
        let thread = threads::export::whole(client, thread["id"].as_str().unwrap_or_default()).await?;
        let turns = thread["turns"].as_array().into_iter().flatten();
        let items = turns.flat_map(|turn| turn["items"].as_array().into_iter().flatten());
        for item in items.filter(|item| item["type"] == "toolCall") {
            if let Some(command) = item["payload"]["arguments"]["command"].as_str() {
                *ran.entry(command.to_owned()).or_default() += 1;
            }
        }
    }
    let mut judged = Vec::new();
    for (command, times) in ran.iter().take(MAX_COMMANDS) {
        let explained: PolicyExplainResult =
            call(client, "policy/explain", &json!({ "command": command })).await?;
        let (order, what) = match explained.outcome {
            types::PolicyOutcome::Refused => (0, "refused"),
            types::PolicyOutcome::Asks | types::PolicyOutcome::Interrupts => (1, "asks"),
            _ => (2, "runs"),
        };
        judged.push((order, std::cmp::Reverse(*times), what, command));
    }
    judged.sort();
    for (_, std::cmp::Reverse(times), what, command) in &judged {
        console::say_quoted(&console::labelled(&format!("{what:8}{times:>4} x  "), command));
    }
    if judged.is_empty() {
        console::note("no agent has run a command in these threads");
    }
    if ran.len() > MAX_COMMANDS {
        console::note(&format!(
            "{} more commands are left out",
            ran.len() - MAX_COMMANDS
        ));
    }
    Ok(())
}

/// Returns what an answer covers, in the words of its question.
fn covered(answer: &StandingAnswer) -> String {
    let StandingAnswer {
        operation, target, ..
    } = answer;
    let what = match answer.approval_type {
        ApprovalKind::Shell => format!("run `{operation}` in {target}"),
        ApprovalKind::File | ApprovalKind::RemoteResource => format!("{operation} {target}"),
    };
    // A condition names a program with its digest, or says what confines the command.
    let is_program = |condition: &&String| condition.contains(" sha256:");
    let (programs, places): (Vec<_>, Vec<_>) = answer.conditions.iter().partition(is_program);
    let places: String = places.iter().flat_map(|place| [", ", place.as_str()]).collect();
    if programs.is_empty() {
        return format!("{what}{places}");
    }
    let programs: Vec<&str> = programs.into_iter().map(String::as_str).collect();
    format!("{what}{places}  (only with {})", programs.join(", "))
}

fn explain(explained: &PolicyExplainResult) {
    use types::PolicyOutcome;
    let outcome = match explained.outcome {
        PolicyOutcome::Runs => "It runs without a question",
        PolicyOutcome::Asks => "You are asked",
        PolicyOutcome::Answered => "It runs: you always allow it. Otherwise you would be asked",
        PolicyOutcome::AutoApproved => {
            "It runs: the approval policy is autoApprove. Otherwise you would be asked"
        }
        PolicyOutcome::RunsSandboxed => {
            "It runs where the sandbox confines it: the approval policy is sandboxed. Elsewhere you are asked"
        }
        PolicyOutcome::Interrupts => {
            "The turn ends: the approval policy is interrupt. Otherwise you would be asked"
        }
        PolicyOutcome::Refused => "It is refused",
    };
    console::say(&format!("{outcome}: {}.", explained.reason));
    for part in &explained.commands {
        let judgement = match part.judgement {
            Judgement::Allow => "allow",
            Judgement::Ask => "ask",
            Judgement::Deny => "deny",
        };
        console::say(&format!("  {judgement:5}  `{}`: {}", part.command, part.reason));
    }
    for concern in &explained.concerns {
        console::say(&format!("  as a whole: {concern}"));
    }
}
