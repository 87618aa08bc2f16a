//! How exec gets into the workspace: through its server, or alone.
//!
//! A run with settings of its own has the workspace alone; every other run waits for its end.

use std::time::Duration;

use bobbin_local::Joined;
use bobbin_serve::console;
use bobbin_serve::exit::{self, Failure, is_busy};
use bobbin_workspace::{LockedWorkspace, State, Workspace};

/// Time between two looks whether the other `exec` has ended.
const POLL: Duration = Duration::from_millis(100);
/// How often a process that takes the workspace between two looks is waited for; each time takes up to a second.
const MAX_STARTS: usize = 10;

/// A way in.
pub(super) enum Entry {
    /// The server.
    Server(Joined),
    /// The workspace, to be opened by this process.
    Locked(LockedWorkspace),
}

/// Waits as long as another `exec` has the workspace alone.
///
/// # Errors
/// It is one that has started this process.
pub(super) async fn wait_for_another(workspace: &Workspace) -> anyhow::Result<()> {
    let mut waits_for = None;
    while let Some(State {
        one_prompt: true,
        pid,
        ..
    }) = workspace.holder()
    {
        if is_ancestor(pid) {
            return Err(workspace.busy().into());
        }
        if waits_for.replace(pid) != Some(pid) {
            console::note(&format!(
                "waiting for process {pid}, another exec in this folder with --allow or --sandbox"
            ));
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Takes the workspace for this process alone.
///
/// # Errors
/// A server has it, or its state cannot be written.
pub(super) async fn alone(workspace: &Workspace) -> anyhow::Result<LockedWorkspace> {
    for _ in 0..MAX_STARTS {
        wait_for_another(workspace).await?;
        if let Some(server) = workspace.holder() {
            return Err(has_its_own_settings(&server).into());
        }
        match workspace.hold().await.map_err(anyhow::Error::from) {
            // Another process was faster. It says in a moment who it is.
            Err(error) if is_busy(&error) => {}
            held => return held,
        }
    }
    Err(workspace.busy().into())
}

/// Returns the refusal of settings for this run, where a server has settings for all.
fn has_its_own_settings(server: &State) -> Failure {
    let pid = server.pid;
    Failure {
        code: exit::BUSY,
        message: format!(
            "--sandbox and --allow need the folder for this run alone, and process {pid} serves it: end that with \
             `bobbin stop`, or leave them out"
        ),
    }
}

/// Whether a process is one that started this one: waiting for that would never end.
fn is_ancestor(pid: u32) -> bool {
    let mut current = std::process::id();
    // Process ids are finite; a table that changes meanwhile is no reason to turn in circles.
    for _ in 0..64 {
        if current == pid {
            return true;
        }
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{current}/stat")) else {
            return false;
        };
        // The name, in parentheses, can have anything in it.
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        match parent {
            Some(parent) if parent > 1 => current = parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_started_this_one_is_its_ancestor() {
        assert!(is_ancestor(std::process::id()));
        assert!(is_ancestor(std::os::unix::process::parent_id()));
        assert!(!is_ancestor(u32::MAX));
    }
}
