//! A program under measurement: starting it, what it costs, ending it.
//!
//! Processes are this crate's own children, killed when their owner is dropped. The rest of the repository starts
//! programs through `bobbin-children`, which tends commands of Turns and would stand between us and the figures.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

/// How long a program may take to listen or to end.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often the state file is looked at while a server starts.
const LOOK: Duration = Duration::from_micros(500);

/// A running program.
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    state: PathBuf,
}

/// What the servers under measurement want from their clients.
const TOKEN: &str = "measured-by-the-bench";

/// Prepares to run a program with a home of its own; its state is beside that.
#[expect(
    clippy::disallowed_methods,
    reason = "the driver starts what it measures, and nothing else"
)]
pub(crate) fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(home)
        .env("HOME", home)
        .env("BOBBIN_STATE", home.with_file_name("state"))
        .env_remove("BOBBIN_LOG")
        .env("BOBBIN_TOKEN", TOKEN)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    command
}

impl Process {
    /// Starts a program that will say in `state` where it listens.
    pub(crate) fn start(mut command: Command, state: PathBuf) -> anyhow::Result<Self> {
        let child = command
            .spawn()
            .context("cannot start the program under measurement")?;
        let pid = child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .context("it ended at once")?;
        Ok(Self {
            child,
            pid: Pid::from_raw(pid),
            state,
        })
    }

    pub(crate) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?))
    }

    /// Returns where it listens, once it does, with the token.
    pub(crate) async fn address(&mut self) -> anyhow::Result<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A file that is not there, or not whole, is one to be looked at again.
            let text = std::fs::read_to_string(&self.state).unwrap_or_default();
            let state: Value = serde_json::from_str(&text).unwrap_or_default();
            if state["pid"].as_i64() == Some(i64::from(self.pid.as_raw()))
                && let Some(address) = state["endpoints"]["appServerWebSocket"].as_str()
            {
                return Ok(format!("{address}?token={TOKEN}"));
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status} before it listened");
            }
            if Instant::now() > deadline {
                bail!("the server does not listen");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the processor time it has taken.
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        Ok(clock_gettime(clock_getcpuclockid(self.pid)?)?.into())
    }

    /// Returns its resident memory in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<usize> {
        self.status("VmRSS:")
    }

    /// Returns the most resident memory that it had, in bytes.
    pub(crate) fn peak_memory(&self) -> anyhow::Result<usize> {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> anyhow::Result<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib: usize = line
            .and_then(|line| line.split_whitespace().next())
            .and_then(|number| number.parse().ok())
            .context("the kernel does not say how much memory it has")?;
        Ok(kib << 10)
    }

    /// Ends it as a crash would.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("it cannot be killed")
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn wait(mut self) -> anyhow::Result<()> {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(())
    }
}
