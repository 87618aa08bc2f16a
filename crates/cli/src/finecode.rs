//! `bobbin finecode`: lists and runs actions of FineCode projects, without a server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use bobbin_children::Environment;
use bobbin_finecode::{
    ActionInfo, DevEnv, Event, Format, Host, Outcome, Presets, Progress, ProjectStatus, RunError, RunEvent,
    RunRequest, RunnerState, Trigger, findings,
};
use bobbin_workspace::TrustFile;
use clap::{Args, Subcommand};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use bobbin_server::environment::children;
use bobbin_server::finecode::host;
use bobbin_server::signals::Signals;
use bobbin_server::{config, console, exit, state};

/// The action ran and is not content: a linter has found something, a build has failed.
const NOT_CLEAN: u8 = 3;

/// Arguments of `bobbin finecode`.
#[derive(Debug, Args)]
pub(crate) struct FineCodeCommand {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List projects and their actions. Starts runners where presets have to be found and you trust the folder.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run an action in each project that has it.
    ///
    /// Exit codes: 0 clean, 1 could not run, 2 wrong usage, 3 it ran and is not clean, 5 interrupted.
    Run {
        /// Its name or import path.
        name: String,
        /// Values of the payload as NAME=VALUE; a value that is JSON counts as JSON.
        #[arg(value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// The whole payload as JSON.
        #[arg(long, value_name = "JSON", conflicts_with = "values")]
        payload: Option<String>,
        /// Only in this project, by its directory; may be repeated.
        #[arg(long, value_name = "DIR")]
        project: Vec<PathBuf>,
        /// Print results as JSON, one line for each project.
        #[arg(long)]
        json: bool,
    },
}

/// Does what was asked.
pub(crate) async fn run(finecode: FineCodeCommand) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let workspace = state::workspace(finecode.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    for warning in &config.warnings {
        console::complain(warning);
    }
    let trust = TrustFile::of(&state::directory()?, &workspace.root);
    let environment = Environment::from_base(std::env::vars_os());
    let host = host(
        &workspace.root,
        &config,
        trust,
        (children(), environment),
        // Its user has started it, as in a terminal.
        None,
        Arc::new(|event| announce(&event)),
    );
    let done = tokio::select! {
        done = act(&host, &workspace.root, finecode.action) => done,
        () = signals.next() => Ok(ExitCode::from(exit::INTERRUPTED)),
    };
    host.end().await;
    done
}

fn announce(event: &Event) {
    match event {
        Event::Message(message) => console::note(&format!("{}: {}", message.env, message.text)),
        Event::Debugger { env, address, .. } => {
            console::note(&format!("the runner of {env} waits for a debugger at {address}"));
        }
        Event::Runner(runner) if runner.state == RunnerState::Initializing => {
            console::note(&format!("starting the runner of {}", runner.env));
        }
        Event::Runner(_) => {}
    }
}

async fn act(host: &Host, root: &Path, action: Action) -> anyhow::Result<ExitCode> {
    match action {
        Action::List { json } => {
            list(host, root, json).await;
            Ok(ExitCode::SUCCESS)
        }
        Action::Run {
            name,
            values,
            payload,
            project,
            json,
        } => {
            let payload = match payload {
                Some(payload) => RawValue::from_string(payload).context("--payload is not JSON")?,
                None => from_values(&values)?,
            };
            let request = RunRequest {
                action: name,
                projects: (!project.is_empty()).then_some(project),
                concurrently: true,
                payload,
                formats: vec![Format::Json, Format::String],
                partial_results: false,
                trigger: Trigger::User,
                dev_env: DevEnv::Cli,
                client: None,
            };
            run_action(host, root, &request, json).await
        }
    }
}

async fn list(host: &Host, root: &Path, json: bool) {
    let actions = host.actions(None, Presets::Load).await;
    let projects = host.projects().await;
    if projects.is_empty() && !json {
        console::say("No directory here has a pyproject.toml.");
    }
    for project in projects {
        let own: Vec<&ActionInfo> = actions
            .iter()
            .filter(|action| action.project == project.path)
            .collect();
        let path = bobbin_files::shown(root, &project.path);
        if json {
            let actions: Vec<_> = own
                .iter()
                .map(|action| {
                    json!({
                        "name": action.name, "source": action.source, "canonicalSource": action.canonical_source,
                        "envs": action.envs, "handlers": action.handlers,
                    })
                })
                .collect();
            console::data(&json!({
                "path": project.path, "name": project.name, "status": project.status,
                "problems": project.problems, "actions": actions,
            }));
            continue;
        }
        let status = match project.status {
            ProjectStatus::Valid => "",
            ProjectStatus::NoConfig => "  does not use FineCode",
            ProjectStatus::Invalid => "  cannot be used",
            ProjectStatus::Untrusted => "  waits: `bobbin trust` shows what the folder brings",
        };
        console::say(&format!("{path}  {}{status}", project.name));
        for action in own {
            console::say(&format!("  {}  {}", action.name, action.envs.join(", ")));
        }
        for problem in &project.problems {
            console::complain(problem);
        }
    }
}

async fn run_action(host: &Host, root: &Path, request: &RunRequest, json: bool) -> anyhow::Result<ExitCode> {
    let sink = Arc::new(|event| {
        if let RunEvent::Progress(progress) = event {
            show(&progress);
        }
    });
    let outcomes = host.run(request, Some(sink)).await;
    let mut failed = complain(host, root, request, outcomes.as_deref().unwrap_or_default()).await;
    let outcomes = outcomes.map_err(anyhow::Error::new)?;
    let several = outcomes.len() > 1;
    let mut clean = true;
    for (project, outcome) in outcomes {
        let path = bobbin_files::shown(root, &project);
        match outcome {
            Ok(outcome) => {
                clean &= outcome.return_code.unwrap_or(0) == 0;
                if json {
                    let result = outcome.json.as_deref();
                    console::data(&json!({
                        "project": project, "status": outcome.status.name(), "returnCode": outcome.return_code,
                        "result": result, "text": outcome.text,
                    }));
                } else {
                    if several {
                        console::say(&format!("{path}:"));
                    }
                    print(&outcome, root);
                }
            }
            Err(error) => {
                failed = true;
                if json {
                    console::data(&json!({ "project": project, "error": error.to_string() }));
                }
                error
                    .to_string()
                    .lines()
                    .for_each(|line| console::complain(&format!("{path}: {line}")));
            }
        }
    }
    Ok(match (failed, clean) {
        (true, _) => ExitCode::from(exit::FAILED),
        (false, false) => ExitCode::from(NOT_CLEAN),
        (false, true) => ExitCode::SUCCESS,
    })
}

/// Says what is wrong with the configuration of the projects of a run, and returns whether something is. Of the projects
/// that did not run, one that cannot be used counts too: it might have the action.
async fn complain(
    host: &Host,
    root: &Path,
    request: &RunRequest,
    outcomes: &[(PathBuf, Result<Outcome, RunError>)],
) -> bool {
    let mut wrong = false;
    for project in host.projects().await {
        let concerned = match &request.projects {
            Some(named) => named.iter().any(|path| root.join(path) == project.path),
            None => {
                project.status == ProjectStatus::Invalid
                    || outcomes.iter().any(|(path, _)| *path == project.path)
            }
        };
        if concerned {
            wrong |= !project.problems.is_empty();
            project
                .problems
                .iter()
                .for_each(|problem| console::complain(problem));
        }
    }
    wrong
}

/// Prints a result: findings as lines, else the action's text, else its JSON.
fn print(outcome: &Outcome, root: &Path) {
    let findings = outcome.json.as_ref().and_then(|json| findings(json.get(), root));
    let text = findings.or_else(|| outcome.text.clone());
    // An action that streams and finds nothing has an empty result.
    let json = outcome
        .json
        .as_deref()
        .map(RawValue::get)
        .filter(|json| *json != "{}");
    let text = text.or_else(|| json.map(str::to_owned));
    text.unwrap_or_default().lines().for_each(console::say);
}

fn show(progress: &Progress) {
    let percent =
        |percentage: &Option<f64>| percentage.map_or_else(String::new, |done| format!(" {done:.0}%"));
    match progress {
        Progress::Begin { title, .. } => console::note(title),
        Progress::Report { message, percentage } => {
            console::note(&format!(
                " {}{}",
                message.as_deref().unwrap_or("…"),
                percent(percentage)
            ));
        }
        Progress::End {
            message: Some(message),
        } => console::note(message),
        Progress::End { message: None } => {}
    }
}

/// Returns the payload that NAME=VALUE arguments make.
fn from_values(values: &[String]) -> anyhow::Result<Box<RawValue>> {
    let mut payload = Map::new();
    for value in values {
        let Some((name, text)) = value.split_once('=') else {
            bail!("{value:?} is not NAME=VALUE");
        };
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        payload.insert(name.to_owned(), value);
    }
    Ok(serde_json::value::to_raw_value(&payload)?)
}
