//! The workspace on disk: `.craft`, the lock that one process holds, and the file that says who.
//!
//! The lock is an operating system lock and dies with the process; the state file beside it is for people
//! and for clients that want to join, and is believed only while the lock is held.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::exit::{self, Failure};

/// How long to wait for a lock whose holder is gone (a guess; a child's start takes milliseconds).
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// Most of the state file that is read.
const MAX_STATE_BYTES: u64 = 64 << 10;

/// First argument of the hidden mode that ends our children's groups when we are killed.
pub(crate) const GUARD_ARGUMENT: &str = "__child-guard";

/// A directory that is served.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// Absolute, symbolic links resolved.
    pub(crate) root: PathBuf,
}

/// What the process that serves a workspace says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) pid: u32,
    pub(crate) started_at: String,
    /// Where it listens, for those it lets in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// Whether it takes further editors through [`SOCKET`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) takes_editors: bool,
}

/// Name of the socket in `.craft` through which an editor's process takes further editors.
pub(crate) const SOCKET: &str = "bobbin.eca.sock";

/// The workspace, held. Given back when dropped.
pub(crate) struct Held {
    workspace: Workspace,
    _lock: File,
}

impl Workspace {
    /// Finds the workspace.
    ///
    /// # Errors
    /// There is no such directory.
    pub(crate) fn find(path: Option<&Path>) -> anyhow::Result<Self> {
        let path = path.unwrap_or_else(|| Path::new("."));
        let root = path
            .canonicalize()
            .with_context(|| format!("the workspace {} cannot be opened", path.display()))?;
        if !root.is_dir() {
            bail!("the workspace {} is not a directory", root.display());
        }
        Ok(Self { root })
    }

    pub(crate) fn craft(&self) -> PathBuf {
        self.root.join(".craft")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.craft().join("bobbin.db")
    }

    /// Directory for temporary files of commands; ours alone while the workspace is held.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.craft().join("bobbin.tmp")
    }

    /// Returns what in `.craft` no command has a use for: conversations, who serves here and with which token, the ways in,
    /// what terminals of all Threads have said.
    pub(crate) fn private(&self) -> Vec<PathBuf> {
        let names = ["bobbin.db", "bobbin.db-wal", "bobbin.db-shm", SOCKET, "terminals"];
        let mut all: Vec<PathBuf> = names.iter().map(|name| self.craft().join(name)).collect();
        all.extend([self.state_file(), self.lock_file()]);
        all
    }

    fn state_file(&self) -> PathBuf {
        self.craft().join("bobbin.json")
    }

    fn lock_file(&self) -> PathBuf {
        self.craft().join("bobbin.lock")
    }

    /// Holds the workspace for this process, creating `.craft` when it is missing.
    ///
    /// # Errors
    /// Another process holds it ([`Failure`] with [`exit::BUSY`]), or it cannot be written.
    pub(crate) async fn hold(&self) -> anyhow::Result<Held> {
        let craft = self.craft();
        std::fs::create_dir_all(&craft).with_context(|| format!("{} cannot be created", craft.display()))?;
        let ignore = craft.join(".gitignore");
        if !ignore.exists() {
            // What is in here is one machine's business; the configuration may be shared.
            std::fs::write(&ignore, "bobbin.*\n")
                .with_context(|| format!("{} cannot be written", ignore.display()))?;
        }
        let path = self.lock_file();
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("{} cannot be opened", path.display()))?;
        let deadline = Instant::now() + LEFT_BEHIND;
        loop {
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Held {
                        workspace: self.clone(),
                        _lock: lock,
                    });
                }
                Err(TryLockError::WouldBlock) if self.is_left_behind() && Instant::now() < deadline => {
                    sleep(Duration::from_millis(5)).await;
                }
                Err(TryLockError::WouldBlock) => return Err(self.busy().into()),
                Err(TryLockError::Error(error)) => bail!("{} cannot be locked: {error}", path.display()),
            }
        }
    }

    /// Whether no process says that it holds the workspace: the one that did is gone, killed or in peace. The lock may stay
    /// a moment longer: a child that it was just starting has it until the child's program runs. Or another one is just
    /// starting, and will say so in a moment.
    fn is_left_behind(&self) -> bool {
        self.state()
            .is_none_or(|state| !Path::new("/proc").join(state.pid.to_string()).exists())
    }

    /// Returns who serves the workspace now, if somebody does.
    pub(crate) fn holder(&self) -> Option<State> {
        let lock = bobbin_files::open_regular(&self.lock_file()).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => self.state(),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    fn state(&self) -> Option<State> {
        serde_json::from_str(&bobbin_files::read_text(&self.state_file(), MAX_STATE_BYTES).ok()?).ok()
    }

    pub(crate) fn busy(&self) -> Failure {
        let who = match self.state() {
            Some(State {
                pid,
                address: Some(address),
                ..
            }) => {
                format!("process {pid} at {address}; connect there or stop it")
            }
            Some(State { pid, .. }) => {
                format!("process {pid}, which speaks on its stdio only; stop it first")
            }
            None => "another process that is just starting; try again".to_owned(),
        };
        let message = format!("the workspace {} is served by {who}", self.root.display());
        Failure {
            code: exit::BUSY,
            message,
        }
    }
}

impl Held {
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Says who serves the workspace, and where.
    ///
    /// # Errors
    /// The state file cannot be written.
    pub(crate) fn announce(&self, address: Option<String>) -> anyhow::Result<()> {
        self.say(address, false)
    }

    /// Says who serves the workspace, and that further editors are taken through [`SOCKET`].
    ///
    /// # Errors
    /// As [`Held::announce`].
    pub(crate) fn announce_to_editors(&self) -> anyhow::Result<()> {
        self.say(None, true)
    }

    fn say(&self, address: Option<String>, takes_editors: bool) -> anyhow::Result<()> {
        let started_at = jiff::Timestamp::now().to_string();
        let state = State {
            pid: std::process::id(),
            started_at,
            address,
            takes_editors,
        };
        let path = self.workspace.state_file();
        let next = path.with_extension("json.new");
        // Renamed into place: a reader sees the old one or the new one.
        std::fs::write(&next, serde_json::to_vec_pretty(&state)?)
            .and_then(|()| std::fs::rename(&next, &path))
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Only tidiness: without the lock nobody believes it.
        drop(std::fs::remove_file(self.workspace.state_file()));
    }
}
