//! Where what files were before Turns changed them is kept: `checkpoints` in the workspace's folder of the state directory.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_children::{Children, Environment};
use bobbin_engine::Checkpoints;

use crate::state::StateDirectory;
use crate::workspace::Workspace;

/// Returns what commands in a workspace are not to read: the user's state, copies of files and other workspaces' among it.
/// Not where it lies in the workspace itself, which is then somebody's home: without bubblewrap no command could be held there.
pub(crate) fn to_hide(workspace: &Workspace) -> Option<PathBuf> {
    state().filter(|state| !state.starts_with(&workspace.root))
}

/// Returns the same where it lies in the workspace.
pub(crate) fn to_blank(workspace: &Workspace) -> Option<PathBuf> {
    state().filter(|state| state.starts_with(&workspace.root))
}

fn state() -> Option<PathBuf> {
    let state = StateDirectory::find(None).ok()?;
    Some(state.path().to_owned())
}

/// Opens a workspace's checkpoints. Without them a server does everything but undo Turns, and says so.
pub(crate) async fn open(
    workspace: &Workspace,
    children: &Children,
    environment: &Environment,
) -> (Option<Arc<Checkpoints>>, Option<String>) {
    let state = match StateDirectory::find(None) {
        Ok(state) => state,
        Err(error) => return (None, Some(format!("turns cannot be undone: {error:#}"))),
    };
    let directory = state.of_workspace(&workspace.root).join("checkpoints");
    match Checkpoints::open(&directory, &workspace.root, children.clone(), environment).await {
        Ok(checkpoints) => (Some(checkpoints), None),
        Err(error) => {
            let error = anyhow::Error::from(error);
            (None, Some(format!("turns cannot be undone: {error:#}")))
        }
    }
}
