//! `bobbin doctor`: says what works here and what does not, and what to do about it.

mod sandbox;
mod surroundings;

use std::path::PathBuf;
use std::process::ExitCode;

use bobbin_children::{ChildError, Children, Environment, Exit, Limits, Outcome, ProcessSpec};
use bobbin_models::{Chosen, ProviderError};
use bobbin_store::Store;
use bobbin_store_sqlite::{Options, SqliteStore};
use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use bobbin_config::Config;
use bobbin_serve::config;
use bobbin_serve::server::children;
use bobbin_serve::shell::shell;
use bobbin_serve::state;
use bobbin_serve::{console, exit, models};
use bobbin_workspace::Workspace;

/// Arguments of `bobbin doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The workspace; the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Note,
    Bad,
}

#[derive(Default)]
struct Report(Vec<(&'static str, Verdict, String)>);

impl Report {
    fn add(&mut self, what: &'static str, verdict: Verdict, text: impl Into<String>) {
        self.0.push((what, verdict, text.into()));
    }

    fn healthy(&self) -> bool {
        self.0.iter().all(|line| line.1 != Verdict::Bad)
    }
}

/// Runs every check; exits with 1 when one is bad.
pub(crate) async fn run(doctor: Doctor) -> anyhow::Result<ExitCode> {
    let mut report = Report::default();
    report.add("version", Verdict::Good, env!("CARGO_PKG_VERSION"));
    match state::workspace(doctor.workspace.as_deref()) {
        Ok(workspace) => {
            report.add("workspace", Verdict::Good, workspace.root.display().to_string());
            surroundings::rights(&workspace, &mut report);
            report.add("state", Verdict::Good, workspace.folder().display().to_string());
            let config = configuration(&workspace, &mut report);
            database(&workspace, &mut report).await;
            if let Some(config) = config {
                if workspace.holder().is_none() {
                    surroundings::port(&config, &mut report);
                }
                surroundings::tls(&config, &mut report);
                model(&config, &mut report).await;
                surroundings::tool_servers(&config, &workspace, &mut report);
                sandbox::sandbox(&config, &workspace, &mut report).await;
                surroundings::variables(&config, &mut report);
            }
            surroundings::undo(&workspace, &mut report).await;
        }
        Err(error) => report.add("workspace", Verdict::Bad, format!("{error:#}")),
    }
    commands(&mut report).await;
    show(&report, doctor.json);
    Ok(if report.healthy() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::FAILED)
    })
}

fn configuration(workspace: &Workspace, report: &mut Report) -> Option<Config> {
    match config::read(&workspace.root, state::home().as_deref()) {
        Ok(config) => {
            let sources: Vec<_> = config
                .sources
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let text = if sources.is_empty() {
                "defaults".to_owned()
            } else {
                sources.join(", ")
            };
            report.add("configuration", Verdict::Good, text);
            let rules = config.rules.count();
            match config.rules.compile(state::home().as_deref()) {
                Ok(_) => report.add(
                    "rules",
                    Verdict::Good,
                    format!("{rules} of your own; plain reads run without a question"),
                ),
                Err(error) => report.add("rules", Verdict::Bad, format!("{error:#}")),
            }
            for warning in &config.warnings {
                report.add("configuration", Verdict::Note, warning);
            }
            Some(config)
        }
        Err(error) => {
            report.add("configuration", Verdict::Bad, format!("{error:#}"));
            None
        }
    }
}

/// Says what answers, and asks its provider for a list of models: that shows address, key and name.
async fn model(config: &Config, report: &mut Report) {
    const WHAT: &str = "model";
    let opened = match models::open(
        &config.models,
        state::home().as_deref(),
        config.agent.compact_percent,
    ) {
        Ok(opened) => opened,
        Err(error) => return report.add(WHAT, Verdict::Bad, format!("{error:#}")),
    };
    for complaint in opened.complaints {
        report.add(WHAT, Verdict::Bad, complaint);
    }
    let (provider, model) = match opened.models.choose(None) {
        Ok(Chosen::Provided { provider, model }) => (provider, model),
        Ok(Chosen::Offline) => {
            let text = format!(
                "offline: no model is configured; the built-in engine answers; {}",
                surroundings::how_to_have_a_model(config)
            );
            return report.add(WHAT, Verdict::Note, text);
        }
        // Reported above.
        Err(_) => return,
    };
    let (name, place) = (opened.models.usual(), provider.place());
    let key = match &provider.settings().key {
        Some(_) => format!("the key is from {}", provider.settings().key_source),
        None => "no key".to_owned(),
    };
    let (verdict, text) = match provider.models().await {
        Ok(listed) if listed.iter().any(|listed| listed.id == model) => {
            (Verdict::Good, format!("{name} at {place}, which has it; {key}"))
        }
        Ok(listed) => {
            let text = format!(
                "{name} at {place}, which lists {} others and not this one; {key}",
                listed.len()
            );
            (Verdict::Note, text)
        }
        Err(ProviderError::UnknownModel { .. } | ProviderError::Malformed { .. }) => (
            Verdict::Note,
            format!("{name} at {place}, which has no list of models; {key}"),
        ),
        Err(error) => (Verdict::Bad, format!("{name}: {error}")),
    };
    report.add(WHAT, verdict, text);
    if provider.shows_its_key() {
        let text = format!("the key goes to {place} unencrypted; use https");
        report.add(WHAT, Verdict::Note, text);
    }
}

/// What to do about a database that is not sound.
const SAVE: &str = "move bobbin.db* from the state directory to a safe place, then `bobbin import` takes in what can be \
                    read (docs/troubleshooting.md)";

async fn database(workspace: &Workspace, report: &mut Report) {
    if let Some(holder) = workspace.holder() {
        let place = holder.address.unwrap_or_else(|| "stdio only".to_owned());
        report.add(
            "server",
            Verdict::Good,
            format!("running, process {}, {place}", holder.pid),
        );
        report.add(
            "database",
            Verdict::Note,
            "in use by the running server; not checked",
        );
        return;
    }
    report.add("server", Verdict::Note, "not running");
    if !workspace.database().exists() {
        report.add("database", Verdict::Note, "none yet; made at the first start");
        return;
    }
    let held = match workspace.hold().await {
        Ok(held) => held,
        Err(error) => return report.add("database", Verdict::Bad, format!("{error:#}")),
    };
    match SqliteStore::open(&workspace.database(), Options::default()).await {
        Ok(store) => {
            let version = store.sqlite_version().await.unwrap_or_else(|_| "?".to_owned());
            match store.check().await {
                Ok(faults) if faults.is_empty() => {
                    report.add("database", Verdict::Good, format!("sound, SQLite {version}"));
                }
                Ok(faults) => report.add("database", Verdict::Bad, format!("{}; {SAVE}", faults.join("; "))),
                Err(error) => report.add("database", Verdict::Bad, format!("{error}; {SAVE}")),
            }
            store.close().await;
        }
        Err(error) => report.add("database", Verdict::Bad, format!("{error}; {SAVE}")),
    }
    drop(held);
}

async fn run_child(children: &Children, spec: ProcessSpec) -> Result<Outcome, ChildError> {
    let limits = Limits::default();
    children.run(spec, &limits, None, &CancellationToken::new()).await
}

async fn commands(report: &mut Report) {
    let environment = Environment::from_base(std::env::vars_os());
    let shell = shell();
    let spec = ProcessSpec::shell(&shell, "true", std::env::temp_dir(), environment);
    match run_child(&children(), spec).await {
        Ok(outcome) if outcome.exit == Exit::Exited(0) => {
            report.add(
                "commands",
                Verdict::Good,
                format!(
                    "run by {}, in a group of their own, and end with the server",
                    shell.name()
                ),
            );
        }
        Ok(outcome) => report.add(
            "commands",
            Verdict::Bad,
            format!("`true` ended with {:?}", outcome.exit),
        ),
        Err(error) => report.add("commands", Verdict::Bad, error.to_string()),
    }
}

fn show(report: &Report, json: bool) {
    let word = |verdict: Verdict| match verdict {
        Verdict::Bad => "bad",
        Verdict::Note => "note",
        Verdict::Good => "ok",
    };
    if json {
        let lines: Vec<_> = report
            .0
            .iter()
            .map(|(what, verdict, text)| json!({ "check": what, "verdict": word(*verdict), "text": text }))
            .collect();
        console::data(&json!({ "healthy": report.healthy(), "checks": lines }));
        return;
    }
    for (what, verdict, text) in &report.0 {
        console::say(&format!("{:5} {what:14} {text}", word(*verdict)));
    }
}
