//! Starts the server of a workspace again that was killed or has crashed.
//!
//! One task for each server that the node has joined. A server that ends in order answers it, and is started by the next client.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_local::{CONTROL_WAIT, Dialect, Hello, JoinError, LaunchError, join};
use bobbin_peer::{CallError, Handlers, Peer, PeerOptions};
use bobbin_server::exit::TAKEN;
use bobbin_workspace::Workspace;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use crate::node::Shared;

/// Servers that are started at once.
const STARTS: usize = 2;
/// Pause before a server is started again, at first and at most. It doubles while servers end within [`LASTING`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_mins(5);
/// Longest pause before a server is started again whose database may be back.
const LAST_PAUSE_OF_START: Duration = Duration::from_secs(5);
/// How long a server runs that has started well.
const LASTING: Duration = Duration::from_mins(1);

/// The tasks, by workspace.
pub(crate) struct Supervisors {
    known: Mutex<HashSet<PathBuf>>,
    tasks: TaskTracker,
    starts: Semaphore,
}

impl Supervisors {
    pub(crate) fn new() -> Self {
        Self {
            known: Mutex::default(),
            tasks: TaskTracker::new(),
            starts: Semaphore::new(STARTS),
        }
    }

    /// Has the server of a workspace run, and started again when it does not end in order.
    pub(crate) fn supervise(&self, shared: &Arc<Shared>, workspace: &Workspace) {
        if !self.known.lock().insert(workspace.root.clone()) {
            return;
        }
        let (shared, workspace) = (shared.clone(), workspace.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = run(&shared, &workspace) => {}
                () = shared.stop.cancelled() => {}
            }
            shared.supervisors.known.lock().remove(&workspace.root);
        });
    }

    /// Waits for the tasks, once the node stops.
    pub(crate) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Returns once the server has ended in order, cannot be started, or is not the node's any more.
async fn run(shared: &Shared, workspace: &Workspace) {
    let mut pause = FIRST_PAUSE;
    loop {
        let since = Instant::now();
        let mut longest = LAST_PAUSE;
        match one(shared, workspace).await {
            Ok(Ended::InOrder) => return,
            // Taken out of the list meanwhile.
            Ok(Ended::Lost) if workspace.name().is_none() => return,
            Ok(Ended::Lost) => {
                tracing::warn!(root = %workspace.root.display(), "a server has ended badly and is started again");
            }
            Err(error) if error.downcast_ref().is_some_and(is_elsewhere) => {
                return tracing::info!(root = %workspace.root.display(), "another machine serves a workspace");
            }
            // Its database may be back later. Without one, the next client sees the reason.
            Err(error) => {
                tracing::warn!(root = %workspace.root.display(), "a server is not started: {error:#}");
                if shared.settings.member.is_none() || workspace.name().is_none() {
                    return;
                }
                longest = LAST_PAUSE_OF_START;
            }
        }
        if since.elapsed() > LASTING {
            pause = FIRST_PAUSE;
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// Whether a server was not started because another machine serves its workspace.
pub(crate) fn is_elsewhere(error: &JoinError) -> bool {
    matches!(error, JoinError::Launch(LaunchError::Refused { code, .. }) if *code == TAKEN)
}

/// How a server ended.
enum Ended {
    InOrder,
    Lost,
}

/// Joins a server, or starts it, and waits for its end.
async fn one(shared: &Shared, workspace: &Workspace) -> anyhow::Result<Ended> {
    let hello = Hello {
        relayed: Some(shared.relayed(true)),
        ..Hello::new(Dialect::Control, &workspace.root)
    };
    let launch = (shared.settings.launch)(workspace)?;
    let joined = {
        let _one = shared.supervisors.starts.acquire().await?;
        join(workspace, &hello, Some(&launch)).await?
    };
    let peer = Peer::start(joined.transport, PeerOptions::default(), |_| Handlers::new())?;
    let answer: Result<(), CallError> = peer.call(CONTROL_WAIT, serde_json::json!({})).await;
    match answer {
        Ok(()) => Ok(Ended::InOrder),
        Err(CallError::Remote(error)) => anyhow::bail!("its server does not answer: {}", error.message),
        Err(_) => Ok(Ended::Lost),
    }
}
