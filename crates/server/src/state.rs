//! The state directory of this process, and the workspaces with it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;
use bobbin_workspace::{StateDirectory, Workspace};

/// The path from `--state` or `BOBBIN_STATE`. A process has one state directory for all its parts.
static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Makes `directory` the state directory of this process. Only the first call counts.
pub fn choose(directory: PathBuf) {
    drop(CHOSEN.set(directory));
}

/// Returns the directory that the command line names (`--state`), else `$XDG_STATE_HOME/bobbin` or
/// `~/.local/state/bobbin`. Creates nothing.
///
/// # Errors
/// No directory was named, and there is no home directory for one.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn directory() -> anyhow::Result<StateDirectory> {
    if let Some(given) = CHOSEN.get() {
        let absolute = std::path::absolute(given)
            .with_context(|| format!("the state directory {} cannot be found", given.display()))?;
        return Ok(StateDirectory::at(&absolute));
    }
    let base = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(home()?.join(".local/state")));
    let base = base.context("there is no HOME to keep conversations in; name a directory with --state")?;
    Ok(StateDirectory::at(&base.join("bobbin")))
}

/// Returns the workspace at the path that a user or a client names, else the one around the current directory.
/// Creates nothing.
///
/// # Errors
/// The directory does not exist, or there is none for its state.
pub fn workspace(path: Option<&Path>) -> anyhow::Result<Workspace> {
    let state = directory()?;
    Ok(match path {
        Some(path) => Workspace::find(Some(path), state)?,
        None => Workspace::around(home().as_deref(), state)?,
    })
}

/// Returns the folders whose links other authors may have made: the current directory and the workspace. Leaves out
/// the user's home and its parents.
pub fn others_folders(workspace: Option<&Path>) -> Vec<PathBuf> {
    let home = home();
    let resolved = |path: PathBuf| path.canonicalize().ok();
    let folders = std::env::current_dir()
        .into_iter()
        .chain(workspace.map(Path::to_owned));
    folders
        .filter_map(resolved)
        .filter(|folder| home.as_ref().is_none_or(|home| !home.starts_with(folder)))
        .collect()
}

/// Returns the user's home, which has the configuration for all workspaces. A relative path counts as none, since a
/// folder could be at it.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        // Resolved like the paths of workspaces, so that one directory has one name.
        .map(|home| home.canonicalize().unwrap_or(home))
}
