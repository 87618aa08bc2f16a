//! How exec gets into the workspace: through the server that has it, or by having it itself.
//!
//! Two `exec` in one folder run one after the other, since the first one's server ends with its prompt. Several at once share a
//! server that was started for that.

use std::time::Duration;

use bobbin_serve::console;
use bobbin_serve::exit::{self, Failure, is_busy};
use bobbin_workspace::{LockedWorkspace, State, Workspace};

/// Time between two looks whether the other `exec` has ended.
const POLL: Duration = Duration::from_millis(100);
/// How often a process that takes the workspace between two looks is waited for; each time takes up to a second.
const MAX_STARTS: usize = 10;

/// A way in.
pub(super) enum Entry {
    /// A server, by its address.
    Server(String),
    /// The workspace, to be opened by this process.
    Locked(LockedWorkspace),
}

/// Finds the way in. Waits as long as another `exec` has the workspace.
///
/// # Errors
/// A process has the workspace that cannot be joined, or its state cannot be written.
pub(super) async fn enter(workspace: &Workspace) -> anyhow::Result<Entry> {
    let mut waits_for = None;
    let mut starts = 0;
    loop {
        match workspace.holder() {
            Some(State {
                address: Some(address),
                ..
            }) => return Ok(Entry::Server(address)),
            Some(State {
                one_prompt: true,
                pid,
                ..
            }) if !is_ancestor(pid) => {
                if waits_for.replace(pid) != Some(pid) {
                    console::note(&format!(
                        "waiting for process {pid}, another exec in this folder; with `bobbin serve` running, several run at once"
                    ));
                }
                tokio::time::sleep(POLL).await;
            }
            Some(_) => return Err(workspace.busy().into()),
            None => match workspace.hold().await.map_err(anyhow::Error::from) {
                Ok(held) => return Ok(Entry::Locked(held)),
                // Another process was faster. It says in a moment who it is.
                Err(error) if is_busy(&error) && starts < MAX_STARTS => starts += 1,
                Err(error) => return Err(error),
            },
        }
    }
}

/// Returns the refusal of settings for this run, where a server has settings for all.
pub(super) fn has_its_own_settings(address: &str) -> Failure {
    Failure {
        code: exit::BUSY,
        message: format!(
            "--sandbox and --allow count only where exec opens the workspace itself; the server at {address} has its own \
             settings: stop it, or leave them out"
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
