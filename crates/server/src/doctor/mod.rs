//! Checks of this machine and workspace, with advice for each problem: for `bobbin doctor`, and for clients of a
//! running server. Features have their own checks; those here are of the listener, the database and the models.
//!
//! A check reads or tries something and changes nothing. Findings contain names of variables, never their values.

mod database;
mod model;
mod surroundings;

use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::checks::{DoctorFinding, DoctorLevel, DoctorReport};
use bobbin_children::{Environment, Exit, Limits, ProcessSpec};
use bobbin_config::Config;
use bobbin_native::groups::doctor::Doctor;
use bobbin_tools::{check_sandbox, check_variables};
use bobbin_workspace::{TrustFile, Workspace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::environment::children;
use crate::models::variable;
use crate::shell::shell;
use crate::{config, managed, state};

/// Time in which `codex` says its version.
const CODEX_TIME: Duration = Duration::from_secs(3);

/// Runs every check for the workspace at a path, or for the one of the current directory.
pub fn run(workspace: Option<&Path>) -> BoxFuture<'static, Vec<DoctorFinding>> {
    checks(
        state::workspace(workspace),
        Environment::from_base(std::env::vars_os()),
    )
    .boxed()
}

/// Returns the checks of a running server, which starts its own processes with `environment`.
pub(crate) fn of_server(workspace: &Workspace, environment: &Environment) -> Doctor {
    let (workspace, environment) = (workspace.clone(), environment.clone());
    Doctor::new(move || checks(Ok(workspace.clone()), environment.clone()).boxed())
}

async fn checks(workspace: anyhow::Result<Workspace>, environment: Environment) -> Vec<DoctorFinding> {
    let mut report = DoctorReport::default();
    report.add("version", DoctorLevel::Ok, env!("CARGO_PKG_VERSION"));
    match workspace {
        Ok(workspace) => {
            report.add("workspace", DoctorLevel::Ok, workspace.root.display().to_string());
            surroundings::rights(&workspace, &mut report);
            report.add("state", DoctorLevel::Ok, workspace.folder().display().to_string());
            let config = configuration(&workspace, &mut report);
            database::database(&workspace, config.as_ref(), &mut report).await;
            if let Some(config) = config {
                if workspace.holder().is_none() {
                    surroundings::port(&config, &mut report);
                }
                surroundings::tls(&config, &mut report);
                surroundings::page(&config, &mut report);
                model::model(&config, &mut report).await;
                let path = environment.get("PATH").unwrap_or_default();
                bobbin_mcp::check(
                    &config.tool_servers,
                    &workspace.root,
                    path,
                    &variable,
                    &mut report,
                );
                bobbin_engine_acp::check(&config.engines, &workspace.root, path, &variable, &mut report);
                plugins(&config, &workspace, &mut report);
                let home = state::home();
                bobbin_imports::check(&config.brought, &workspace.root, home.as_deref(), &mut report);
                sandbox(&config, &workspace, &environment, &mut report).await;
                check_variables(&config.variables, managed::own_variables(), &mut report);
            }
            undo(&workspace, &environment, &mut report).await;
        }
        Err(error) => report.add("workspace", DoctorLevel::Error, format!("{error:#}")),
    }
    codex(&environment, &mut report).await;
    commands(environment, &mut report).await;
    report.0
}

fn configuration(workspace: &Workspace, report: &mut DoctorReport) -> Option<Config> {
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
            report.add("configuration", DoctorLevel::Ok, text);
            let rules = config.permissions.rules.len();
            match config.permissions.compile(state::home().as_deref()) {
                Ok(_) => report.add(
                    "rules",
                    DoctorLevel::Ok,
                    format!("{rules} of your own; plain reads run without a question"),
                ),
                Err(error) => report.add("rules", DoctorLevel::Error, format!("{error:#}")),
            }
            for warning in &config.warnings {
                report.add("configuration", DoctorLevel::Warning, warning);
            }
            Some(config)
        }
        Err(error) => {
            report.add("configuration", DoctorLevel::Error, format!("{error:#}"));
            None
        }
    }
}

fn plugins(config: &Config, workspace: &Workspace, report: &mut DoctorReport) {
    let place = crate::plugins::place(&workspace.root, state::home().as_deref());
    let record = state::directory().map(|state| TrustFile::of(&state, &workspace.root).read());
    bobbin_plugins::check(&place, &config.plugins, &record.unwrap_or_default(), report);
}

async fn sandbox(
    config: &Config,
    workspace: &Workspace,
    environment: &Environment,
    report: &mut DoctorReport,
) {
    let children = children();
    let sandbox = crate::sandbox::of(config, workspace, state::home().as_deref(), &children);
    match tempfile::tempdir() {
        Ok(place) => {
            let with = (&children, environment);
            check_sandbox(&sandbox, &workspace.root, with, place.path(), report).await;
        }
        Err(error) => {
            let text = format!("no temporary directory: {error}");
            report.add("sandbox", DoctorLevel::Error, text);
        }
    }
}

async fn undo(workspace: &Workspace, environment: &Environment, report: &mut DoctorReport) {
    let Ok(place) = tempfile::tempdir() else {
        let text = "not tried: there is no temporary directory";
        return report.add("undo", DoctorLevel::Warning, text);
    };
    let with = (children(), environment);
    bobbin_undo::check(&workspace.root, with, place.path(), report).await;
}

/// Reports an installed Codex client that is newer than those that were tried. Without one it reports nothing.
async fn codex(environment: &Environment, report: &mut DoctorReport) {
    let spec = ProcessSpec::new("codex", std::env::temp_dir(), environment.clone()).arg("--version");
    let limits = Limits {
        wall_clock: CODEX_TIME,
        ..Limits::default()
    };
    let outcome = children()
        .run(spec, &limits, None, &CancellationToken::new())
        .await;
    if let Some(text) = outcome
        .ok()
        .and_then(|outcome| bobbin_codex::untried(&outcome.output.text))
    {
        report.add("codex", DoctorLevel::Ok, text);
    }
}

async fn commands(environment: Environment, report: &mut DoctorReport) {
    let shell = shell();
    let spec = ProcessSpec::shell(&shell, "true", std::env::temp_dir(), environment);
    let limits = Limits::default();
    let outcome = children()
        .run(spec, &limits, None, &CancellationToken::new())
        .await;
    match outcome {
        Ok(outcome) if outcome.exit == Exit::Exited(0) => {
            report.add(
                "commands",
                DoctorLevel::Ok,
                format!(
                    "run by {}, in a group of their own, and end with the server",
                    shell.name()
                ),
            );
        }
        Ok(outcome) => report.add(
            "commands",
            DoctorLevel::Error,
            format!("`true` ended with {:?}", outcome.exit),
        ),
        Err(error) => report.add("commands", DoctorLevel::Error, error.to_string()),
    }
}
