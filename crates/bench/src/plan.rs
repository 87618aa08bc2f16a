//! A run: which scenarios, how long, against what.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use crate::Report;
use crate::link::Link;
use crate::process::{Process, command};
use crate::scenario::ALL;

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// As much as a figure needs.
    Full,
    /// As little as shows that the driver works: counts are right, figures mean nothing.
    Quick,
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server: a program that knows `app-server --workspace DIR [--listen ws://127.0.0.1:0]` and says in
    /// `DIR/.craft/bobbin.json` where it listens.
    pub server: PathBuf,
    /// This driver's own program: bare servers, and the same server with a model that streams by the clock.
    pub driver: PathBuf,
    /// How much.
    pub extent: Extent,
    /// One scenario instead of all.
    pub only: Option<String>,
    /// Where temporary workspaces are made. Should be a disk: in memory nothing costs what it costs.
    pub scratch: PathBuf,
}

/// Returns each scenario's name and what it measures.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|scenario| (scenario.name, scenario.about))
}

/// Runs the scenarios, calling `progress` with the name of each before it starts.
///
/// # Errors
/// No scenario has that name, a program could not be started, or something that was counted did not come.
pub async fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> anyhow::Result<Report> {
    let wanted = |name: &str| plan.only.as_deref().is_none_or(|only| only == name);
    if !names().any(|(name, _)| wanted(name)) {
        let known: Vec<&str> = names().map(|(name, _)| name).collect();
        bail!(
            "there is no scenario {}; there are {}",
            plan.only.as_deref().unwrap_or_default(),
            known.join(", ")
        );
    }
    let mut rows = Vec::new();
    for scenario in ALL.iter().filter(|scenario| wanted(scenario.name)) {
        progress(scenario.name);
        let taken = (scenario.run)(plan)
            .await
            .with_context(|| format!("scenario {}", scenario.name))?;
        rows.extend(taken);
    }
    Ok(Report {
        quick: plan.extent == Extent::Quick,
        rows,
    })
}

impl Plan {
    /// Returns the first counts, or the others when only the driver is tried.
    pub(crate) fn counts<'a>(&self, full: &'a [usize], quick: &'a [usize]) -> &'a [usize] {
        match self.extent {
            Extent::Full => full,
            Extent::Quick => quick,
        }
    }

    /// Returns the first count, or the second when only the driver is tried.
    pub(crate) fn count(&self, full: usize, quick: usize) -> usize {
        match self.extent {
            Extent::Full => full,
            Extent::Quick => quick,
        }
    }

    /// Makes a workspace that is gone when dropped.
    pub(crate) fn workspace(&self) -> anyhow::Result<TempDir> {
        std::fs::create_dir_all(&self.scratch)?;
        let made = tempfile::Builder::new()
            .prefix("bobbin-bench-")
            .tempdir_in(&self.scratch);
        made.with_context(|| format!("no workspace can be made in {}", self.scratch.display()))
    }

    /// Starts the server in a workspace; it listens on a free port.
    pub(crate) async fn serve(&self, workspace: &Path) -> anyhow::Result<(Process, String)> {
        self.listening(&self.server, workspace).await
    }

    /// Starts the server whose model streams by the clock.
    pub(crate) async fn serve_scripted(&self, workspace: &Path) -> anyhow::Result<(Process, String)> {
        self.listening(&self.driver, workspace).await
    }

    async fn listening(&self, program: &Path, workspace: &Path) -> anyhow::Result<(Process, String)> {
        let mut command = command(program, workspace);
        command
            .args(["app-server", "--listen", "ws://127.0.0.1:0", "--workspace"])
            .arg(workspace);
        let mut process = Process::start(command, state_file(workspace))?;
        let address = process.address().await?;
        Ok((process, address))
    }

    /// Starts the server on its stdio.
    pub(crate) fn stdio(&self, workspace: &Path) -> anyhow::Result<(Process, Link)> {
        let mut command = command(&self.server, workspace);
        command.args(["app-server", "--workspace"]).arg(workspace);
        Link::lines(command, state_file(workspace))
    }

    /// Starts the bare server that listens.
    pub(crate) async fn bare(&self, home: &Path) -> anyhow::Result<(Process, String)> {
        let state = home.join("bare.json");
        let mut command = command(&self.driver, home);
        command.args(["bare", "web-socket", "--state"]).arg(&state);
        let mut process = Process::start(command, state)?;
        let address = process.address().await?;
        Ok((process, address))
    }

    /// Starts the bare echo on its stdio.
    pub(crate) fn bare_stdio(&self, home: &Path) -> anyhow::Result<(Process, Link)> {
        let mut command = command(&self.driver, home);
        command.args(["bare", "lines"]);
        Link::lines(command, home.join("bare.json"))
    }
}

fn state_file(workspace: &Path) -> PathBuf {
    workspace.join(".craft/bobbin.json")
}
