//! A run: which scenarios, how long, against what.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::link::Link;
use crate::process::{Process, command};
use crate::provider::Provider;
use crate::report::{Failure, Report, Row};
use crate::scenario::ALL;

/// How long one scenario may take: several times what the longest takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(8);

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// As much as a figure needs.
    Full,
    /// As little as shows that the driver works: counts are right, figures mean nothing.
    Quick,
}

/// A temporary workspace.
pub(crate) struct Workspace {
    path: PathBuf,
    _top: TempDir,
}

impl Workspace {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server: a program that knows `app-server --workspace DIR [--listen ws://127.0.0.1:0]` and says in
    /// `DIR/.craft/appserver.lock` where it listens.
    pub server: PathBuf,
    /// This driver's own program: bare servers, runners and extensions.
    pub driver: PathBuf,
    /// How much.
    pub extent: Extent,
    /// One scenario instead of all.
    pub only: Option<String>,
    /// Where temporary workspaces are made. Should be a disk: in memory nothing costs what it costs.
    pub scratch: PathBuf,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A scenario begins.
    Begins(&'static str),
    /// It took so long and has these figures.
    Done(Duration, &'a [Row]),
    /// It has none, for this reason.
    Failed(&'a str),
}

/// Returns each scenario's name and what it measures.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|scenario| (scenario.name, scenario.about))
}

/// Runs the scenarios, calling `progress` before and after each.
///
/// A scenario that fails, as when a program cannot be started or something that was counted does not come, is in the
/// report with its reason, and the others are run all the same. None takes more than eight minutes.
///
/// # Errors
/// No scenario has that name.
pub async fn run(plan: &Plan, mut progress: impl FnMut(Progress<'_>)) -> anyhow::Result<Report> {
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
    let mut failed = Vec::new();
    for scenario in ALL.iter().filter(|scenario| wanted(scenario.name)) {
        progress(Progress::Begins(scenario.name));
        let begun = Instant::now();
        // What it started is killed when it is dropped.
        let outcome = tokio::time::timeout(PATIENCE, (scenario.run)(plan))
            .await
            .unwrap_or_else(|_| {
                Err(anyhow!(
                    "not done after {} minutes; try it alone, on a quiet machine, with --scenario {}",
                    PATIENCE.as_secs() / 60,
                    scenario.name
                ))
            });
        match outcome {
            Ok(taken) => {
                progress(Progress::Done(begun.elapsed(), &taken));
                rows.extend(taken);
            }
            Err(error) => {
                let reason = format!("{error:#}");
                progress(Progress::Failed(&reason));
                failed.push(Failure {
                    scenario: scenario.name,
                    reason,
                });
            }
        }
    }
    Ok(Report {
        quick: plan.extent == Extent::Quick,
        rows,
        failed,
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

    /// Makes a workspace that is gone when dropped, with a place beside it for the server's state.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        std::fs::create_dir_all(&self.scratch)?;
        let made = tempfile::Builder::new()
            .prefix("bobbin-bench-")
            .tempdir_in(&self.scratch);
        let top = made.with_context(|| format!("no workspace can be made in {}", self.scratch.display()))?;
        let path = top.path().join("work");
        std::fs::create_dir(&path)?;
        Ok(Workspace { path, _top: top })
    }

    /// Starts the server in a workspace; it listens on a free port.
    pub(crate) async fn serve(&self, workspace: &Path) -> anyhow::Result<(Process, String)> {
        self.listening(&self.server, workspace, workspace).await
    }

    /// Starts the server in a workspace that is not its user's home: what is hidden in that is not in the workspace.
    pub(crate) async fn serve_beside(
        &self,
        home: &Path,
        workspace: &Path,
    ) -> anyhow::Result<(Process, String)> {
        self.listening(&self.server, home, workspace).await
    }

    /// Starts the server in a workspace that has no configuration yet, with a provider that streams by the clock.
    pub(crate) async fn serve_clocked(
        &self,
        workspace: &Path,
    ) -> anyhow::Result<(Process, String, Provider)> {
        let provider = Provider::start().await?;
        provider.configure(workspace)?;
        let (process, address) = self.serve(workspace).await?;
        Ok((process, address, provider))
    }

    async fn listening(
        &self,
        program: &Path,
        home: &Path,
        workspace: &Path,
    ) -> anyhow::Result<(Process, String)> {
        let mut command = command(program, home);
        command
            .args(["app-server", "--listen", "ws://127.0.0.1:0", "--workspace"])
            .arg(workspace);
        let mut process = Process::start(command, state_file(workspace))?;
        let address = process.address().await?;
        Ok((process, address))
    }

    /// Starts the bridge on its stdio, which starts the workspace's server if there is none; see [`Self::stop`].
    pub(crate) fn stdio(&self, workspace: &Path) -> anyhow::Result<(Process, Link)> {
        let mut command = command(&self.server, workspace);
        command.args(["app-server", "--workspace"]).arg(workspace);
        Link::lines(command, state_file(workspace))
    }

    /// Ends the server that a bridge has started.
    pub(crate) async fn stop(&self, workspace: &Path) -> anyhow::Result<()> {
        let mut stop = command(&self.server, workspace);
        stop.args(["stop", "--workspace"]).arg(workspace);
        let ended = stop.status().await?;
        ensure!(ended.success(), "the server did not stop: {ended}");
        Ok(())
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
    workspace.join(".craft/appserver.lock")
}
