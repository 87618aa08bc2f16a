//! `bobbin exec`: one prompt, as a client of the native endpoint like any other.
//!
//! Joins the server of the workspace, and starts it where there is none. Settings of the run (`--allow`, `--sandbox`) go along
//! with its Turn and count for no other. The agent's text goes to stdout, everything else to stderr. Everything that can be
//! wrong with the request is found before anything runs.

mod client;
mod input;
mod question;
mod render;
mod schema;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use bobbin_agent_api::model_catalog::DefaultSource;
use bobbin_agent_api::trust::TrustChange;
use bobbin_model::{Effort, SandboxProfile};
use bobbin_models::OFFLINE;
use bobbin_native_wire::item::usage::TokenUsage;
use bobbin_rules::{Rule, RuleText};
use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::time::Instant;

use bobbin_config::Config;
use bobbin_local::Joined;
use bobbin_server::models::variable;
use bobbin_server::signals::Signals;
use bobbin_server::state;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::trust::{Scan, TrustFile};
use bobbin_server::{attach, config};
use bobbin_server::{console, exit, telemetry};
use bobbin_workspace::Workspace;

use crate::chat::Chat;
use crate::first_start;
use client::{Approvals, End, Ended, Request, ThreadChoice, until};
pub(crate) use input::has_input;
use render::Output;
use schema::OutputSchema;

/// Arguments of `bobbin exec`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches of a command line"
)]
pub(crate) struct Exec {
    /// The prompt. `-` or nothing reads it from stdin; stdin beside a prompt is appended to it.
    pub(crate) prompt: Vec<String>,
    /// Continue this thread instead of starting one.
    #[arg(long, value_name = "ID", conflicts_with = "last")]
    pub(crate) thread: Option<String>,
    /// Continue the thread that was active last.
    #[arg(long)]
    pub(crate) last: bool,
    /// The model for this thread: offline, PROVIDER/MODEL, or a model that the configuration names.
    ///
    /// Later runs of the thread use it too. Left out, a new thread has the configuration's model.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The agent that runs the thread's turns: an engine of the configuration. Later runs of the thread use it too.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How much the model reasons in this run.
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    effort: Option<Effort>,
    /// Whether the agent may change things; later runs of the thread use it too.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Send a picture along; can be given several times.
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// Accept everything the agent asks for in this run.
    #[arg(long)]
    approve: bool,
    /// Allow commands of this pattern in this run; also tool:NAME or path:PATTERN. Rules that refuse still count.
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Which files commands may write in this run.
    #[arg(long, value_name = "PROFILE", value_enum)]
    sandbox: Option<Profile>,
    /// Start the turn and end: it goes on without this process, and waits where it has a question.
    #[arg(long, conflicts_with_all = ["timeout", "output_last_message", "output_schema"])]
    detach: bool,
    /// Trust this folder: what it brings along to run, to loosen or to instruct counts from now on.
    #[arg(long)]
    trust: bool,
    /// Interrupt the turn after this time: seconds, or 90s, 10m, 1h.
    #[arg(long, value_name = "TIME", value_parser = input::duration)]
    timeout: Option<Duration>,
    /// Print notifications as JSON lines instead of text, and a last line with the result.
    #[arg(long)]
    json: bool,
    /// Write the agent's last message to a file.
    #[arg(long, value_name = "FILE")]
    output_last_message: Option<PathBuf>,
    /// Demand an answer that is JSON of the form that this JSON Schema describes.
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    #[command(flatten)]
    log: LogOptions,
}

impl Exec {
    /// Returns the options that open the same conversation in a terminal.
    pub(crate) fn into_chat(self) -> Chat {
        Chat {
            prompt: Vec::new(),
            last: self.thread.is_none(),
            thread: self.thread,
            pick: false,
            plain: false,
            model: self.model,
            agent: self.agent,
            workspace: self.workspace,
            log: self.log,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// It may.
    Agent,
    /// It reads and plans.
    Plan,
}

/// The sandbox of commands.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "camelCase")]
enum Profile {
    /// No file can be written.
    ReadOnly,
    /// Files of the workspace and of a temporary directory can be written.
    WorkspaceWrite,
    /// All that you may; with the network nothing is confined.
    Full,
}

/// Opens the file that `--output-last-message` names.
fn last_message_file(path: &Path, workspace: &Path) -> anyhow::Result<std::fs::File> {
    let folders = state::others_folders(Some(workspace));
    let file = bobbin_files::overwrite_named(path, &folders);
    file.with_context(|| format!("{} cannot be written", path.display()))
}

/// Runs one prompt.
pub(crate) async fn run(exec: Exec) -> anyhow::Result<ExitCode> {
    telemetry::start(&exec.log, "error")?;
    let deadline = exec.timeout.map(|time| Instant::now() + time);
    let workspace = state::workspace(exec.workspace.as_deref())?;
    if exec.workspace.is_none() && std::env::current_dir().is_ok_and(|here| here != workspace.root) {
        console::note(&format!("workspace {}", workspace.root.display()));
    }
    let stdin_is_free = std::io::stdin().is_terminal() && exec.prompt != ["-"];
    let (config, trusted) = settle_trust(&workspace, exec.trust, stdin_is_free)?;
    let may_ask = stdin_is_free && std::io::stderr().is_terminal() && !exec.json;
    let says_itself = exec.approve || exec.detach || exec.sandbox.is_some() || !exec.allow.is_empty();
    if may_ask && !says_itself {
        first_start::choose_policy(&workspace).await?;
    }
    for text in &exec.allow {
        let rule = Rule::new(RuleText::allowing(text), state::home().as_deref());
        rule.with_context(|| format!("--allow {text}"))?;
    }
    let schema = exec
        .output_schema
        .as_deref()
        .map(OutputSchema::read)
        .transpose()?;
    let mut signals = Signals::listen()?;
    let mut text = match unless_ended(read_prompt(exec.prompt.clone()), &mut signals, deadline).await {
        Ok(text) => text?,
        Err(code) => return Ok(code),
    };
    if let Some(schema) = &schema {
        text = format!("{text}\n\n{}", schema.request());
    }
    let input = input::parts(&text, &exec.image)?;
    let last_message = exec.output_last_message.as_deref();
    let mut last_message = last_message
        .map(|path| last_message_file(path, &workspace.root))
        .transpose()?;
    let approvals = match (exec.approve, stdin_is_free) {
        (true, _) => Approvals::AcceptAll,
        (false, true) => Approvals::AskHere,
        (false, false) => Approvals::Nobody,
    };
    let thread = match (exec.thread, exec.last) {
        (Some(id), _) => ThreadChoice::Id(id),
        (None, true) => ThreadChoice::Last,
        (None, false) => ThreadChoice::New,
    };
    let output = match (exec.json, &schema) {
        (true, _) => Output::Json,
        (false, Some(_)) => Output::Nothing,
        (false, None) => Output::Text,
    };
    let chooses =
        variable("BOBBIN_MODEL").is_some() || matches!(config.models.source, DefaultSource::Key { .. });
    let own_default = chooses.then(|| {
        let model = config.models.model.clone();
        model.unwrap_or_else(|| OFFLINE.to_owned())
    });
    let request = Request {
        input,
        thread,
        agent: exec.agent,
        model: exec.model.map(|name| config.models.meaning(&name)),
        own_default,
        effort: exec.effort,
        mode: exec.mode.map(|mode| match mode {
            Mode::Agent => "agent",
            Mode::Plan => "plan",
        }),
        approvals,
        allow: exec.allow,
        sandbox: exec.sandbox.map(|profile| match profile {
            Profile::ReadOnly => SandboxProfile::ReadOnly,
            Profile::WorkspaceWrite => SandboxProfile::WorkspaceWrite,
            Profile::Full => SandboxProfile::Full,
        }),
        trusted,
        output,
        schema,
        deadline,
        detach: exec.detach,
        workspace: workspace.root.to_string_lossy().into_owned(),
    };
    let keys = attach::keys(&config.models);
    let joining = attach::native(&workspace, Duration::ZERO, &exec.log, keys, !exec.detach);
    let joined = match unless_ended(joining, &mut signals, deadline).await {
        Ok(joined) => joined?,
        Err(code) => return Ok(code),
    };
    let ended = with_server(&workspace, joined, request, &mut signals).await?;
    if let (Some(file), End::Done(answer)) = (&mut last_message, &ended.end) {
        file.write_all(answer.as_bytes())
            .context("the last message cannot be written")?;
    }
    Ok(conclude(&ended, output))
}

/// Runs the request with the server of the workspace, and leaves it.
async fn with_server(
    workspace: &Workspace,
    joined: Joined,
    request: Request,
    signals: &mut Signals,
) -> anyhow::Result<Ended> {
    for warning in joined.started.iter().flat_map(|ready| &ready.warnings) {
        console::complain(warning);
    }
    let database = workspace.database();
    let had_file = database.exists();
    let ended = client::run(joined.transport, request, signals).await;
    attach::leave(workspace).await?;
    // The server has ended with that in its log.
    if ended.is_err() && had_file && !database.exists() {
        return Err(exit::removed(&database).into());
    }
    ended
}

/// Waits for what comes before the Turn. Returns the exit code where the user or the time ends it.
async fn unless_ended<T>(
    first: impl Future<Output = T>,
    signals: &mut Signals,
    deadline: Option<Instant>,
) -> Result<T, ExitCode> {
    tokio::select! {
        done = first => Ok(done),
        () = signals.next() => Err(ExitCode::from(exit::INTERRUPTED)),
        () = until(deadline) => {
            console::complain("the time given with --timeout is over");
            Err(ExitCode::from(exit::TIMED_OUT))
        }
    }
}

/// Reads the prompt, and says what exec waits for where stdin stays open.
async fn read_prompt(words: Vec<String>) -> anyhow::Result<String> {
    let mut reading = tokio::task::spawn_blocking(move || input::prompt(&words));
    let read = tokio::select! {
        read = &mut reading => read,
        () = tokio::time::sleep(input::SILENT_STDIN) => {
            console::note("reading stdin; start with </dev/null if nothing comes from there");
            reading.await
        }
    };
    read.context("the prompt cannot be read")?
}

/// Says how the run ended, and returns the exit code.
fn conclude(ended: &Ended, output: Output) -> ExitCode {
    let (code, complaint) = match &ended.end {
        End::Done(_) | End::Detached => (0, None),
        End::Refused(operation) => (
            exit::REFUSED,
            Some(format!("an approval was refused: {operation}")),
        ),
        End::NotUnderstood => (
            exit::TURN_FAILED,
            Some("the offline model did not understand the prompt, and did nothing".to_owned()),
        ),
        End::WrongForm(fault) => (
            exit::WRONG_FORM,
            Some(format!("the answer does not fit --output-schema: {fault}")),
        ),
        End::Failed(error) => (exit::TURN_FAILED, Some(format!("the turn failed: {error}"))),
        End::Interrupted(how) => (exit::INTERRUPTED, Some(format!("the turn was interrupted {how}"))),
        End::TimedOut => (
            exit::TIMED_OUT,
            Some("the turn was interrupted: the time given with --timeout is over".to_owned()),
        ),
    };
    let answer = match &ended.end {
        End::Done(answer) => Some(answer),
        _ => None,
    };
    match output {
        Output::Json => console::data(&json!({
            "method": "bobbin/exec/ended",
            "params": {
                "threadId": ended.thread,
                "turnId": ended.turn,
                "exitCode": code,
                "answer": answer,
                "error": complaint,
                "tokenUsage": ended.usage,
                "cost": ended.cost,
            },
        })),
        // The form is checked, so this is the first that stdout gets.
        Output::Nothing => {
            if let Some(answer) = answer {
                console::stream(&format!("{answer}\n"));
            }
        }
        Output::Text => {}
    }
    if let Some(complaint) = complaint {
        console::complain(&complaint);
    }
    if output != Output::Json
        && let Some(used) = ended.usage.as_ref().map(|usage| used(usage, ended.cost))
    {
        console::note(&used);
    }
    ExitCode::from(code)
}

fn effort(name: &str) -> Result<Effort, String> {
    let names = || Effort::ALL.map(Effort::name).join(", ");
    Effort::of_name(name).ok_or_else(|| format!("the levels are {}", names()))
}

/// Returns what a Turn has used, as a line for the user.
fn used(usage: &TokenUsage, cost: Option<f64>) -> String {
    let part = |tokens: Option<u64>, what: &str| match tokens {
        Some(tokens) => format!(" ({} {what})", grouped(tokens)),
        None => String::new(),
    };
    let cost = cost.map_or_else(String::new, |cost| {
        let digits = if cost < 0.01 { 4 } else { 2 };
        format!(", ${cost:.digits$}")
    });
    format!(
        "{} in{}, {} out{}{cost}",
        grouped(usage.input_tokens),
        part(usage.cached_input_tokens, "cached"),
        grouped(usage.output_tokens),
        part(usage.reasoning_output_tokens, "reasoning"),
    )
}

/// Returns a number with a comma in front of every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Reads the configuration, and says what of the folder waits, or takes the user's trust in it. Returns also the fingerprints of
/// what is trusted anew.
pub(crate) fn settle_trust(
    workspace: &Workspace,
    trusts: bool,
    may_ask: bool,
) -> anyhow::Result<(Config, Option<Vec<String>>)> {
    let file = TrustFile::of(&state::directory()?, &workspace.root);
    let (record, home) = (file.read(), state::home());
    let config = config::read_with(&workspace.root, home.as_deref(), &record)?;
    let scan = Scan::of(&config, &record, &workspace.root, home.as_deref());
    let Some(sentence) = scan.sentence() else {
        return Ok((config, None));
    };
    let asks = may_ask && std::io::stderr().is_terminal();
    if trusts || asks && crate::trust::ask(&scan) {
        file.change(|record| scan.apply(&TrustChange::TrustAll, record))?;
        let fingerprints = scan.fingerprints().into_iter().map(str::to_owned).collect();
        let config = config::read(&workspace.root, home.as_deref())?;
        return Ok((config, Some(fingerprints)));
    }
    console::complain(&sentence);
    Ok((config, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_use_of_a_turn_is_one_line() {
        let usage = TokenUsage {
            input_tokens: 5380,
            cached_input_tokens: Some(4304),
            output_tokens: 10,
            ..TokenUsage::default()
        };
        let line = |cost| used(&usage, cost);
        assert_eq!(line(Some(0.003_093)), "5,380 in (4,304 cached), 10 out, $0.0031");
        assert_eq!(line(Some(1234.5)), "5,380 in (4,304 cached), 10 out, $1234.50");
        assert_eq!(line(None), "5,380 in (4,304 cached), 10 out");
        assert_eq!(grouped(1_000_000), "1,000,000");
    }
}
