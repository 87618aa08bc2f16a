//! Checks of this machine and workspace, with advice for each problem: for `bobbin doctor`, and for clients of a
//! running server.
//!
//! A check reads or tries something and changes nothing. Findings contain names of variables, never their values.

mod database;
mod model;
mod sandbox;
mod surroundings;

use std::path::Path;

use bobbin_children::{ChildError, Children, Environment, Exit, Limits, Outcome, ProcessSpec};
use bobbin_config::Config;
use bobbin_native::groups::doctor::Doctor;
use bobbin_native::groups::doctor::types::{DoctorFinding, DoctorLevel};
use bobbin_workspace::Workspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::environment::children;
use crate::shell::shell;
use crate::{config, state};

/// The findings of the checks so far.
#[derive(Default)]
struct Report(Vec<DoctorFinding>);

impl Report {
    fn add(&mut self, subject: &str, level: DoctorLevel, message: impl Into<String>) {
        self.0.push(DoctorFinding {
            level,
            subject: subject.to_owned(),
            message: message.into(),
            mend: None,
        });
    }

    /// Adds a finding with advice.
    fn add_mendable(
        &mut self,
        subject: &str,
        level: DoctorLevel,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.add(subject, level, message);
        if let Some(finding) = self.0.last_mut() {
            finding.mend = Some(mend.into());
        }
    }
}

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
    let mut report = Report::default();
    report.add("version", DoctorLevel::Ok, env!("CARGO_PKG_VERSION"));
    match workspace {
        Ok(workspace) => {
            report.add("workspace", DoctorLevel::Ok, workspace.root.display().to_string());
            surroundings::rights(&workspace, &mut report);
            report.add("state", DoctorLevel::Ok, workspace.folder().display().to_string());
            let config = configuration(&workspace, &mut report);
            database::database(&workspace, &mut report).await;
            if let Some(config) = config {
                if workspace.holder().is_none() {
                    surroundings::port(&config, &mut report);
                }
                surroundings::tls(&config, &mut report);
                surroundings::page(&config, &mut report);
                model::model(&config, &mut report).await;
                surroundings::tool_servers(&config, &workspace, &environment, &mut report);
                surroundings::plugins(&config, &workspace, &mut report);
                sandbox::sandbox(&config, &workspace, &environment, &mut report).await;
                surroundings::variables(&config, &mut report);
            }
            surroundings::undo(&workspace, &environment, &mut report).await;
        }
        Err(error) => report.add("workspace", DoctorLevel::Error, format!("{error:#}")),
    }
    commands(environment, &mut report).await;
    report.0
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

async fn run_child(children: &Children, spec: ProcessSpec) -> Result<Outcome, ChildError> {
    let limits = Limits::default();
    children.run(spec, &limits, None, &CancellationToken::new()).await
}

async fn commands(environment: Environment, report: &mut Report) {
    let shell = shell();
    let spec = ProcessSpec::shell(&shell, "true", std::env::temp_dir(), environment);
    match run_child(&children(), spec).await {
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
