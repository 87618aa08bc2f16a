//! Where snapshots of files are stored, so that Turns can be undone: `undo` in the workspace's folder of the state directory.

use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::undo::Undo;
use bobbin_children::{Children, Environment};
use bobbin_tools::ToolSet;
use bobbin_undo::FileUndo;
use bobbin_workspace::Workspace;

/// Name of their directory.
pub const FOLDER: &str = "undo";

/// Opens the snapshots of a workspace. Without them a server does everything but undo Turns, and says so.
pub async fn open(
    workspace: &Workspace,
    children: &Children,
    environment: &Environment,
) -> (Option<Arc<FileUndo>>, Option<String>) {
    let directory = workspace.folder().join(FOLDER);
    let clock = Arc::new(SystemClock);
    match FileUndo::open(&directory, &workspace.root, children.clone(), environment, clock).await {
        Ok(undo) => (Some(undo), None),
        Err(error) => {
            let error = anyhow::Error::from(error);
            (None, Some(format!("turns cannot be undone: {error:#}")))
        }
    }
}

/// Has the tools note their temporary files where an undo notes its own, and returns what undoes Turns.
pub fn beside(tools: &ToolSet, undo: Option<&Arc<FileUndo>>) -> Option<Arc<dyn Undo>> {
    let undo = undo?;
    tools.note_leftovers_in(&undo.notes());
    Some(undo.clone())
}
