//! Joins the server of a workspace, and starts it where there is none.

use std::time::Duration;

use bobbin_framing::Transport;
use bobbin_transport::connect_local;
use bobbin_workspace::{State, Workspace, WorkspaceError};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::hello::{Hello, SOCKET};
use crate::launch::{Launch, LaunchError};
use crate::version;

/// How long to look for a server that is just starting or just ending: the end of one takes up to five seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two looks, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(100);
/// Pause between two looks for the end of a server: it takes a few milliseconds, and the caller has nothing else to do.
const END_PAUSE: Duration = Duration::from_millis(1);

/// A connection to the server of a workspace, after the client's first line.
pub struct Joined {
    /// The connection.
    pub transport: Transport,
    /// The report of the server, if this call has started it.
    pub started: Option<crate::Ready>,
}

/// Why a server was not joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// No server runs, and none was to be started.
    #[error("no server runs in this folder: start one with `bobbin`")]
    NoServer,
    /// A process has the workspace that cannot be joined.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The server could not be started.
    #[error(transparent)]
    Launch(LaunchError),
    /// It runs and does not answer.
    #[error("the server of this folder, process {pid}, does not answer: {detail}")]
    Unreachable {
        /// The server's process.
        pid: u32,
        /// The error.
        detail: String,
    },
}

/// Joins the server of a workspace. Without one, `launch` starts it; without `launch` that is an error.
///
/// A server that was started for its clients and is of an older version than this program is asked to end first, and goes on
/// as the new version: its Turns and questions stay.
///
/// # Errors
/// [`JoinError`].
pub async fn join(
    workspace: &Workspace,
    hello: &Hello,
    launch: Option<&Launch>,
) -> Result<Joined, JoinError> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    let mut started = None;
    loop {
        // What was seen may have changed a moment later: the lock decides.
        let failed = match workspace.holder() {
            Some(server) if launch.is_some() && is_to_be_replaced(&server) => {
                tracing::info!(pid = server.pid, "a server of an older version is asked to end");
                end(workspace, server.pid).await?;
                continue;
            }
            Some(State {
                pid, socket: true, ..
            }) => match connect(workspace, hello).await {
                Ok(transport) => return Ok(Joined { transport, started }),
                Err(error) => JoinError::Unreachable {
                    pid,
                    detail: error.to_string(),
                },
            },
            Some(State { socket: false, .. }) => workspace.busy().into(),
            None => match launch {
                None => return Err(JoinError::NoServer),
                Some(launch) => match launch.start().await {
                    Ok(ready) => {
                        started = Some(ready);
                        continue;
                    }
                    // Another process was faster. It says in a moment who it is.
                    Err(LaunchError::Busy) => workspace.busy().into(),
                    Err(error) => return Err(JoinError::Launch(error)),
                },
            },
        };
        if Instant::now() >= deadline {
            return Err(failed);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Whether this program's version takes the place of a server.
fn is_to_be_replaced(server: &State) -> bool {
    let is_older = server.version.as_deref().is_some_and(version::is_older);
    server.detached && is_older
}

/// Joins the server of a workspace, if one answers now.
///
/// # Errors
/// None does.
pub async fn connect(workspace: &Workspace, hello: &Hello) -> std::io::Result<Transport> {
    let mut transport = connect_local(&workspace.folder(), SOCKET).await?;
    hello.send(&mut transport).await?;
    Ok(transport)
}

/// Asks the process that serves a workspace to end in order, and waits until it has.
///
/// # Errors
/// It does not end within ten seconds, or may not be signalled.
pub async fn end(workspace: &Workspace, pid: u32) -> Result<(), JoinError> {
    let unreachable = |detail: String| JoinError::Unreachable { pid, detail };
    let process = i32::try_from(pid).map_err(|error| unreachable(error.to_string()))?;
    match kill(Pid::from_raw(process), Signal::SIGTERM) {
        Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
        Err(error) => return Err(unreachable(error.to_string())),
    }
    ended(workspace, pid).await
}

/// Waits until a process no longer serves a workspace.
///
/// # Errors
/// It still does after ten seconds.
pub async fn ended(workspace: &Workspace, pid: u32) -> Result<(), JoinError> {
    let deadline = Instant::now() + PATIENCE;
    while workspace.holder().is_some_and(|server| server.pid == pid) {
        if Instant::now() >= deadline {
            return Err(JoinError::Unreachable {
                pid,
                detail: "it does not end".to_owned(),
            });
        }
        sleep(END_PAUSE).await;
    }
    Ok(())
}
