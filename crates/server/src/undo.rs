//! Snapshots of files for undoing Turns, in `undo` of the workspace's folder in the state directory.

use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::undo::Undo;
use bobbin_children::{Children, Environment};
use bobbin_tools::ToolSet;
use bobbin_undo::FileUndo;
use bobbin_workspace::Workspace;

/// Name of the snapshots' directory.
pub const FOLDER: &str = "undo";

/// Opens the snapshots of a workspace. On a failure, returns a warning instead; the server then cannot undo Turns.
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

/// Makes the tools record their temporary files in the undo's notes, and returns the undo.
pub fn beside(tools: &ToolSet, undo: Option<&Arc<FileUndo>>) -> Option<Arc<dyn Undo>> {
    let undo = undo?;
    tools.note_leftovers_in(&undo.notes());
    Some(undo.clone())
}
