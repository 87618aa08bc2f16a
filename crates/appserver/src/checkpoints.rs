//! Where what files were before Turns changed them is kept: `bobbin/checkpoints` in the user's state directory, a
//! directory for each workspace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_children::{Children, Environment};
use bobbin_engine::Checkpoints;

use crate::cli;
use crate::workspace::Workspace;

/// Returns the directory of all workspaces' checkpoints.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub(crate) fn place() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let state = given.or_else(|| Some(cli::home()?.join(".local/state")))?;
    Some(state.join("bobbin/checkpoints"))
}

/// Returns what commands in a workspace are not to read: copies of files, other workspaces' among them. Not where it lies
/// in the workspace itself, which is then somebody's home: without bubblewrap no command could be held there.
pub(crate) fn to_hide(workspace: &Workspace) -> Option<PathBuf> {
    place().filter(|place| !place.starts_with(&workspace.root))
}

/// Returns the same where it lies in the workspace.
pub(crate) fn to_blank(workspace: &Workspace) -> Option<PathBuf> {
    place().filter(|place| place.starts_with(&workspace.root))
}

/// Returns a workspace's directory in there: its name for people, and a short sum of its path.
fn of(place: &Path, root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or(OsStr::new("root")).to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' })
        .take(40)
        .collect();
    place.join(format!("{name}-{}", Checkpoints::sum(root)))
}

/// Opens a workspace's checkpoints. Without them a server does everything but undo Turns, and says so.
pub(crate) async fn open(
    workspace: &Workspace,
    children: &Children,
    environment: &Environment,
) -> (Option<Arc<Checkpoints>>, Option<String>) {
    let Some(place) = place() else {
        let complaint = "turns cannot be undone: there is no HOME to keep earlier contents of files in";
        return (None, Some(complaint.to_owned()));
    };
    let directory = of(&place, &workspace.root);
    match Checkpoints::open(&directory, &workspace.root, children.clone(), environment).await {
        Ok(checkpoints) => (Some(checkpoints), None),
        Err(error) => {
            let error = anyhow::Error::from(error);
            (None, Some(format!("turns cannot be undone: {error:#}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_a_place_of_its_own_that_says_whose_it_is() {
        let place = Path::new("/state");
        let one = of(place, Path::new("/srv/tea pots"));
        assert_eq!(one, Path::new("/state/tea-pots-3662b9a35ca6999e"));
        assert_ne!(one, of(place, Path::new("/home/tea pots")));
    }
}
