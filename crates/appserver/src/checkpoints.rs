//! The shadow repository with files as they were before Turns changed them: `checkpoints` in the workspace's folder of the state directory.

use std::sync::Arc;

use bobbin_children::{Children, Environment};
use bobbin_engine::Checkpoints;

use crate::workspace::Workspace;

/// Opens a workspace's checkpoints. Without them a server does everything but undo Turns, and says so.
pub(crate) async fn open(
    workspace: &Workspace,
    children: &Children,
    environment: &Environment,
) -> (Option<Arc<Checkpoints>>, Option<String>) {
    let directory = workspace.folder().join("checkpoints");
    match Checkpoints::open(&directory, &workspace.root, children.clone(), environment).await {
        Ok(checkpoints) => (Some(checkpoints), None),
        Err(error) => {
            let error = anyhow::Error::from(error);
            (None, Some(format!("turns cannot be undone: {error:#}")))
        }
    }
}
