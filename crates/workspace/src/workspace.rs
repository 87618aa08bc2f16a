//! A workspace: the folder that is served, and its state, which lies elsewhere.
//!
//! One process locks a workspace with an operating system lock that ends with the process. The file beside the lock names
//! that process, and counts only while the lock is taken. Both are in the state directory, so only their user can touch them.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::WorkspaceError;
use crate::appserver_lock::{self, AppserverLock};
use crate::error::Context as _;
use crate::nearest::nearest;
use crate::state::{self, StateDirectory};
use crate::temporary;

/// How long to wait for a lock whose holder is gone (a guess; a child's start takes milliseconds).
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// Most of the state file that is read.
const MAX_STATE_BYTES: u64 = 64 << 10;

/// A directory that is served, and where its state is.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Absolute, symbolic links resolved.
    pub root: PathBuf,
    state: StateDirectory,
}

/// The record of the process that serves a workspace, which that process writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Its process.
    pub pid: u32,
    /// When it started.
    pub started_at: String,
    /// The address for clients, if it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The version of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it answers at the socket in the workspace's state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub socket: bool,
    /// Whether it was started for its clients, and ends when nothing uses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
}

/// The workspace, locked by this process. Dropping it unlocks the workspace.
pub struct LockedWorkspace {
    workspace: Workspace,
    _lock: File,
    /// The file for clients in the folder, once it is announced.
    announced: Mutex<Option<AppserverLock>>,
}

impl State {
    /// Returns what this process says of itself, listening nowhere.
    pub fn of_this_process() -> Self {
        Self {
            pid: std::process::id(),
            started_at: jiff::Timestamp::now().to_string(),
            address: None,
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            socket: false,
            detached: false,
        }
    }

    /// Whether a program of its user can have it listen.
    pub fn can_listen(&self) -> bool {
        self.socket && self.address.is_none()
    }
}

impl Workspace {
    /// Finds the workspace. Creates nothing.
    ///
    /// # Errors
    /// There is no such directory, or none for its state.
    pub fn find(path: Option<&Path>, state: StateDirectory) -> Result<Self, WorkspaceError> {
        let path = path.unwrap_or_else(|| Path::new("."));
        let root = path
            .canonicalize()
            .context(|| format!("the workspace {} cannot be opened", path.display()))?;
        if !root.is_dir() {
            let text = format!("the workspace {} is not a directory", root.display());
            return Err(WorkspaceError::Refused(text));
        }
        Ok(Self { root, state })
    }

    /// Finds the workspace around the current directory: the nearest folder with a `.craft` up to the repository's root, else
    /// that root, else the directory itself. `home` and its parents are never found. Creates nothing.
    ///
    /// # Errors
    /// As [`Workspace::find`].
    pub fn around(home: Option<&Path>, state: StateDirectory) -> Result<Self, WorkspaceError> {
        let Self { root, state } = Self::find(None, state)?;
        let root = nearest(&root, home);
        Ok(Self { root, state })
    }

    /// Returns the workspace at a path whose folder may be gone: links are resolved as far as it is there.
    ///
    /// # Errors
    /// There is no current directory, or no directory for the state.
    pub fn at(path: &Path, state: StateDirectory) -> Result<Self, WorkspaceError> {
        let absolute = std::path::absolute(path).context(|| format!("{} cannot be found", path.display()))?;
        Ok(Self {
            root: state::real(&absolute),
            state,
        })
    }

    /// Returns the directory of the workspace for files of ours.
    pub fn craft(&self) -> PathBuf {
        self.root.join(".craft")
    }

    /// Returns the state directory of the user.
    pub fn state_directory(&self) -> &StateDirectory {
        &self.state
    }

    /// Returns the folder of the state directory that belongs to this workspace.
    pub fn folder(&self) -> PathBuf {
        self.state.of_workspace(&self.root)
    }

    /// Makes the folder of the state directory that belongs to this workspace, and returns it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make_folder(&self) -> Result<PathBuf, WorkspaceError> {
        self.state.make_folder(&self.root)?;
        Ok(self.folder())
    }

    /// Returns the id of the workspace in a database that has several, and gives it a random one the first time. The state
    /// directory has it, and not the folder: that may have been brought along with the id of another.
    ///
    /// # Errors
    /// The state cannot be read or written.
    pub fn id(&self) -> Result<String, WorkspaceError> {
        state::random_id(&self.id_file())
    }

    /// Gives the workspace the id of one that another machine has served, so that it continues those conversations.
    ///
    /// # Errors
    /// It has another id already, another folder of this machine has that id, `id` is none, or the state cannot be written.
    pub fn join(&self, id: &str) -> Result<(), WorkspaceError> {
        let refused = |text: String| Err(WorkspaceError::Refused(text));
        let Ok(id) = Uuid::parse_str(id) else {
            return refused(format!(
                "{id} is no id of a workspace; `bobbin workspace list` prints them"
            ));
        };
        let id = id.to_string();
        for (root, folder) in self.state.workspaces()? {
            match state::id_in(&folder) {
                Some(other) if root == self.root && other != id => {
                    return refused(format!(
                        "{} has the id {other} already; a folder cannot have the conversations of two workspaces",
                        root.display()
                    ));
                }
                Some(other) if root != self.root && other == id => {
                    return refused(format!("{} has that id on this machine", root.display()));
                }
                Some(_) | None => {}
            }
        }
        self.make_folder()?;
        state::write_small(&self.id_file(), id.as_bytes())
    }

    /// Whether it has an id: then its conversations are in a database that has several workspaces.
    pub fn has_id(&self) -> bool {
        self.id_file().exists()
    }

    fn id_file(&self) -> PathBuf {
        self.folder().join(state::ID)
    }

    /// Returns the database.
    pub fn database(&self) -> PathBuf {
        self.folder().join("bobbin.db")
    }

    /// Directory for temporary files of commands; ours alone while this process has the lock.
    pub fn temporary(&self) -> PathBuf {
        temporary::of_folder(&self.folder())
    }

    /// Returns where the output of commands is written, which the agent's reading tools may read.
    pub fn outputs(&self) -> PathBuf {
        self.folder().join("terminals")
    }

    /// Returns where the worktrees of Threads are.
    pub fn worktrees(&self) -> PathBuf {
        self.folder().join("worktrees")
    }

    /// Returns the conversations that an earlier version left in the folder, or that the folder brought along: no command
    /// has a use for them.
    pub fn foreign_database(&self) -> PathBuf {
        self.craft().join("bobbin.db")
    }

    fn state_file(&self) -> PathBuf {
        self.folder().join("bobbin.json")
    }

    fn lock_file(&self) -> PathBuf {
        self.folder().join("bobbin.lock")
    }

    /// Locks the workspace for this process and makes its state's folder where it is missing.
    ///
    /// # Errors
    /// Another process has the lock ([`WorkspaceError::Busy`]), or its state cannot be written.
    pub async fn hold(&self) -> Result<LockedWorkspace, WorkspaceError> {
        self.state.make_folder(&self.root)?;
        let path = self.lock_file();
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let lock =
            state::open_private(&path, options).context(|| format!("{} cannot be opened", path.display()))?;
        let deadline = Instant::now() + LEFT_BEHIND;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if self.is_left_behind() && Instant::now() < deadline => {
                    sleep(Duration::from_millis(5)).await;
                }
                Err(TryLockError::WouldBlock) => return Err(self.busy()),
                Err(TryLockError::Error(error)) => {
                    return Err(error).context(|| format!("{} cannot be locked", path.display()));
                }
            }
        }
        temporary::make(&self.temporary())?;
        Ok(LockedWorkspace {
            workspace: self.clone(),
            _lock: lock,
            announced: Mutex::default(),
        })
    }

    /// Whether no process is named as the owner of the lock: the last owner has ended. The lock may stay
    /// a moment longer: a child that it was just starting has it until the child's program runs. Or another one is just
    /// starting, and will say so in a moment.
    fn is_left_behind(&self) -> bool {
        self.state()
            .is_none_or(|state| !Path::new("/proc").join(state.pid.to_string()).exists())
    }

    /// Returns the process that serves the workspace now.
    pub fn holder(&self) -> Option<State> {
        let lock = bobbin_files::open_regular(&self.lock_file()).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => self.state(),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    fn state(&self) -> Option<State> {
        serde_json::from_str(&bobbin_files::read_text(&self.state_file(), MAX_STATE_BYTES).ok()?).ok()
    }

    /// Returns the error of a workspace that another process serves.
    pub fn busy(&self) -> WorkspaceError {
        let who = match self.state() {
            Some(State {
                pid,
                address: Some(address),
                ..
            }) => {
                format!("process {pid} at {address}; connect there or stop it")
            }
            Some(State {
                pid, socket: true, ..
            }) => format!("process {pid}; `bobbin stop` ends it"),
            Some(State { pid, .. }) => format!("process {pid}, which cannot be joined; stop it first"),
            None => "another process that is just starting; try again".to_owned(),
        };
        WorkspaceError::Busy {
            root: self.root.display().to_string(),
            who,
        }
    }
}

impl LockedWorkspace {
    /// Returns the workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Says who serves the workspace, and where; said again, it replaces what was said. `hub` is the address of the Hub that has started this process.
    ///
    /// # Errors
    /// The state file cannot be written.
    pub fn announce(&self, state: &State, hub: Option<&str>) -> Result<(), WorkspaceError> {
        let text =
            serde_json::to_vec_pretty(state).context(|| "the state cannot be written as JSON".to_owned())?;
        state::write_small(&self.workspace.state_file(), &text)?;
        let State {
            address, started_at, ..
        } = state;
        let (root, address) = (&self.workspace.root, address.as_deref());
        let mut announced = self.announced.lock();
        let written = match announced.as_ref().filter(|lock| lock.is_there()) {
            Some(lock) => lock.change(root, address, hub, started_at),
            None => appserver_lock::write(root, address, hub, started_at).map(|lock| *announced = Some(lock)),
        };
        if let Err(error) = written {
            tracing::warn!(
                %error,
                "{} is not written: clients that look for it do not find this server",
                self.workspace.craft().join("appserver.lock").display()
            );
        }
        Ok(())
    }
}

impl Drop for LockedWorkspace {
    fn drop(&mut self) {
        // Only tidiness: without the lock nobody believes it. The state file comes last: a process that waits for the end of this
        // one looks for it.
        drop(self.announced.lock().take());
        drop(temporary::remove(&self.workspace.temporary()));
        drop(std::fs::remove_file(self.workspace.state_file()));
    }
}
