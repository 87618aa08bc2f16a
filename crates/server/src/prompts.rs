//! Finds the commands and skills of a workspace and its user, with facts about the machine for them.

use std::path::Path;
use std::sync::Arc;

use bobbin_children::Environment;
use bobbin_prompts::{Machine, Prompts};

use crate::trust::TrustFile;
use bobbin_workspace::{StateDirectory, Workspace};

/// Returns the prompts of a workspace. Texts of a folder count while its user trusts it by `state`. `environment` is
/// that of its commands.
pub(crate) fn of(
    workspace: &Workspace,
    home: Option<&Path>,
    environment: &Environment,
    state: StateDirectory,
) -> Arc<Prompts> {
    let (mut path, mut names) = (Vec::new(), Vec::new());
    for (name, value) in environment.iter() {
        if name == "PATH" {
            path = std::env::split_paths(value).collect();
        }
        names.extend(name.to_str().filter(|_| !value.is_empty()).map(ToOwned::to_owned));
    }
    let machine = Machine {
        path,
        variables: names.into_iter().collect(),
    };
    let worktrees = workspace.worktrees();
    let workspace = &workspace.root;
    // Texts in the home are the user's own.
    let own = home.map(Path::to_owned);
    let prompts = Prompts::new(workspace.to_owned(), home.map(Path::to_owned), machine);
    let served = TrustFile::of(&state, workspace);
    let is_trusted = move |folder: &Path| {
        // A worktree has files of the served folder's repository, like another branch in the folder itself.
        let is_worktree = folder.starts_with(&worktrees) && folder != worktrees;
        let folder = if is_worktree { served.root() } else { folder };
        own.as_deref() == Some(folder)
            || if folder == served.root() {
                served.read().trusted
            } else {
                TrustFile::of(&state, folder).read().trusted
            }
    };
    Arc::new(prompts.trusted_while(Box::new(is_trusted)))
}
